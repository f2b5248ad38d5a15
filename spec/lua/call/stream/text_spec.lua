-- adapter:text: the text of an answer for a generic for, on every kind of adapter: what it gives, and how it ends.

local koine = require "koine"
local raised = require "spec.support.raised"
local sleeps = require "spec.lua.net.sleeps"

local LONG = ("word "):rep(100)
local STUCK = { content = LONG, chunk = 5, fault = { stall_after = 2000 } }

describe("adapter:text", function()
  local server, claude, gpt

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key-1" }
    gpt = koine.openai { model = "gpt-4.1", base_url = server.url, key = "test-key-2" }
  end)

  -- The pieces of a loop, and the error that it raised, if it did.
  local function read(adapter, ...)
    local list, arguments = {}, table.pack(...)
    local ok, err = pcall(function()
      for piece in adapter:text(table.unpack(arguments, 1, arguments.n)) do list[#list + 1] = piece end
    end)
    return list, not ok and err or nil
  end

  -- An adapter in Lua with these deltas, before the error `err` (nil: none); counts in `closed`.
  local function own(deltas, err)
    local closed = { count = 0 }
    return koine.custom_adapter { name = "Own", options = { model = "m" }, open = function()
      local i = 0
      return {
        next = function()
          i = i + 1
          if deltas[i] then return deltas[i] end
          return nil, err
        end,
        response = function() return { content = "abc", model = "m", stop_reason = "end_turn" } end,
        close = function() closed.count = closed.count + 1 end,
      }
    end }, closed
  end

  local ANSWER = { { type = "thinking", thinking = "Hm." }, { type = "text", text = "Let me look." },
    { type = "tool_use", name = "add", arguments = { a = 1, b = 2 } }, { type = "text", text = " Then more." } }

  it("gives the text alone, in the pieces of the stream, on every adapter of Koine's", function()
    for _, adapter in ipairs { claude, gpt, koine.fallback { claude, gpt } } do
      assert(server:script { { content = ANSWER, chunk = 4 } })
      local list, err = read(adapter, "Hi")
      assert.is_nil(err)
      assert.is_true(#list > 2)
      assert.are.equal("Let me look. Then more.", table.concat(list))
      assert(server:script { { content = ANSWER, chunk = 4 } })
      local same = {}
      for delta in adapter:stream "Hi" do
        if delta.type == "text_delta" then same[#same + 1] = delta.text end
      end
      assert.are.same(same, list)
    end
  end)

  it("works on adapters in Lua and on the playbook", function()
    local adapter, closed = own { { type = "thinking_delta", text = "Hm" }, { type = "text_delta", text = "ab" },
      { type = "text_delta", text = "c" } }
    assert.are.same({ "ab", "c" }, (read(adapter, "Hi")))
    assert.are.equal(1, closed.count)
    local book = koine.testing.playbook { { step = 1, type = "message", content = "Hello." } }
    assert.are.equal("Hello.", table.concat((read(book, "Hi"))))
  end)

  it("leaves out deltas without text, which an adapter in Lua may give", function()
    local adapter = own { { type = "text_delta", text = "" }, { type = "text_delta", text = "a" },
      { type = "text_delta" }, { type = "text_delta", text = 5 }, { type = "text_delta", text = "b" } }
    assert.are.same({ "a", "b" }, (read(adapter, "Hi")))
  end)

  it("takes the options of chat", function()
    assert(server:script { { content = "Yes." } })
    read(claude, { { role = "user", content = "Hi" } }, { system = "Be brief.", max_tokens = 77 })
    local body = require("cjson").decode(assert(server:requests())[1].body)
    assert.are.same({ "Be brief.", 77, true }, { body.system, body.max_tokens, body.stream })
  end)

  it("has the stream as its second value, which knows the Response after the loop", function()
    assert(server:script { { content = "Hello.", usage = { input_tokens = 3, output_tokens = 2 } } })
    local pieces, stream = claude:text "Hi"
    local text = ""
    for piece in pieces, stream do text = text .. piece end
    local r = assert(stream:response())
    assert.are.same({ "Hello.", "Hello.", 2 }, { text, r:text(), r.usage.output_tokens })
  end)

  it("gives nothing for an answer without text", function()
    assert(server:script { { content = { ANSWER[3] } }, { content = {} } })
    assert.are.same({}, (read(claude, "Hi")))
    assert.are.same({}, (read(claude, "Hi")))
  end)

  it("raises the error of a call that does not start", function()
    assert(server:script { { error = { status = 401, message = "no such key" } } })
    local list, err = read(claude, "Hi")
    assert.are.same({ {}, "AuthenticationError" }, { list, err.class })
    local none = koine.anthropic { model = "m", base_url = server.url, key = function() return nil, "none" end }
    list, err = read(none, "Hi")
    assert.are.same({ {}, "AuthenticationError" }, { list, err.class })
  end)

  it("raises the error of an answer that breaks off, after what had come", function()
    for _, adapter in ipairs { claude, koine.fallback { claude, gpt } } do
      assert(server:script { { content = LONG, chunk = 5, fault = { truncate_after = 2000 } } })
      local list, err = read(adapter, "Hi", { retry = false })
      assert.are.same({ "stream_truncated", true }, { err.kind, #list > 3 })
      assert.are.equal(err.partial:text(), table.concat(list))
    end
    local mine = koine.errors.new { kind = "server", message = "gone" }
    local list, err = read(own({ { type = "text_delta", text = "ab" } }, mine), "Hi")
    assert.are.same({ "ab" }, list)
    assert.are.equal(mine, err)
  end)

  it("makes failed attempts again before the first piece", function()
    assert(server:script { { error = { status = 529 } }, { content = "Hello." } })
    local slept = sleeps.record()
    local list, err = read(claude, "Hi")
    sleeps.restore()
    assert.are.equal(1, #slept)
    assert.are.same({ "Hello." }, { table.concat(list) })
    assert.is_nil(err)
  end)

  it("closes the stream when the loop is left", function()
    assert(server:script { STUCK, STUCK })
    local pieces, stream = claude:text "Hi"
    for piece in pieces, stream, nil, stream do -- luacheck: ignore
      break
    end
    assert.are.equal("cancelled", select(2, stream:response()).kind)
    for _ in claude:text "Hi" do break end -- luacheck: ignore
    assert.are.equal("koine.engine (0 in flight)", tostring(koine.engine()))
    local adapter, closed = own { { type = "text_delta", text = "a" }, { type = "text_delta", text = "b" } }
    assert.is_false(pcall(function()
      for _ in adapter:text "Hi" do error "mine" end
    end))
    assert.are.equal(1, closed.count)
  end)

  it("ends with its task, and raises where another closes its stream", function()
    assert(server:script { STUCK, STUCK })
    koine.run(function()
      local heard = 0
      local task = koine.spawn(function()
        for piece in claude:text "Hi" do heard = heard + #piece end
      end)
      while heard == 0 do koine.sleep(0.001) end
      assert.is_true(task:cancel())
      assert.are.equal("koine.engine (0 in flight)", tostring(koine.engine()))
      local pieces, stream = claude:text "Hi"
      koine.spawn(function()
        koine.sleep(0.01)
        stream:close()
      end)
      local ok, err = pcall(function()
        for _ in pieces, stream do heard = heard + 1 end
      end)
      assert.are.same({ false, "cancelled" }, { ok, err.kind })
    end)
  end)

  it("refuses what chat refuses, and a shape", function()
    for _, adapter in ipairs { claude, koine.fallback { claude }, (own {}) } do
      for field, opts in pairs { output = { output = { schema = "a" } }, max_tokens = { max_tokens = -1 },
        stop_words = { stop_words = 1 } } do
        local err = raised(function() return adapter:text("Hi", opts) end)
        assert.are.same({ "ArgumentError", field }, { err.class, err.field })
      end
      assert.are.equal("messages", raised(function() return adapter:text(5) end).field)
      assert.are.equal("ArgumentError", raised(function() return adapter.text "Hi" end).class)
    end
    local err = raised(function() return koine.custom_adapter({ name = "None" }):text "Hi" end)
    assert.are.same({ "NotImplementedError", "text" }, { err.class, err.method })
  end)
end)
