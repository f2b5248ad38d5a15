-- Chats that begin in one step (call/attempt/chat.lua) beside the same chats made step by step, which an on_request
-- asks for: the same bytes go out, the same comes back.

local adapter_kit = require "spec.lua.call.adapter.kit"
local core = require "koine.core"
local koine = require "koine"
local observed = require "spec.lua.data.observer.kit"
local raised = require "spec.support.raised"

local WIRES <const> = {
  anthropic = { make = koine.anthropic, model = "claude-sonnet-4-5" },
  chat = { make = koine.openai, model = "gpt-4o", api = "chat" },
  responses = { make = koine.openai, model = "gpt-4o", api = "responses" },
  gemini = { make = koine.gemini, model = "gemini-2.5-flash", path = "/v1beta" },
  ollama = { make = koine.ollama, model = "llama3.2", logs_in = true },
}
local WEATHER <const> = { name = "weather", description = "Tells the weather.",
  parameters = { type = "object", properties = { city = { type = "string" } }, required = { "city" } } }
local HISTORY <const> = { { role = "user", content = "One." },
  { role = "assistant", content = { { type = "text", text = "1" } } },
  { role = "user", content = { { type = "text", text = "Two." }, { type = "text", text = "Three." } } } }

describe("a chat that begins in one step", function()
  local kit = adapter_kit.new()
  local server, slept, begun

  setup(function() server = kit.start() end)
  teardown(kit.stop)

  local begin = core.adapter_methods.begin
  before_each(function()
    slept = select(2, kit.begin())
    begun = 0
    core.adapter_methods.begin = function(...)
      begun = begun + 1
      return begin(...)
    end
  end)
  after_each(function()
    core.adapter_methods.begin = begin
    kit.restore()
  end)

  -- Two adapters of a wire: one whose chats begin in one step, after a first one, and one whose chats do not.
  local function pair(wire, fields)
    local options = { model = WIRES[wire].model, api = WIRES[wire].api, key = "test-key-1",
      base_url = server.url .. (WIRES[wire].path or "") }
    for name, value in pairs(fields or {}) do options[name] = value end
    local short = WIRES[wire].make(options)
    options.on_request = function() end
    return short, WIRES[wire].make(options)
  end

  local function sent_by(f)
    local before = #kit.requests()
    local ok, response, err = pcall(f)
    local list = kit.requests()
    local sent = {}
    for i = before + 1, #list do
      local one = list[i]
      sent[#sent + 1] = { path = one.target, method = one.method, headers = one.headers, body = one.body }
    end
    return sent, ok, response, err
  end

  local function told(ok, response, err)
    if not ok then return { raised = tostring(response):gsub("^[^:]*:%d+: ", ""), field = response.field } end
    if not response then
      return { kind = err.kind, message = err.message, status = err.status_code, attempts = err.attempts }
    end
    local plain = response:to_table()
    plain.id, plain.request_id, plain.headers, plain.raw = nil, nil, nil, nil
    return plain
  end

  -- The result of f(short), which must be that of f(long), with the same requests.
  local function same(short, long, answers, ask)
    assert(server:script(answers))
    local sent, ok, response, err = sent_by(function() return ask(short) end)
    assert(server:script(answers))
    local sent_long, ok_long, response_long, err_long = sent_by(function() return ask(long) end)
    assert.are.same(sent_long, sent)
    assert.are.same(told(ok_long, response_long, err_long), told(ok, response, err))
    return response, err
  end

  local HELLO <const> = { { content = "Hello." } }

  -- The first chat of an adapter says where the others go.
  local function warm(...)
    for _, adapter in ipairs { ... } do
      for _, streaming in ipairs { false, true } do
        assert(server:script(HELLO))
        assert(adapter:chat("Hi.", { stream = streaming, max_tokens = 100 }))
      end
    end
    begun = 0
  end

  for wire in pairs(WIRES) do
    it("sends and gives the same as one made step by step: " .. wire, function()
      local short, long = pair(wire)
      warm(short, long)
      local OPTIONS <const> = {
        {}, { max_tokens = 50 }, { system = "Be brief.", temperature = 0.5, max_tokens = 60 },
        { tools = { WEATHER }, tool_choice = "auto", max_tokens = 70 },
        { stop_sequences = { "X" }, seed = 7, max_tokens = 80 },
        { headers = { ["x-team"] = "a" }, max_tokens = 90 }, { timeout = 20, max_tokens = 90 },
        { limits = { body = 1000000 }, max_tokens = 90 }, { betas = "a-beta", max_tokens = 90 },
        { thinking = "low", max_tokens = 9000 }, { top_k = 3, min_p = 0.1, logprobs = 2, max_tokens = 90 },
      }
      for i, options in ipairs(OPTIONS) do
        for _, messages in ipairs { "Hi.", HISTORY } do
          for _, streaming in ipairs { false, true } do
            options.stream = streaming
            local response = same(short, long, HELLO, function(adapter) return adapter:chat(messages, options) end)
            assert(response and response.text, "option set " .. i)
          end
        end
      end
      assert.are.equal("Hello.", same(short, long, HELLO, function(adapter) return adapter:chat "Hi." end):text())
      assert.is_true(begun > 30 or WIRES[wire].logs_in, begun .. " chats began in one step")
    end)
  end

  it("raises what the other raises, and sends nothing", function()
    local short, long = pair "anthropic"
    warm(short, long)
    for _, messages in ipairs { {}, { { role = "system", content = "x" } }, { { role = "user" } }, { "x" },
      { { role = "user", content = { { type = "nothing" } } } }, { role = "user" }, 7 } do
      local sent, ok, response = sent_by(function() return short:chat(messages) end)
      local _, ok_long, response_long = sent_by(function() return long:chat(messages) end)
      assert.are.same({}, sent)
      assert.are.same(told(ok_long, response_long), told(ok, response))
      assert.is_false(ok)
    end
  end)

  it("is made again with the same bytes, whatever became of the caller's tables", function()
    for _, streaming in ipairs { false, true } do
      local history = { { role = "user", content = "First words." } }
      local short = pair("anthropic", { on_retry = function() history[1].content = "Other words." end })
      warm(short)
      assert(server:script { { error = { status = 529 } }, { error = { status = 500 } }, { content = "Hello." } })
      local sent, _, response = sent_by(function() return short:chat(history, { stream = streaming }) end)
      assert.are.equal(1, begun)
      assert.are.equal("Hello.", response:text())
      assert.are.equal(3, #sent)
      assert.is_truthy(sent[1].body:find("First words.", 1, true))
      for i = 2, 3 do assert.are.same({ sent[1].body, sent[1].path }, { sent[i].body, sent[i].path }) end
      assert.are.same({ 529, 500, 200 },
        { response.attempts[1].status_code, response.attempts[2].status_code, response.attempts[3].status_code })
      assert.are.equal(2, #slept)
      slept[1], slept[2] = nil, nil
      begun = 0
    end
  end)

  it("is made again though the caller's array is no list any more, and observed", function()
    for _, observer in ipairs { false, function() end } do
      local short = pair("anthropic", { observer = observer or nil })
      warm(short)
      assert(server:script { { error = { status = 529 } }, { content = "Hello." } })
      local history = { { role = "user", content = "Hi." } }
      local sent, _, response = sent_by(function()
        local stream <close> = assert(short:open(history))
        history.role = "user"
        return stream:response()
      end)
      assert.are.equal("Hello.", response:text())
      assert.are.equal(sent[1].body, sent[2].body)
      slept[1] = nil
    end
  end)

  it("is not made again without what was refused where the caller's tables have changed", function()
    local REFUSED <const> = { error = { status = 400, message = "Unrecognized request argument supplied: seed",
      param = "seed", code = "unknown_parameter" } }
    for _, change in ipairs { false, true } do
      local short = pair "chat"
      warm(short)
      assert(server:script { REFUSED, { content = "Hello." } })
      local history = { { role = "user", content = "Hi." } }
      local sent, _, response, err = sent_by(function()
        local stream <close> = assert(short:open(history, { seed = 3 }))
        if change then history[1].content = "Other words." end
        return stream:response()
      end)
      assert.are.equal(change and 1 or 2, #sent)
      if change then
        assert.are.same({ 400, "invalid_request" }, { err.status_code, err.kind })
        assert(short:chat("Hi.")) -- takes the other answer
      else
        assert.are.equal("Hello.", response:text())
      end
    end
  end)

  it("makes ids for calls without ids from the history that went out", function()
    local CALL <const> = { type = "tool_use", name = "weather", arguments = { city = "Rome" } }
    local short, ids = pair("gemini"), {}
    warm(short)
    begun = 0
    for i, answers in ipairs { { { content = { CALL } } }, { { error = { status = 500 } }, { content = { CALL } } } } do
      local history = { { role = "user", content = "Hi." } }
      assert(server:script(answers))
      local stream <close> = assert(short:open(history, { tools = { WEATHER } }))
      history[2], history[3] = { role = "assistant", content = "Yes?" }, { role = "user", content = "More." }
      ids[i] = assert(stream:response()).tool_calls[1].id
    end
    assert.are.equal(2, begun)
    assert.are.equal(ids[1], ids[2])
  end)

  it("fails as the other does, with the same attempts", function()
    local short, long = pair "chat"
    warm(short, long)
    for _, answers in ipairs { { { error = { status = 400, message = "bad" } } }, { { error = { status = 404 } } },
      { { error = { status = 429, headers = { ["retry-after"] = "100" } } } },
      { { error = { status = 503 } }, { error = { status = 503 } }, { error = { status = 503 } } },
      { { content = "Hello.", fault = { truncate_after = 60 } }, { content = "Hello." } } } do
      for _, streaming in ipairs { false, true } do
        begun = 0
        same(short, long, answers, function(adapter) return adapter:chat("Hi.", { stream = streaming }) end)
        assert.are.equal(1, begun)
      end
    end
  end)

  it("leaves out what the provider refuses, in this call and in later ones", function()
    local short = pair "responses"
    warm(short)
    assert(server:script { { error = { status = 400, message = "Unsupported parameter: 'top_logprobs'",
      code = "unsupported_parameter" } }, { content = "Hello." }, { content = "Hello." } })
    local sent, ok, err = sent_by(function()
      for _ = 1, 2 do assert(short:chat("Hi.", { logprobs = 2 })) end
    end)
    assert.is_true(ok, tostring(err))
    assert.are.equal(2, begun)
    assert.are.equal(3, #sent)
    assert.is_truthy(sent[1].body:find("top_logprobs", 1, true))
    for i = 2, 3 do assert.is_nil(sent[i].body:find("top_logprobs", 1, true), "request " .. i) end
  end)

  it("asks a function for the key once for each attempt", function()
    local asked = 0
    local short = pair("anthropic", { key = function()
      asked = asked + 1
      return "test-key-" .. asked
    end })
    assert(server:script { { content = "1" }, { content = "2" }, { error = { status = 500 } }, { content = "3" } })
    local sent, ok, err = sent_by(function()
      for i = 1, 3 do assert.are.equal(tostring(i), assert(short:chat "Hi."):text()) end
    end)
    assert.is_true(ok, tostring(err))
    assert.are.equal(4, asked)
    assert.are.equal(4, #sent)
    for i = 1, 4 do assert.are.equal("test-key-" .. i, sent[i].headers["x-api-key"]) end
  end)

  it("renders before it asks a function for the key, which may wait", function()
    for _, is_warm in ipairs { false, true } do
      local history = { { role = "user", content = "First words." } }
      local short = pair("anthropic", { key = function()
        history[1].content = "Other words."
        return "test-key-1"
      end })
      if is_warm then warm(short) end
      history[1].content = "First words."
      assert(server:script(HELLO))
      local sent = sent_by(function() return short:chat(history) end)
      assert.is_truthy(sent[1].body:find("First words.", 1, true))
    end
  end)

  it("counts the time that a function for the key takes", function()
    local now, took = 0, 0
    local short = pair("anthropic", { clock = { now = function() return now end, park = function() return false end },
      key = function()
        now = now + took
        return "test-key-1"
      end })
    warm(short)
    took = 2
    local sent, _, response, err = sent_by(function() return short:chat("Hi.", { timeout = 1 }) end)
    assert.are.same({ {}, nil, "timeout", "total" }, { sent, response, err.kind, err.code })
  end)

  it("fails with the error of a function that has no key, which is asked once", function()
    local asked, key = 0, "test-key-1"
    local short = pair("anthropic", { key = function()
      asked = asked + 1
      return key, "locked"
    end })
    warm(short)
    asked, key = 0, nil
    local sent, _, response, err = sent_by(function() return short:chat "Hi." end)
    assert.are.same({ {}, nil, "auth", 1 }, { sent, response, err.kind, asked })
    assert.is_truthy(err.message:find("locked", 1, true))
  end)

  it("keeps the seconds of its total over its attempts", function()
    local short = pair("anthropic", { timeout = 5 })
    warm(short)
    assert(server:script { { error = { status = 429, headers = { ["retry-after"] = "6" } } } })
    local response, err = short:chat "Hi."
    assert.are.equal(1, begun)
    assert.is_nil(response)
    assert.are.same({ "rate_limit", 1 }, { err.kind, #err.attempts }) -- the wait would end after the total
  end)

  it("is told by observers as the other is", function()
    local kept = {}
    for i, forced in ipairs { false, true } do
      local observer, records = observed.keep()
      local adapter = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key-1",
        observer = observer, on_request = forced and function() end or nil }
      assert(server:script { { content = "1" }, { content = "2" }, { error = { status = 500 } }, { content = "3" },
        { error = { status = 400 } } })
      for _ = 1, 3 do assert(adapter:chat "Hi.") end
      assert.is_nil((adapter:chat "Hi."))
      assert(not pcall(adapter.chat, adapter, {}))
      observed.check(records)
      kept[i] = {}
      for j, record in ipairs(records) do
        local names = {}
        for name in pairs(record) do names[#names + 1] = name end
        table.sort(names)
        kept[i][j] = { record.type, record.phase, record.status_code, record.number, record.stop_reason,
          record.attempts, record.messages, table.concat(names, " ") }
      end
    end
    assert.are.equal(4, begun)
    assert.are.same(kept[2], kept[1])
  end)

  it("is cancelled by a close of its stream", function()
    local short = pair "anthropic"
    warm(short)
    assert(server:script { { content = ("word "):rep(100), chunk = 5, fault = { stall_after = 2000 } } })
    local stream = assert(short:open "Hi.")
    assert.are.equal(1, begun)
    assert(stream:next())
    stream:close()
    local delta, err = stream:next()
    assert.are.same({ nil, "cancelled" }, { delta, err.kind })
  end)

  it("raises for a closed adapter", function()
    local short = pair "anthropic"
    warm(short)
    short:close()
    assert.are.equal("adapter", raised.as("ArgumentError", short.chat, short, "Hi.").field)
    assert.are.equal(0, begun)
  end)
end)
