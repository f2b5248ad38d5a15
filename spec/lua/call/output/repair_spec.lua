-- The option output.repair: the model is told what is wrong and answers again, by loopback.

local kit = require("spec.lua.call.output.kit").new()

local PERSON, ADA = kit.PERSON, kit.ADA
local WRONG = '{"name":"Ada"}'

describe("repair", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local ask = kit.ask

  it("asks again with what is wrong, after the same bytes, and sums what was used", function()
    local usage = { input_tokens = 10, output_tokens = 5 }
    local r = ask(kit.gpt(), { { content = WRONG, usage = usage }, { content = ADA, usage = usage } },
      { mode = "native", repair = 2 })
    assert.are.same({ name = "Ada", age = 36 }, r.output)
    assert.are.equal(2, #kit.requests())
    assert.are.same({ 20, 10 }, { r.usage.input_tokens, r.usage.output_tokens })
    assert.are.equal(2, #r.attempts)
    assert.are.equal("repair", r.attempts[2].kind)
    local first, second = kit.requests()[1].body, kit.requests()[2].body
    assert.are.equal(first:sub(1, -3), second:sub(1, #first - 2))
    local messages = kit.body(2).messages
    assert.are.equal(WRONG, messages[#messages - 1].content)
    assert.is_truthy(messages[#messages].content:find("age", 1, true))
    assert.is_truthy(messages[#messages].content:find("Answer again with the whole corrected JSON.", 1, true))
  end)

  it("tells the words of the caller's check", function()
    local function check(value) return value.age > 40, "age: over 40 expected" end
    local r = ask(kit.gpt(), { { content = ADA }, { content = '{"name":"Ada","age":41}' } },
      { mode = "native", repair = 1, check = check })
    assert.are.equal(41, r.output.age)
    local messages = kit.body(2).messages
    assert.is_truthy(messages[#messages].content:find("age: over 40 expected", 1, true))
  end)

  it("says 1 kB of what is wrong at most", function()
    local function check() return false, ("x"):rep(5000) end
    ask(kit.gpt(), { { content = ADA }, { content = ADA } }, { mode = "native", repair = 1, check = check })
    local messages = kit.body(2).messages
    assert.is_true(#messages[#messages].content < 1200)
  end)

  it("answers the call with an error in mode tool", function()
    local function call(arguments)
      return { type = "tool_use", id = "call_1", name = "person", arguments = arguments }
    end
    local r = ask(kit.claude(), { { content = { call { name = "Ada" } } },
      { content = { call { name = "Ada", age = 36 } } } }, { mode = "tool", repair = 1 })
    assert.are.same({ name = "Ada", age = 36 }, r.output)
    local messages = kit.body(2).messages
    assert.are.equal("tool_use", messages[2].content[1].type)
    local result = messages[3].content[1]
    assert.are.same({ "tool_result", true }, { result.type, result.is_error })
  end)

  it("ends after the rounds that were asked for", function()
    for rounds = 0, 2 do
      assert(kit.server:reset())
      local r = ask(kit.gpt(), { { content = WRONG }, { content = WRONG }, { content = WRONG }, { content = ADA } },
        { mode = "native", repair = rounds })
      assert.are.equal("invalid", r.output_error.code)
      assert.are.equal(rounds + 1, #kit.requests())
    end
  end)

  it("asks again after an empty answer, which is not repeated", function()
    local r = ask(kit.gpt(), { { content = "" }, { content = ADA } }, { mode = "native", repair = 1 })
    assert.are.equal("Ada", r.output.name)
    assert.are.equal(1, #kit.body(2).messages)
  end)

  it("does not ask again after a cut or a refusal", function()
    for _, answer in ipairs { { content = WRONG, stop_reason = "max_tokens" },
      { content = { { type = "refusal", text = "No." } } } } do
      assert(kit.server:reset())
      ask(kit.gpt(), { answer }, { mode = "native", repair = 2 })
      assert.are.equal(1, #kit.requests())
    end
  end)

  it("tells of another answer in a stream, and has only that in the Response", function()
    kit.server:script { { content = WRONG }, { content = ADA } }
    local types = {}
    local stream <close> = assert(kit.gpt():open("Who?", { output = { schema = PERSON, mode = "native", repair = 1 } }))
    for delta in stream.next, stream do types[#types + 1] = delta.type end
    local resets = 0
    for _, name in ipairs(types) do resets = resets + (name == "output_reset" and 1 or 0) end
    assert.are.equal(1, resets)
    local r = assert(stream:response())
    assert.are.equal(ADA, r:text())
    assert.are.equal("Ada", r.output.name)
    assert.are.equal(r, stream:response())
  end)

  it("ends with the error of a round that fails", function()
    kit.server:script { { content = WRONG }, { error = { status = 400, message = "no" } } }
    local r, err = kit.gpt():chat("Who?", { output = { schema = PERSON, mode = "native", repair = 1 } })
    assert.is_nil(r)
    assert.are.equal("invalid_request", err.kind)
  end)

  it("keeps the answer before it, and what that one used, in the error of a round that brought nothing", function()
    kit.server:script { { content = WRONG, usage = { input_tokens = 10, output_tokens = 5 } },
      { error = { status = 400, message = "no" } } }
    local _, err = kit.gpt():chat("Who?", { output = { schema = PERSON, mode = "native", repair = 1 } })
    assert.are.same({ WRONG, "invalid" }, { err.partial:text(), err.partial.output_error.code })
    assert.are.same({ 10, 5 }, { err.partial.usage.input_tokens, err.partial.usage.output_tokens })
  end)

  it("has the attempts of all rounds, and what they used, in the error of one that fails", function()
    local usage = { input_tokens = 10, output_tokens = 5 }
    kit.server:script { { content = WRONG, usage = usage }, { content = ADA, usage = usage, chunk = 4,
      fault = { end_after = 400 } } }
    local r, err = kit.gpt { retry = false }:chat("Who?", { stream = true,
      output = { schema = PERSON, mode = "native", repair = 1 } })
    assert.is_nil(r)
    assert.are.equal("stream_truncated", err.kind)
    assert.are.equal(2, #err.attempts)
    assert.are.equal(10, err.partial.usage.input_tokens)
  end)

  it("sends nothing more once the caller's check closed the stream", function()
    kit.server:script { { content = ADA }, { content = ADA } }
    local stream
    local function check()
      stream:close()
      return false, "no"
    end
    local output = { schema = PERSON, mode = "native", repair = 1, check = check }
    stream = assert(kit.gpt():open("Who?", { output = output }))
    local _, err = stream:response()
    assert.are.equal("cancelled", err.kind)
    assert.are.equal(1, #kit.requests())
  end)

  it("is cancelled where its adapter was closed between two rounds", function()
    kit.server:script { { content = WRONG }, { content = ADA } }
    local adapter = kit.gpt()
    local stream <close> = assert(adapter:open("Who?", { output = { schema = PERSON, mode = "native", repair = 1 } }))
    adapter:close()
    for _ = 1, 2 do
      local r, err = stream:response()
      assert.are.same({ nil, "cancelled", "the adapter was closed" }, { r, err.kind, err.message })
    end
    assert.are.equal(1, #kit.requests())
  end)

  it("goes on with the messages of the call, whatever became of the caller's array", function()
    local messages = { { role = "user", content = "Who?" } }
    kit.server:script { { content = WRONG }, { content = ADA } }
    local r = assert(kit.gpt():chat(messages, { output = { schema = PERSON, mode = "native", repair = 1 },
      on_delta = function() messages[1], messages[2] = 5, { role = "user", content = "And?" } end }))
    assert.are.equal("Ada", r.output.name)
    assert.are.equal("Who?", kit.body(2).messages[1].content)
  end)
end)
