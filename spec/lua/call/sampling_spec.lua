-- The options seed, top_k, min_p and logprobs on every wire, over HTTP: the fields of the request, the warnings, and
-- the logprobs that come back, plain and streamed.

local core = require "koine.core"
local koine = require "koine"
local raised = require "spec.support.raised"

describe("sampling options", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local GIVEN = { seed = 7, top_k = 40, min_p = 0.05, logprobs = 2 }

  local function adapter(row, given)
    given = given or {}
    given.key = "k"
    given.base_url = server.url .. (row == "gemini" and "/v1beta" or "")
    given.model = given.model or "m"
    return koine[row](given)
  end

  -- The decoded body of the last request, and the fields that the warnings name, sorted.
  local function sent(response)
    local requests, fields = assert(server:requests()), {}
    for i, warning in ipairs(response.warnings) do fields[i] = warning.field end
    table.sort(fields)
    return core.decode(requests[#requests].body), table.concat(fields, " ")
  end

  -- Row, options of its constructor, what the body has of the four (where it says them), the warnings' fields.
  local CLAUDE = { model = "anthropic.claude-3-haiku-20240307-v1:0" }
  local ASKED = { logprobs = true, top_logprobs = 2 }
  local function with(more)
    local all = { logprobs = true, top_logprobs = 2, seed = 7 }
    for name, value in pairs(more or {}) do all[name] = value ~= core.null and value or nil end
    return all
  end
  local WIRES = {
    { "openai", { api = "chat" }, with(), "min_p top_k" },
    { "openai", { api = "chat", model = "gpt-5" }, { seed = 7 }, "logprobs min_p top_k" },
    { "openai", {}, { top_logprobs = 2 }, "min_p seed top_k" },
    { "vllm", {}, with { top_k = 40, min_p = 0.05 }, "" },
    { "llamacpp", {}, with { top_k = 40, min_p = 0.05 }, "" },
    { "openrouter", {}, with { top_k = 40, min_p = 0.05 }, "" },
    { "fireworks", {}, with { top_k = 40, min_p = 0.05 }, "" },
    { "together", {}, { seed = 7, top_k = 40, min_p = 0.05, logprobs = 2 }, "" },
    { "deepinfra", {}, { seed = 7, top_k = 40, min_p = 0.05, logprobs = true }, "logprobs" },
    { "alibaba", {}, with { top_k = 40 }, "min_p" },
    { "perplexity", {}, {}, "logprobs min_p seed top_k" },
    { "lmstudio", {}, { seed = 7, top_k = 40 }, "logprobs min_p" },
    { "ollama_compat", {}, with(), "min_p top_k" },
    { "groq", {}, { seed = 7 }, "logprobs min_p top_k" },
    { "mistral", {}, { random_seed = 7 }, "logprobs min_p top_k" },
    { "deepseek", {}, ASKED, "min_p seed top_k" },
    { "moonshot", {}, {}, "logprobs min_p seed top_k" },
    { "anthropic", { model = "claude-sonnet-4-5" }, { top_k = 40 }, "logprobs min_p seed" },
    { "anthropic", { model = "claude-opus-5" }, {}, "logprobs min_p seed top_k" },
    { "ollama", {}, ASKED, "" },
    { "gemini", { model = "gemini-3.5-flash" }, {}, "min_p" },
  }

  for _, wire in ipairs(WIRES) do
    local row, given, wanted, warned = table.unpack(wire)
    it(("reach %s %s, or are named in a warning"):format(row, given.model or given.api or ""), function()
      assert(server:script { { content = "ok" } })
      local body, fields = sent(assert(adapter(row, given):chat("Hi", GIVEN)))
      for _, name in ipairs { "seed", "random_seed", "top_k", "min_p", "logprobs", "top_logprobs" } do
        assert.are.equal(wanted[name], body[name], name)
      end
      assert.are.equal(warned, fields)
    end)
  end

  it("have names and places of their own with Responses, Gemini, Ollama and Bedrock", function()
    assert(server:script { { content = "ok" }, { content = "ok" }, { content = "ok" }, { content = "ok" } })
    local body = sent(assert(adapter("openai", { model = "gpt-4.1" }):chat("Hi", GIVEN)))
    assert.are.same({ "message.output_text.logprobs" }, body.include)
    body = sent(assert(adapter("gemini", { model = "gemini-3.5-flash" }):chat("Hi", GIVEN)))
    assert.are.same({ seed = 7, topK = 40, responseLogprobs = true, logprobs = 2 }, body.generationConfig)
    body = sent(assert(adapter("ollama"):chat("Hi", GIVEN)))
    assert.are.same({ seed = 7, top_k = 40, min_p = 0.05 }, body.options)
    local fields
    body, fields = sent(assert(adapter("bedrock", CLAUDE):chat("Hi", GIVEN)))
    assert.are.same({ top_k = 40 }, body.additionalModelRequestFields)
    assert.are.equal("logprobs min_p seed", fields)
  end)

  it("are left out beside thinking where the wire refuses them", function()
    assert(server:script { { content = "ok" } })
    local r = assert(adapter("anthropic", { model = "claude-sonnet-4-5" }):chat("Hi", { top_k = 5, thinking = "low" }))
    assert.are.equal("conflicting_options", r.warnings[1].code)
    assert.are.equal("top_k", r.warnings[1].field)
    assert.is_nil(sent(r).top_k)
  end)

  it("are sent by constructors, too, and a call's win", function()
    assert(server:script { { content = "ok" }, { content = "ok" } })
    local vllm = adapter("vllm", { seed = 1, top_k = 2 })
    assert.are.equal(1, sent(assert(vllm:chat "Hi")).seed)
    local body = sent(assert(vllm:chat("Hi", { seed = 3 })))
    assert.are.equal(3, body.seed)
    assert.are.equal(2, body.top_k)
  end)

  it("are refused before any request where they are none", function()
    for name, values in pairs { seed = { -1, 1.5, "7", 1 << 31, true }, top_k = { 0, 1.5, "40", false },
      min_p = { -0.1, 1.1, "0.5", 0 / 0 }, logprobs = { false, -1, 21, 1.5, "true", {} } } do
      for _, value in ipairs(values) do
        local err = raised(adapter, "vllm", { [name] = value })
        assert.are.equal("ArgumentError", err.class)
        assert.are.equal(name, err.field)
      end
    end
    assert.are.same({}, assert(server:requests()))
    assert.is_truthy(tostring(raised(adapter, "vllm", { top_logprobs = 5 })):find("logprobs = n", 1, true))
  end)

  it("of fewer alternatives than were asked for are said so", function()
    assert(server:script { { content = "ok" } })
    local r = assert(adapter("xai", { model = "grok-3" }):chat("Hi", { logprobs = 20 }))
    assert.are.equal("adjusted_option", r.warnings[1].code)
    assert.are.equal(8, sent(r).top_logprobs)
    assert.are.equal(8, #r.logprobs[1].top)
  end)

  describe("logprobs", function()
    local TEXT = "Olá, mundo: one line of text that takes some pieces."
    local ANSWER = { content = { { type = "thinking", thinking = "Hm." }, { type = "text", text = TEXT } } }
    local PLAIN = { content = TEXT }

    local ADAPTERS = { { "openai", { api = "chat" } }, { "openai", { model = "gpt-4.1" } }, { "vllm" }, { "together" },
      { "ollama" }, { "gemini", { model = "gemini-3.5-flash" } } }

    for _, made in ipairs(ADAPTERS) do
      local row, given = made[1], made[2]
      local name = row .. (given and given.api and " chat" or "")

      local function new(more)
        local all = more or {}
        for key, value in pairs(given or {}) do all[key] = value end
        return adapter(row, all)
      end

      it(("of %s are the tokens of the text, plain and streamed alike"):format(name), function()
        local answer = (row == "together" or row == "openai") and PLAIN or ANSWER
        assert(server:script { answer, answer })
        local plain = assert(new():chat("Hi", { logprobs = 3 }))
        local stream = new():open("Hi", { logprobs = 3 })
        repeat local delta = stream:next() until not delta
        local streamed = assert(stream:response())
        assert.are.equal(TEXT, plain:text())
        assert.are.same(plain.logprobs, streamed.logprobs)
        local tokens = {}
        for i, one in ipairs(plain.logprobs) do
          tokens[i] = one.token
          assert.is_true(math.type(one.logprob) == "float" and one.logprob < 0)
          assert.is_true(one.bytes == nil or one.bytes == one.token)
          assert.are.equal(row == "together" and 0 or 3, #one.top)
          for k, other in ipairs(one.top) do
            assert.is_true(other.logprob <= one.logprob and (k > 1 or other.token == one.token))
            assert.is_nil(other.top)
          end
        end
        assert.is_true(#tokens > 1)
        assert.are.equal(TEXT, table.concat(tokens))
        assert.are.same(plain.logprobs, plain:to_table().logprobs)
      end)

      it(("of %s are nil unless asked for, and no part of the history"):format(name), function()
        assert(server:script { PLAIN, PLAIN, PLAIN })
        local a = new()
        assert.is_nil(assert(a:chat "Hi").logprobs)
        local r = assert(a:chat("Hi", { logprobs = true }))
        assert.are.equal(0, #r.logprobs[1].top)
        local message = r:message()
        assert.is_nil(message.logprobs)
        for _, block in ipairs(message.content) do assert.is_nil(block.logprobs) end
        assert(a:chat { { role = "user", content = "Hi" }, message, { role = "user", content = "Go on." } })
        assert.is_nil(assert(server:requests())[3].body:find("logprob", 1, true))
      end)
    end

    it("of an answer that broke off are those that came", function()
      assert(server:script { { content = TEXT, chunk = 5, stream_error = { status = 500, after = 3 } } })
      local stream = adapter("vllm", { retry = false }):open("Hi", { logprobs = true })
      local err
      repeat
        local delta, failed = stream:next()
        err = failed
      until not delta
      assert.are.equal(3, #err.partial.logprobs)
    end)

    -- The errors of models and servers that tell none.
    local REFUSALS = {
      { "openai", { api = "chat" }, "Unsupported parameter: 'logprobs' is not supported with this model." },
      { "openai", {}, "Unsupported parameter: 'top_logprobs' is not supported with this model." },
      { "gemini", { model = "gemini-3.5-flash" },
        "Unable to submit request because Logprobs is not supported for this model." },
    }

    for _, case in ipairs(REFUSALS) do
      it(("that %s refuses are left out of the next attempt, and of later calls"):format(case[1]), function()
        local refusal = { error = { status = 400, message = case[3] } }
        assert(server:script { refusal, { content = "ok" }, { content = "ok" } })
        local a = adapter(case[1], case[2])
        for _ = 1, 2 do
          local r = assert(a:chat("Hi", { logprobs = 2, retry = false }))
          local body, fields = sent(r)
          assert.are.equal("logprobs", fields)
          assert.is_nil(core.encode(body):lower():find("logprobs", 1, true))
          assert.is_nil(r.logprobs)
        end
        assert.are.equal(3, #assert(server:requests()))
      end)
    end

    it("and a seed that a server refuses do not fail the call", function()
      assert(server:script { { error = { status = 400, message = "seed: Extra inputs are not permitted" } },
        { content = "ok" } })
      local r = assert(adapter("compatible"):chat("Hi", { seed = 7, retry = false }))
      local body, fields = sent(r)
      assert.are.equal("seed", fields)
      assert.is_nil(body.seed)
    end)
  end)
end)
