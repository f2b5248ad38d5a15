local custom_adapter = require "koine.call.custom_adapter"
local koine = require "koine"
local raised = require("spec.support.raised").as

local EVERY_OPTION = {
  system = { { type = "text", text = "Be brief." } },
  tools = { { name = "add", description = "Adds.", parameters = { type = "object" } } },
  tool_choice = { type = "tool", name = "add" }, cache_retention = "short", metadata = { user_id = "u" },
  betas = { "a", "b" }, thinking = { enabled = true, budget_tokens = 2048 }, max_tokens = 10, stream = true,
  temperature = 0.5, top_p = 0.9, stop_sequences = { "END" },
}

-- An adapter that answers with `words`, one delta each; its record of what happened is the second result.
local function speaker(words, failure, options)
  local seen = { closed = 0, responses = 0 }
  return custom_adapter {
    name = "Speaker", options = options or { model = "speaker-1" },
    open = function(self, messages, opts)
      seen.self, seen.messages, seen.opts = self, messages, opts
      local i = 0
      return {
        next = function()
          i = i + 1
          if words[i] then return { type = "text_delta", text = words[i] } end
          return nil, failure
        end,
        response = function()
          seen.responses = seen.responses + 1
          return { content = table.concat(words), model = opts.model, stop_reason = "end_turn", provider = "speaker",
            usage = { input_tokens = 1, output_tokens = #words } }
        end,
        close = function() seen.closed = seen.closed + 1 end,
        stats = function() return { deltas = i } end,
      }
    end,
  }, seen
end

describe("an adapter that defines nothing", function()
  local bare = custom_adapter { name = "Bare" }

  it("raises a NotImplementedError naming itself and chat, also with every option", function()
    local more = { system = "s", tool_choice = "auto", betas = "one", thinking = "low" }
    for _, opts in ipairs { {}, EVERY_OPTION, more } do
      local err = raised("NotImplementedError", bare.chat, bare, "hi", opts)
      assert.are.equal("chat", err.method)
      assert.are.equal("Bare", err.adapter)
      assert.is_truthy(tostring(err):find("chat", 1, true))
      assert.is_truthy(tostring(err):find("Bare", 1, true))
    end
  end)

  it("names each other method that it lacks", function()
    for _, method in ipairs { "open", "stream", "model_name", "list_models" } do
      local err = raised("NotImplementedError", bare[method], bare, "hi")
      assert.are.equal(method, err.method)
      assert.is_truthy(tostring(err):find(method, 1, true))
    end
  end)

  it("has defaults for the rest", function()
    assert.are.equal(-1, bare:count_tokens("hi"))
    assert.are.equal("Bare", bare:provider_name())
    assert.is_nil(bare:max_context_tokens())
    assert.is_nil(bare:usage_report())
    assert.is_true(bare:authenticate())
    assert.is_true(bare:authenticated())
    assert.is_nil(bare:logout())
  end)
end)

describe("koine.custom_adapter", function()
  it("rejects definitions without a name and primitives that are none", function()
    assert.are.equal("name", raised("ArgumentError", custom_adapter, {}).field)
    assert.are.equal("open", raised("ArgumentError", custom_adapter, { name = "x", open = 1 }).field)
    raised("ArgumentError", custom_adapter, "x")
  end)

  it("checks the constructor's options", function()
    assert.are.equal("max_tokens",
      raised("ArgumentError", custom_adapter, { name = "x", options = { max_tokens = "many" } }).field)
    assert.are.equal("thinking",
      raised("ArgumentError", custom_adapter, { name = "x", options = { thinking = "extreme" } }).field)
    local err = raised("ArgumentError", custom_adapter, { name = "x", options = { colour = "red" } })
    assert.are.equal("colour", err.field)
  end)

  it("puts methods and fields of the definition in place of the defaults", function()
    local adapter = custom_adapter { name = "x", count_tokens = function() return 7 end, colour = "red" }
    assert.are.equal(7, adapter:count_tokens("hi"))
    assert.are.equal("red", adapter.colour)
  end)
end)

describe("chat of an adapter in Lua", function()
  it("reads the answer to its end, closes it and gives a real Response", function()
    local adapter, seen = speaker { "Hel", "lo" }
    local response = assert(adapter:chat "hi")
    assert.are.equal("Hello", response:text())
    assert.are.same({ { type = "text", text = "Hello" } }, response.content)
    assert.are.equal("speaker-1", response.model)
    assert.are.equal(2, response.usage.output_tokens)
    assert.are.equal(1, seen.closed)
    assert.are.equal(1, seen.responses)
    assert.are.equal(adapter, seen.self)
    assert.are.same({ { role = "user", content = "hi" } }, seen.messages)
    assert.is_false(seen.opts.stream)
  end)

  it("hands every delta to on_delta, which asks for a stream", function()
    local adapter, seen = speaker { "a", "b" }
    local got = {}
    assert(adapter:chat("hi", { stream = true, on_delta = function(delta) got[#got + 1] = delta.text end }))
    assert.are.same({ "a", "b" }, got)
    assert.is_true(seen.opts.stream)
    assert.is_nil(seen.opts.on_delta)
    assert(adapter:chat("hi", { on_delta = function() end }))
    assert.is_true(seen.opts.stream)
    assert(adapter:chat("hi", { stream = false, on_delta = function() error "not wanted" end }))
    assert.is_false(seen.opts.stream)
    assert(adapter:chat("hi", { stream = true }))
  end)

  it("passes an error of on_delta on unchanged, after closing the answer", function()
    local adapter, seen = speaker { "a", "b" }
    local mine = { "mine" }
    local ok, err = pcall(adapter.chat, adapter, "hi", { on_delta = function() error(mine) end })
    assert.is_false(ok)
    assert.is_true(rawequal(mine, err))
    assert.are.equal(1, seen.closed)
  end)

  it("returns nil and the error of an answer that fails, and closes it", function()
    local failure = { class = "ConnectionError" }
    local adapter, seen = speaker({ "a" }, failure)
    local response, err = adapter:chat "hi"
    assert.is_nil(response)
    assert.are.equal(failure, err)
    assert.are.equal(1, seen.closed)
    assert.are.equal(0, seen.responses)
  end)

  it("returns nil and the error of a primitive that cannot begin", function()
    local failure = { class = "RateLimitError" }
    local adapter = custom_adapter { name = "x", open = function() return nil, failure end }
    assert.are.same({ nil, failure }, { adapter:chat "hi" })
    assert.are.same({ nil, failure }, { adapter:open "hi" })
    local ok, err = pcall(adapter.stream, adapter, "hi")
    assert.is_false(ok)
    assert.are.equal(failure, err)
  end)

  it("takes every option and hands the checked ones on, the call's over the constructor's", function()
    local adapter, seen = speaker({}, nil, { model = "m", max_tokens = 5, thinking = "low" })
    adapter:chat("hi", EVERY_OPTION)
    for name in pairs(EVERY_OPTION) do assert.is_not_nil(seen.opts[name], name) end
    assert.are.equal(10, seen.opts.max_tokens)
    adapter:chat("hi", { betas = "one", thinking = false })
    assert.are.same({ "one" }, seen.opts.betas)
    assert.are.equal(5, seen.opts.max_tokens)
    assert.is_false(seen.opts.thinking)
    adapter:chat "hi"
    assert.are.equal("low", seen.opts.thinking)
    assert.are.equal("m", seen.opts.model)
  end)

  it("rejects bad options and bad messages before anything begins", function()
    local adapter, seen = speaker { "a" }
    assert.are.equal("max_token", raised("ArgumentError", adapter.chat, adapter, "hi", { max_token = 1 }).field)
    assert.are.equal("thinking", raised("ArgumentError", adapter.chat, adapter, "hi", { thinking = "extreme" }).field)
    assert.are.equal("messages", raised("ArgumentError", adapter.chat, adapter, 5).field)
    assert.are.equal("messages", raised("ArgumentError", adapter.chat, adapter, { role = "user", content = "x" }).field)
    local err = raised("ArgumentError", adapter.chat, adapter, { { role = "system", content = "x" } })
    assert.are.equal("messages[1].role", err.field)
    assert.is_nil(seen.messages)
  end)

  it("refuses tools and a system prompt with other keys, as a row's adapter does", function()
    local adapter, seen = speaker { "a" }
    local text, tool = { type = "text", text = "Be brief." }, EVERY_OPTION.tools[1]
    for field, opts in pairs {
      tools = { tools = { w = tool } }, ["tools[1]"] = { tools = { [2] = tool } },
      system = { system = text }, ["system[1]"] = { system = { [2] = text } },
    } do
      assert.are.equal(field, raised("ArgumentError", adapter.chat, adapter, "hi", opts).field)
    end
    assert.is_nil(seen.messages)
    for _, opts in ipairs { { tools = {}, system = {} }, { tools = {}, system = "" } } do
      assert(adapter:chat("hi", opts))
      assert.is_nil(seen.opts.tools)
      assert.is_nil(seen.opts.system)
    end
  end)

  it("reports what is wrong with a primitive's response", function()
    local adapter = custom_adapter { name = "x", open = function()
      return { next = function() end, response = function() return { content = 5 } end }
    end }
    raised("ArgumentError", adapter.chat, adapter, "hi")
  end)
end)

describe("streams of an adapter in Lua", function()
  it("are loops over the deltas that close on break", function()
    local adapter, seen = speaker { "a", "b", "c" }
    local got = {}
    for delta in adapter:stream "hi" do
      got[#got + 1] = delta.text
      if delta.text == "b" then break end
    end
    assert.are.same({ "a", "b" }, got)
    assert.are.equal(1, seen.closed)
    assert.is_true(seen.opts.stream)
  end)

  it("raise the error of an answer that fails", function()
    local failure = { class = "ConnectionError" }
    local adapter, seen = speaker({ "a" }, failure)
    local ok, err = pcall(function() for _ in adapter:stream "hi" do end end) -- luacheck: ignore 542
    assert.is_false(ok)
    assert.are.equal(failure, err)
    assert.are.equal(1, seen.closed)
  end)

  it("answer next after the end, response again and again, and stats", function()
    local adapter, seen = speaker { "a" }
    local stream <close> = assert(adapter:open "hi")
    assert.are.equal("a", stream:next().text)
    assert.is_nil(stream:next())
    assert.is_nil(stream:next())
    local response = stream:response()
    assert.is_true(rawequal(response, stream:response()))
    assert.are.equal(1, seen.responses)
    assert.are.equal(2, stream:stats().deltas)
  end)

  it("read what is left when the Response is asked for first", function()
    local adapter = speaker { "a", "b" }
    assert.are.equal("ab", assert(adapter:open "hi"):response():text())
  end)

  it("give the same error every time after a failure", function()
    local failure = { class = "ConnectionError" }
    local stream = assert(speaker({}, failure):open "hi")
    for _ = 1, 2 do
      assert.are.same({ nil, failure }, { stream:next() })
      assert.are.same({ nil, failure }, { stream:response() })
    end
  end)

  it("are cancelled by close, any number of times, and closed when dropped", function()
    local adapter, seen = speaker { "a", "b" }
    local stream = assert(adapter:open "hi")
    stream:next()
    stream:close()
    stream:close()
    assert.are.equal(1, seen.closed)
    local delta, err = stream:next()
    assert.is_nil(delta)
    assert.are.equal("CancelledError", err.class)
    assert.are.equal("cancelled", select(2, stream:response()).kind)
    assert(adapter:open "hi"):next()
    collectgarbage()
    collectgarbage()
    assert.are.equal(2, seen.closed)
  end)

  it("tell whoever reads that they were closed, whatever comes after", function()
    for _, last in ipairs { "next", "response" } do
      local gate, ended = {}, 0
      local adapter = custom_adapter { name = "Slow", options = { model = "m" }, open = function()
        local function slow(result)
          return function()
            koine.park(gate, 1)
            return result
          end
        end
        return { next = last == "next" and slow { type = "text_delta", text = "late" } or function() end,
          response = slow { content = "late", model = "m", stop_reason = "end_turn" },
          close = function() ended = ended + 1 end }
      end }
      local opened, result, err = assert(adapter:open "hi"), nil, nil
      koine.run(function()
        local reader = koine.spawn(function() result, err = opened[last](opened) end)
        koine.sleep(0)
        opened:close()
        koine.wake(gate)
        reader:wait()
      end)
      assert.is_nil(result)
      assert.are.equal("CancelledError", err.class)
      assert.are.equal(err, select(2, opened:next()))
      assert.are.equal(err, select(2, opened:response()))
      assert.are.equal(1, ended)
    end
  end)

  it("are closed with the task that opened them", function()
    local adapter, seen = speaker { "a", "b" }
    local over = koine.fallback { adapter }
    for _, one in ipairs { adapter, over } do
      seen.closed = 0
      local opened
      koine.run(function()
        local task = koine.spawn(function()
          opened = assert(one:open "hi")
          assert(opened:next())
          koine.sleep(60)
        end)
        koine.sleep(0)
        assert.are.equal(0, seen.closed)
        assert.is_true(task:cancel())
        assert.are.equal(1, seen.closed)
      end)
      local _, err = opened:next()
      assert.are.equal("CancelledError", err.class)
      opened:close()
      assert.are.equal(1, seen.closed)
    end
  end)

  it("keep their Response when closed after the end", function()
    local stream = assert(speaker { "a" }:open "hi")
    assert(stream:response())
    stream:close()
    assert.are.equal("a", stream:response():text())
  end)

  it("do not get in each other's way", function()
    local adapter = speaker { "a", "b" }
    local one, two = assert(adapter:open "1"), assert(adapter:open "2")
    assert.are.equal("a", one:next().text)
    assert.are.equal("a", two:next().text)
    assert.are.equal("b", one:next().text)
    one:close()
    assert.are.equal("b", two:next().text)
    assert.are.equal("ab", two:response():text())
  end)
end)

describe("every kind of adapter has", function()
  local INTERNAL = { begin = true, render = true, start = true }

  it("the methods of a plain one", function()
    local plain = koine.anthropic { model = "claude-sonnet-4-5", key = "k" }
    local methods = getmetatable(plain).__index
    assert.are.equal("function", type(methods.pull))
    local others = { custom = custom_adapter { name = "Bare" }, fallback = koine.fallback { plain },
      playbook = koine.testing.playbook {} }
    for kind, adapter in pairs(others) do
      for name in pairs(methods) do
        if not INTERNAL[name] then assert.are.equal("function", type(adapter[name]), kind .. ":" .. name) end
      end
      assert.is_false(adapter:closed())
      do local closing <close> = adapter end -- luacheck: ignore
      assert.is_true(adapter:closed())
    end
  end)

  it("a NotImplementedError for what it cannot do", function()
    for _, adapter in ipairs { custom_adapter { name = "Bare" }, koine.testing.playbook {},
      koine.fallback { koine.testing.playbook {} } } do
      for _, method in ipairs { "model_info", "pull" } do
        assert.are.equal(method, raised("NotImplementedError", adapter[method], adapter, "m").method)
      end
    end
  end)
end)
