-- @copilotkit/aimock beyond the contract: what it does otherwise than the providers, its faults, Koine's examples.

local aimock = require "spec.interop.support.aimock"
local cassette = require "spec.interop.support.cassette"
local koine = require "koine"

local MODULES = assert(os.getenv "KOINE_INTEROP", "run by: make interop") .. "/node_modules"
local LUA = os.getenv "KOINE_LUA" or "lua5.4"

local NO_RETRY = { retry = false }

-- The wires: name, constructor, options, path of the base URL.
local WIRES = {
  { "Anthropic", koine.anthropic, { model = "claude-sonnet-4-5" }, "" },
  { "Responses", koine.openai, { model = "gpt-4.1" }, "/v1" },
  { "Chat", koine.openai, { model = "gpt-4.1", api = "chat" }, "/v1" },
}

describe("aimock", function()
  local server

  setup(function() server = aimock.start(MODULES) end)
  teardown(function() server:stop() end)

  local function adapter(wire, opts)
    local given = { base_url = server.url .. wire[4], key = "interop-key" }
    for name, value in pairs(wire[3]) do given[name] = value end
    for name, value in pairs(opts or {}) do given[name] = value end
    return wire[2](given)
  end

  describe("otherwise than the providers:", function()
    it("it says zero tokens where no usage is given, on Anthropic's wire and on Responses", function()
      for i = 1, 2 do
        server:script { { content = "Hello." }, { content = "Hello." } }
        local talker = adapter(WIRES[i])
        for _, streamed in ipairs { false, true } do
          local usage = assert(talker:chat("Hello?", { stream = streamed })).usage
          assert.are.equal(0, usage.input_tokens)
          assert.are.equal(0, usage.output_tokens)
        end
      end
    end)

    it("it guesses tokens on the Chat wire", function()
      server:script { { content = "Hello." } }
      assert.is_true(assert(adapter(WIRES[3]):chat "Hello?").usage.output_tokens > 0)
    end)

    it("it sends no ping", function()
      server:script { { content = "Hello." } }
      local stream <close> = assert(adapter(WIRES[1]):open("Hello?", { keep_raw = true }))
      local raw = assert(stream:response()):raw()
      assert.is_truthy(raw:find("event: message_start", 1, true))
      assert.is_nil(raw:find("ping", 1, true))
    end)

    it("it puts an empty reasoning item before every answer of a model that reasons, on Responses", function()
      server:script { { content = "Hello." } }
      local response = assert(adapter(WIRES[2], { model = "gpt-5" }):chat "Hello?")
      assert.are.equal("Hello.", response:text())
      assert.are.same({ "thinking", "text" }, { response.content[1].type, response.content[2].type })
    end)

    it("an answer that is cut for no reason given is a warning, on Responses", function()
      server:script { { content = "Hello", stop_reason = "max_tokens" } }
      local response = assert(adapter(WIRES[2]):chat "Hello?")
      assert.are.equal("incomplete", response.raw_stop_reason)
      assert.are.equal("end_turn", response.stop_reason)
      assert.are.equal(1, #response.warnings)
      assert.are.equal("unknown_stop_reason", response.warnings[1].code)
    end)
  end)

  describe("its faults:", function()
    for _, wire in ipairs(WIRES) do
      it("a stream that it breaks off gives the part that came: " .. wire[1], function()
        server:script { { content = ("word "):rep(100), chunk = 5, cut_after = 20 } }
        local response, err = adapter(wire, NO_RETRY):chat("Hello?", { stream = true })
        assert.is_nil(response)
        assert.are.equal("ConnectionError", err.class, tostring(err))
        assert.are.equal("stream_truncated", err.kind)
        local text = err.partial:text()
        assert.is_true(#text > 0 and #text < 500)
        assert.are.equal(("word "):rep(100):sub(1, #text), text)
      end)

      it("chaos, every time another: " .. wire[1], function()
        for fault, expected in pairs {
          drop = { "ServerError", "server", 500 }, malformed = { "ServerError", "protocol" },
          disconnect = { "ConnectionError" }, ratelimit = { "RateLimitError", "rate_limit", 429 },
        } do
          server:script { { content = "Hello." } }
          local talker = adapter(wire, { retry = false, headers = { ["x-aimock-chaos-" .. fault] = "1" } })
          for _, streamed in ipairs { false, true } do
            local response, err = talker:chat("Hello?", { stream = streamed })
            assert.is_nil(response, fault)
            local at = fault .. ": " .. tostring(err)
            assert.are.equal(expected[1], err.class, at)
            if expected[2] then assert.are.equal(expected[2], err.kind, at) end
            if expected[3] then assert.are.equal(expected[3], err.status_code, at) end
            if fault == "ratelimit" then assert.is_true(err.retry_after > 0) end
          end
        end
      end)
    end

    it("an error of its own is retried, and the answer comes", function()
      for _, wire in ipairs(WIRES) do
        server:script { { error = { status = 429, message = "slow down", headers = { ["retry-after"] = "0" } } },
          { error = { status = 503, message = "overloaded" } }, { content = "Hello." } }
        local response = assert(adapter(wire):chat "Hello?")
        assert.are.equal("Hello.", response:text())
        assert.are.equal(3, #response.attempts)
      end
    end)
  end)

  for _, wire in ipairs(WIRES) do
    it("says the same on a cassette: " .. wire[1], function()
      local call = { { type = "text", text = "I look." },
        { type = "tool_use", id = "call_1", name = "add", arguments = { a = 2, b = 3 } } }
      local path, said = cassette.judge(function(tape)
        server:script { { content = ("é "):rep(50), chunk = 3 }, { content = call }, { content = call },
          { error = { status = 429, message = "slow down" } }, { content = ("word "):rep(100), cut_after = 20 } }
        local talker, list = adapter(wire, { retry = false, transport = tape }), {}
        for i = 1, 5 do list[i] = cassette.told(talker:chat("Hello " .. i, { stream = i ~= 2 })) end
        return list
      end)
      assert.are.equal(("é "):rep(50), said[1].content[1].text)
      assert.are.same({ a = 2, b = 3 }, said[2].tool_calls[1].arguments)
      assert.are.same({ 429, "stream_truncated" }, { said[4][2], said[5][1] })
      cassette.remove(path)
    end)
  end

  it("a hundred streams at once do not mix", function()
    server:script { { content = "Hello." } }
    local answers = {}
    for i = 1, 100 do answers[i] = { content = ("answer %d "):format(i):rep(20), chunk = 7 } end
    server:script(answers)
    local talker, seen = adapter(WIRES[1]), {}
    koine.run(function()
      for _ = 1, 100 do
        koine.spawn(function()
          local text = assert(talker:chat("Hello?", { stream = true })):text()
          local n = text:match "^answer (%d+) "
          assert.are.equal(("answer %s "):format(n):rep(20), text)
          seen[n] = (seen[n] or 0) + 1
        end)
      end
    end)
    for i = 1, 100 do assert.are.equal(1, seen[tostring(i)]) end
  end)

  describe("the example", function()
    -- Returns the output of examples/NAME.lua, with every provider at aimock; `base` is the path of the base URL.
    local function run(name, answers, arguments, base, input)
      server:script(answers)
      local command = ("printf '%s' | env KOINE_BASE_URL=%s%s KOINE_SECOND_BASE_URL=%s/v1 ANTHROPIC_API_KEY=k-1234 "
        .. "OPENAI_API_KEY=k-5678 %s examples/%s.lua %s 2>&1"):format(input or "", server.url, base or "", server.url,
        LUA, name, arguments or "")
      local pipe = assert(io.popen(command))
      local text = pipe:read "a"
      assert.is_true(pipe:close(), text)
      assert.are.equal(#answers, #server:requests())
      return text
    end

    local function call(name, arguments) return { type = "tool_use", name = name, arguments = arguments } end

    for model, base in pairs { ["anthropic/claude-sonnet-4-5"] = "", ["openai/gpt-4.1"] = "/v1" } do
      it("ask asks " .. model, function()
        local usage = { input_tokens = 7, output_tokens = 9 }
        local text = run("ask", { { content = "Rayleigh.", usage = usage, model = "m-1" } }, model, base)
        assert.are.equal("Rayleigh.\n[m-1, end_turn: 7 tokens in, 9 out]\n", text)
      end)

      it("stream prints what is written, by " .. model, function()
        local answers = { { content = "A small language.", chunk = 3 } }
        assert.are.equal("A small language.\n", run("stream", answers, model, base))
      end)

      it("tools runs what is called, by " .. model, function()
        local text = run("tools", { { content = { call("add", { a = 19, b = 23 }) } }, { content = "It is 42." } },
          model, base)
        assert.are.equal('called\tadd\t{"a":19,"b":23}\t=>\t42\nIt is 42.\n', text)
      end)

      it("agent runs its tools, by " .. model, function()
        local usage = { input_tokens = 50, output_tokens = 10 }
        local calls = { call("weather", { city = "Paris" }), call("convert", { celsius = 18 }) }
        local text = run("agent", { { content = calls, usage = usage }, { content = "64 degrees.", usage = usage } },
          model, base)
        assert.are.equal('  -> weather({"city":"Paris"})\n  -> convert({"celsius":18})\n'
          .. "  <- 18 degrees and rain in Paris\n  <- 64.4\n64 degrees.\n"
          .. "[completed; 2 model calls, 100 tokens in, 20 out]\n", text)
      end)

      it("conversation survives a failure, of " .. model, function()
        local text = run("conversation", { { content = "Hello to you." },
          { error = { status = 400, message = "no such thing", type = "invalid_request_error" } },
          { content = "You said hi." } }, model, base, "hi\\noops\\nwhat did I say?\\n\\n")
        assert.are.equal("> Hello to you.\n> \n[no such thing]\n> You said hi.\n> ", text)
      end)
    end

    it("approve asks before it deletes", function()
      local text = run("approve", { { content = { call("delete", { path = "/tmp/a.txt" }),
        call("delete", { path = "/home/a" }) } }, { content = "As you wish." } }, "", "", "n\\n")
      assert.is_truthy(text:find('ran:\t{"path":"/tmp/a.txt"}', 1, true), text)
      assert.is_truthy(text:find('did not run:\t{"path":"/home/a"}', 1, true), text)
      assert.is_truthy(text:find("As you wish.", 1, true), text)
    end)

    it("switch_provider goes on with another", function()
      local text = run("switch_provider", { { content = "The Loire." }, { content = "Nantes and Tours." } })
      assert.are.equal("Anthropic: The Loire.\nOpenAI: Nantes and Tours.\n", text)
    end)
  end)
end)
