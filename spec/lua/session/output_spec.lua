-- Sessions whose last answer shall have a shape (options.output), by loopback.

local kit = require "spec.lua.session.kit"
local koine = require "koine"
local output_kit = require("spec.lua.call.output.kit").new()
local repository = require "spec.lua.system.repository"

local session = koine.session
local PERSON, ADA, WRONG = output_kit.PERSON, output_kit.ADA, '{"name":"Ada"}'

describe("a session with a shape to give", function()
  local repo, gpt, server

  setup(function() server = output_kit.start() end)
  teardown(output_kit.stop)
  before_each(function()
    assert(server:reset())
    repo = repository.with { ["a.txt"] = "a\n" }
    gpt = output_kit.gpt { retry = false }
  end)
  after_each(function() repo:close() end)

  local function inputs(given, output)
    local all = kit.inputs(repo.dir, given)
    all.model = "gpt-4o"
    all.options = all.options or {}
    all.options.output = output or { schema = PERSON, mode = "native" }
    return all
  end

  local function run(answers, given, output)
    assert(server:script(answers))
    return session.run(gpt, inputs(given, output))
  end

  local USAGE = { input_tokens = 10, output_tokens = 5 }

  it("runs its tools first, and has the value in its result", function()
    local result = run({ { content = { kit.call("c1", "read_file", { path = "a.txt" }) } }, { content = ADA } },
      { allowed_tools = { "read_file" } })
    assert.are.equal("completed", result.outcome, result.reason)
    assert.are.same({ name = "Ada", age = 36 }, result.output)
    assert.are.equal("native", result.output_mode)
    assert.is_nil(result.output_error)
    assert.are.equal("tool_call tool_result output", kit.kinds(result.events))
  end)

  it("asks once more by itself, and counts both answers", function()
    local result = run({ { content = WRONG, usage = USAGE }, { content = ADA, usage = USAGE } })
    assert.are.same({ "completed", "Ada" }, { result.outcome, result.output.name })
    assert.are.same({ 20, 10, 2 }, { result.usage.tokens_in, result.usage.tokens_out, result.usage.model_calls })
    assert.are.equal(1, #result.events)
  end)

  it("asks as often as it is told to", function()
    local output = { schema = PERSON, mode = "native", repair = 0 }
    assert.are.equal("error", run({ { content = WRONG } }, nil, output).outcome)
    assert.are.equal(1, #output_kit.requests())
  end)

  it("is an error of kind output when the value does not fit in the end", function()
    local result = run { { content = WRONG }, { content = "{}" } }
    assert.are.same({ "error", "output", "invalid" }, { result.outcome, result.error.kind, result.error.code })
    assert.are.equal("invalid", result.output_error.code)
    assert.is_truthy(result.reason:find("does not fit", 1, true))
    assert.is_nil(result.output)
    assert.are.equal("{}", result.error.partial:text())
    assert.are.equal("{}", result.events[1].content)
  end)

  it("is an error when the answer was cut off, and says so", function()
    local result = run { { content = ADA, stop_reason = "max_tokens" } }
    assert.are.same({ "error", "truncated", true }, { result.outcome, result.output_error.code, result.truncated })
    assert.are.equal(1, #output_kit.requests())
  end)

  it("is blocked when the model refuses", function()
    local result = run { { content = { { type = "refusal", text = "No." } } } }
    assert.are.same({ "blocked", "refused" }, { result.outcome, result.output_error.code })
  end)

  it("has no value where a limit ends it before there is one", function()
    local result = run({ { content = { kit.call("c1", "read_file", { path = "a.txt" }) } } },
      { allowed_tools = { "read_file" }, max_rounds = 1 })
    assert.are.same({ "error", "limit:max_rounds" }, { result.outcome, result.reason })
    assert.is_nil(result.output_error)
  end)

  it("takes the caller's check", function()
    local seen = {}
    local output = { schema = PERSON, mode = "native", check = function(value)
      seen[#seen + 1] = value.age
      return value.age > 40, "too young"
    end }
    local result = run({ { content = ADA }, { content = '{"name":"Ada","age":41}' } }, nil, output)
    assert.are.same({ 36, 41 }, seen)
    assert.are.equal(41, result.output.age)
  end)

  it("ends as an error when the time is over during the second answer, with what the first one used", function()
    local result = run({ { content = WRONG, usage = USAGE }, { content = ADA, fault = { delay_ms = 5000 } } },
      { options = { timeout = { total = 1 } } })
    assert.are.same({ "error", "timeout" }, { result.outcome, result.error.kind })
    assert.are.equal(2, #output_kit.requests())
    assert.are.same({ 10, 5, true }, { result.usage.tokens_in, result.usage.tokens_out, result.usage.incomplete })
    assert.is_nil(result.output)
  end)

  it("is cancelled when it is closed during the second answer", function()
    assert(server:script { { content = WRONG }, { content = ADA, fault = { delay_ms = 5000 } } })
    local opened, first = session.events(gpt, inputs()), nil
    koine.run(function()
      koine.gather(function() first = opened:next() end, function()
        repeat koine.sleep(0.01) until #output_kit.requests() == 2
        opened:close()
      end)
    end)
    local result = opened:result()
    assert.is_nil(first)
    assert.are.same({ "error", "cancelled" }, { result.outcome, result.error.kind })
    assert.is_nil(result.output)
    assert.is_nil(result.output_error)
  end)

  it("raises for what the option may not be, before anything is sent", function()
    local err = kit.raised(session.run, gpt, inputs(nil, { schema = { type = "objekt" } }))
    assert.are.equal("output.schema.type", err.field)
    assert.are.equal(0, #output_kit.requests())
  end)

  it("makes results with a value for providers of one's own", function()
    local made = session.result { outcome = "completed", output = false, output_mode = "tool" }
    assert.is_false(made.output)
    assert.are.equal("tool", made.output_mode)
  end)
end)
