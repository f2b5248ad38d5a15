-- The caller's own check (output.check): called once for each answer, and what it raises is the caller's.

local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"
local schema = require "koine.data.schema"

local ADA = kit.ADA

local RAISED = { "mine" }
local called

local function output(what, more)
  called = 0
  local made = { schema = kit.PERSON, mode = "native", repair = 2, check = function()
    called = called + 1
    error(what, 0)
  end }
  for name, value in pairs(more or {}) do made[name] = value end
  return { output = made }
end

-- What f raises; fails where it raises nothing.
local function raised(f, ...)
  local results = table.pack(pcall(f, ...))
  assert.is_false(results[1])
  return results[2]
end

describe("a check that refuses a value", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  it("may say why in words, or in what has words of its own", function()
    local err = koine.errors.new { kind = "other", message = "gone" }
    for _, case in ipairs { { "too old", "too old" }, { 36, "36" }, { err, "gone" },
      { nil, "the caller's check refused the value" }, { {}, "the caller's check refused the value" },
      { print, "the caller's check refused the value" } } do
      kit.server:script { { content = ADA } }
      local r = assert(kit.gpt():chat("Ada?", { output = { schema = kit.PERSON, mode = "native",
        check = function() return nil, case[1] end } }))
      assert.are.same({ "invalid", case[2] }, { r.output_error.code, r.output_error.message })
    end
  end)
end)

describe("a check that raises", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  it("has its error come out of chat and object, unchanged, and is called once", function()
    local adapter = kit.gpt()
    for _, method in ipairs { "chat", "object" } do
      for _, what in ipairs { RAISED, "words", 5, false } do
        assert(kit.server:reset())
        kit.server:script { { content = ADA }, { content = ADA } }
        assert.are.equal(what, raised(adapter[method], adapter, "Who?", output(what)))
        assert.are.same({ 1, 1 }, { called, #kit.requests() })
      end
    end
  end)

  it("has it come out of a stream, the same every time, and is not called again", function()
    kit.server:script { { content = ADA }, { content = ADA } }
    local stream <close> = assert(kit.gpt():open("Who?", output(RAISED)))
    assert.are.equal(RAISED, raised(function()
      for _ in stream:deltas() do end -- luacheck: ignore
    end))
    for _, method in ipairs { "next", "response", "next" } do
      assert.are.equal(RAISED, raised(stream[method], stream))
    end
    assert.are.same({ name = "Ada", age = 36 }, stream:output())
    assert.are.same({ 1, 1 }, { called, #kit.requests() })
    stream:close()
    assert.are.equal(RAISED, raised(stream.response, stream))
  end)

  it("has it come out of an adapter in Lua, and of a fallback, whatever it is", function()
    local wrong_use = raised(schema.check, { type = "objekt" }, "mine")
    assert.are.equal("ArgumentError", wrong_use.class)
    for _, what in ipairs { RAISED, wrong_use } do
      local book = koine.testing.playbook { { step = 1, type = "message", content = ADA } }
      assert.are.equal(what, raised(book.chat, book, "Who?", output(what)))
      assert.are.equal(1, called)
      for _, streamed in ipairs { true, false } do
        kit.server:script { { error = { status = 529, message = "busy" } }, { content = ADA } }
        local both = koine.fallback { kit.claude { retry = false }, kit.gpt(), kit.gpt() }
        local opts = output(what)
        opts.stream = streamed
        assert.are.equal(what, raised(both.chat, both, "Who?", opts))
        assert.are.equal(1, called)
      end
    end
  end)

  it("has it come out of a conversation, whose history stays as it was", function()
    kit.server:script { { content = ADA } }
    local talk = koine.conversation(kit.gpt())
    assert.are.equal(RAISED, raised(talk.ask, talk, "Who?", output(RAISED)))
    assert.are.equal(0, #talk.history)
  end)

  it("is called once for each answer that fits the schema, and for no other", function()
    local values = {}
    local function check(value)
      values[#values + 1] = value.age
      return value.age > 40, "too young"
    end
    kit.server:script { { content = ADA, chunk = 3 }, { content = '{"name":"Ada"}' },
      { content = '{"name":"Ada","age":41}' } }
    local stream <close> = assert(kit.gpt():open("Who?", output(nil, { check = check })))
    for _ in stream:deltas() do end -- luacheck: ignore
    assert.are.equal(41, stream:response().output.age)
    assert.are.equal(stream:response(), stream:response())
    stream:output()
    assert.are.same({ 36, 41 }, values)
  end)
end)

describe("a check in a task", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(function() assert(kit.server:reset()) end)

  it("has its error come out of an agent, which can go on", function()
    kit.server:script { { content = ADA }, { content = ADA } }
    local agent = koine.agent { adapter = kit.gpt(), options = output(RAISED) }
    local run = agent:start "Who?"
    assert.are.equal(RAISED, raised(run.step, run))
    assert.are.equal(1, called)
    assert.are.equal(RAISED, raised(run.step, run))
    assert.are.same({ 2, 2 }, { called, #kit.requests() })
  end)

  it("may wait, and close the stream in a task meanwhile", function()
    kit.server:script { { content = ADA }, { content = ADA } }
    local stream, result, err
    local opts = output(nil, { check = function()
      koine.sleep(0.01)
      return false, "no"
    end })
    koine.run(function()
      stream = assert(kit.gpt():open("Who?", opts))
      koine.gather(function() result, err = stream:response() end, function()
        koine.sleep(0.005)
        stream:close()
      end)
    end)
    assert.is_nil(result)
    assert.are.equal("cancelled", err.kind)
  end)
end)
