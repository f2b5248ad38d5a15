-- How an agent handles the calls of an answer, and answers that are paused, cut or refused.

local errors = require "koine.data.errors"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local agent = koine.agent
local add, assert_legal, calls, make, play = kit.add, kit.check_history, kit.calls, kit.make, kit.play
local kinds, roles, use = kit.kinds, kit.roles, kit.use
local shape = kit.shape

describe("a call", function()
  -- Returns the result of one call that the model is sent, and how often the tool ran.
  local function answered(block, tool, more)
    local ran = 0
    local counted = add(function(...)
      ran = ran + 1
      return (tool or function() return "ok" end)(...)
    end, more)
    local result = assert(make(play(calls(block), { content = "x" }), { tools = { counted } }):run "Go")
    assert_legal(result.messages)
    local told = result.messages[3].content[1]
    return told.content, told.is_error, ran, result
  end

  it("of an unknown tool is answered, not run", function()
    local content, is_error, ran, result = answered(use("c1", {}, "remove"))
    assert.are.same({ 'unknown tool "remove"; there are: add', true, 0 }, { content, is_error, ran })
    local call = result.calls[1]
    assert.are.same({ content, false, nil }, { call.reason, call.executed, call.blocked })
  end)

  it("with arguments that are no JSON object is answered, not run", function()
    local content, is_error, ran = answered { type = "tool_use", id = "c1", name = "add", arguments_json = '{"a": 1,' }
    assert.is_truthy(content:find("^the arguments are no JSON object: "))
    assert.are.same({ true, 0 }, { is_error, ran })
  end)

  it("with arguments nested too deeply for a request is answered, not run", function()
    local json = '{"a":' .. ("["):rep(110) .. ("]"):rep(110) .. "}"
    local content, _, ran, result = answered { type = "tool_use", id = "c1", name = "add", arguments_json = json }
    assert.are.equal("the arguments are no JSON object: nested deeper than 100 levels", content)
    assert.are.equal(0, ran)
    assert.are.equal(json, result.messages[2].content[1].arguments_json)
  end)

  it("with arguments that do not fit is told which field", function()
    local content, is_error, ran = answered(use("c1", { a = 1, b = "two" }))
    assert.are.same({ 'bad arguments: arguments.b: integer expected, got "two"', true, 0 }, { content, is_error, ran })
  end)

  it("that raises is answered with the message, and the run goes on", function()
    local content, is_error, ran, result = answered(use "c1", function() error("no paper", 0) end)
    assert.are.same({ "no paper", true, 1, "completed" }, { content, is_error, ran, result.status })
  end)

  it("that takes too long is answered as timed out", function()
    local content, is_error = answered(use "c1", function() koine.sleep(3600) end, { timeout = 0.01 })
    assert.are.same({ "timed out after 0.01 s", true }, { content, is_error })
  end)

  it("that was refused is in the result's calls", function()
    local _, is_error, _, result = answered(use "c1", function() return "no", { blocked = true, reason = "policy" } end)
    assert.is_true(is_error)
    assert.are.same({ { id = "c1", name = "add", arguments_json = '{"a":2,"b":3}', is_error = true, blocked = true,
      reason = "policy", executed = true } }, result.calls)
  end)

  it("may answer with blocks; the event has their text", function()
    local blocks = { { type = "text", text = "a" }, { type = "text", text = "b" } }
    local book, seen = play(calls(use "c1"), { content = "x" }), {}
    local result = assert(make(book, { tools = { add(function() return blocks end) },
      on_event = function(event) seen[#seen + 1] = event end }):run "Go")
    assert.are.same(blocks, result.messages[3].content[1].content)
    assert.are.equal("a\nb", seen[2].content)
  end)

  it("gets its arguments as a copy, the run and its id", function()
    local seen
    local _, _, _, result = answered(use "c1", function(args, ctx)
      args.a, seen = 99, ctx
      return "ok"
    end)
    assert.are.same({ id = "c1", name = "add", arguments_json = '{"a":2,"b":3}' }, seen.call)
    assert.are.equal("koine.agent.run", getmetatable(seen.run).__name)
    assert.are.equal(2, result.messages[2].content[1].arguments.a)
  end)

  it("that meets trouble of the machine ends the run with that error", function()
    for _, parallel in ipairs { false, true } do
      local err = errors.new { kind = "executor", message = "unreachable" }
      local tool = add(function(args) return args.a == 2 and error(err) or "fine" end)
      local book = play(calls(use("c1", { a = 1, b = 1 }), use "c2", use("c3", { a = 3, b = 3 })), { content = "x" })
      local result, got, run = make(book, { tools = { tool }, parallel = parallel }):run "Go"
      assert.is_nil(result)
      assert.are.equal(err, got)
      local so_far = run:summary()
      assert.are.equal("failed", so_far.status)
      assert.are.equal(err, so_far.error)
      assert_legal(so_far.messages)
      local results = so_far.messages[3].content
      assert.are.equal("fine", results[1].content)
      assert.is_truthy(results[2].content:find "^interrupted: ")
      -- going on: the started call is not run again
      result = assert(run:result())
      assert.is_truthy(result.messages[3].content[2].content:find "^interrupted: ")
      assert.are.equal("completed", result.status)
    end
  end)
end)

describe("an answer", function()
  it("that the provider paused is sent back and becomes one message", function()
    local book = play({ content = "One, ", stop_reason = "pause_turn" }, { content = "two, ", stop_reason =
      "pause_turn" }, { content = { { type = "text", text = "three." }, use "c1" } }, { content = "Done." })
    local result = assert(make(book):run "Count")
    assert.are.equal("user assistant user assistant", roles(result.messages))
    assert.are.equal("text:One, , text:two, , text:three., tool_use:add", shape(result.messages[2]))
    assert.are.equal("text:One, ", shape(book.call_log[2].messages[2]))
    assert.are.equal("text:One, , text:two, ", shape(book.call_log[3].messages[2]))
    assert.are.equal(4, result.steps)
    assert_legal(result.messages)
  end)

  it("that is paused with calls has them answered first", function()
    local book = play({ content = "One, ", stop_reason = "pause_turn" }, { content = { use "c1" }, stop_reason =
      "pause_turn" }, { content = "Done." })
    local result = assert(make(book):run "Go")
    assert.are.equal("user assistant user assistant", roles(result.messages))
    assert.are.equal("text:One, , tool_use:add", shape(result.messages[2]))
    assert.are.equal("text:Done.", shape(result.messages[4]))
    assert_legal(result.messages)
  end)

  it("that is paused for ever is an error in the end", function()
    local answers = {}
    for i = 1, 40 do answers[i] = { content = "x", stop_reason = "pause_turn" } end
    local result, err, run = make(play(table.unpack(answers))):run "Count"
    assert.is_nil(result)
    assert.are.equal("limit", err.kind)
    assert.are.equal(17, run:summary().steps)
    assert_legal(run:summary().messages)
  end)

  it("that stops for tools and calls none is a protocol error", function()
    local base = koine.custom_adapter { name = "odd", options = { model = "m" }, open = function()
      return { next = function() end, response = function()
        return { model = "m", stop_reason = "tool_use", content = "x", usage = { input_tokens = 1, output_tokens = 1 } }
      end }
    end }
    local result, err, run = agent { adapter = base }:run "Hi"
    assert.is_nil(result)
    assert.are.equal("protocol", err.kind)
    assert.are.equal("user", roles(run:summary().messages))
    assert.are.equal(1, run:summary().usage.output_tokens)
  end)

  it("that was cut off is the end; its calls are answered, not run", function()
    local ran = 0
    local tool = add(function() ran = ran + 1 end)
    local book = play { content = { { type = "text", text = "So" }, use "c1",
      { type = "tool_use", id = "c2", name = "add", arguments_json = '{"a": 1' } }, stop_reason = "max_tokens" }
    local result = assert(make(book, { tools = { tool } }):run "Go")
    assert.are.equal("completed", result.status)
    assert.are.equal("max_tokens", result.stop_reason)
    assert.are.equal("So", result.text)
    assert.are.equal(0, ran)
    assert_legal(result.messages)
    assert.are.equal("not run: the answer was cut off (max_tokens)", result.messages[3].content[2].content)
    assert.are.same({}, result.calls)
  end)

  it("that the model or a filter refuses is the end", function()
    local result = assert(make(play { content = { { type = "refusal", text = "No." } }, stop_reason = "refusal" })
      :run "Go")
    assert.are.equal("completed", result.status)
    assert.are.equal("refusal", result.stop_reason)
    for _, reason in ipairs { "sensitive", "context_overflow", "stop_sequence", "max_tokens" } do
      result = assert(make(play { content = "So", stop_reason = reason }):run "Go")
      assert.are.same({ "completed", reason }, { result.status, result.stop_reason })
    end
  end)

  it("that fails leaves the history as before; another step tries again", function()
    local book = play(calls(use "c1"), { error = { status = 500, message = "oops" } },
      { stream_error = { type = "api_error", message = "later" }, content = "half an ans" }, { content = "Done." })
    local run = make(book):start "Go"
    assert.are.equal("tool_call", kinds(run:step()))
    assert.are.equal("tool_result", kinds(run:step()))
    for _ = 1, 2 do
      local made, err = run:step()
      assert.is_nil(made)
      assert.are.equal("ServerError", err.class)
      assert.are.equal("failed", run:summary().status)
      assert.are.equal("user assistant user", roles(run:summary().messages))
    end
    local result = assert(run:result())
    assert.are.equal("Done.", result.text)
    assert.is_nil(result.error)
    assert_legal(result.messages)
  end)

  it("that says nothing is an end too", function()
    local result = assert(make(play { content = {} }):run "Go")
    assert.are.same({ "completed", "", 0 }, { result.status, result.text, result.events })
  end)
end)
