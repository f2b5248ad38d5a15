-- koine.testing.playbook: steps, the constructor, chats, helpers.

local playbook = require "koine.testing.playbook"
local failures = require "koine.testing.playbook.errors"
local raised = require("spec.support.raised").as

local ADD = { id = "call_1", name = "add", arguments = { a = 2, b = 3 } }

local function message(id, content) return { step = id, type = "message", content = content or "text " .. id } end
local function calls(id, list) return { step = id, type = "tool_calls", tool_calls = list or { ADD } } end

-- The error for a step that cannot be; its text names the field and what was expected.
local function invalid(step)
  local err = raised("InvalidPlaybookError", playbook.step, step)
  local text = tostring(err)
  assert.is_truthy(text:find(err.field .. ": " .. err.expected .. " expected, got ", 1, true)
    or text:find(err.field .. ": unknown field; ", 1, true), text)
  return err
end

describe("a step", function()
  it("is a message, tool calls with or without text, an error or an answer", function()
    for kind, step in pairs {
      message = message(1), tool_calls = calls(1),
      error = { step = 1, type = "error", error = { status = 429 } },
      answer = { step = 1, type = "answer", content = "hi" },
    } do
      local made = playbook.step(step)
      assert.is_true(made:is(kind))
      assert.is_false(made:is "other")
      assert.are.equal(1, made.step)
    end
    local with_text = calls(1)
    with_text.content = "Let me see."
    assert.are.equal("Let me see.", playbook.step(with_text).content)
  end)

  it("names the field and the rule that it breaks", function()
    for _, case in ipairs {
      { "step.stop_reason", '"end_turn", "tool_use", "max_tokens", "stop_sequence"', { step = 1, type = "message",
        content = "x", stop_reason = "done" } },
      { "step.content", "either content or error", { step = 1, type = "answer" } },
      { "step.tool_calls[1].id", "non-empty string", { step = 1, type = "tool_calls",
        tool_calls = { { name = "a" } } } },
    } do
      local err = invalid(case[3])
      assert.are.equal(case[1], err.field)
      assert.is_truthy(err.expected:find(case[2], 1, true), err.expected)
      assert.is_truthy(err.message:find(case[1] .. ": " .. case[2], 1, true), err.message)
    end
    assert.is_truthy(invalid({ step = 1, type = "answer", content = "x", error = {} }).message:find "got both$")
  end)

  it("plays white space", function()
    assert.are.equal("\n", playbook.step({ step = 1, type = "message", content = "\n" }).content)
  end)

  it("names the unknown field and those that there are", function()
    local err = invalid { step = 1, type = "message", content = "x", txt = "y" }
    assert.are.equal("step.txt", err.field)
    assert.is_truthy(err.message:find(
      "step.txt: unknown field; one of content, fault, step, stop_reason, thinking, type, usage", 1, true), err.message)
    err = invalid { step = 1, type = "message", content = "x", usage = { output_token = 5 } }
    assert.are.same({ "step.usage.output_token", "output_tokens" }, { err.field, err.expected })
    assert.is_truthy(err.message:find('did you mean "output_tokens"?', 1, true), err.message)
  end)

  it("prints as its id and type", function()
    assert.are.equal("Step #42 (message)", tostring(playbook.step(message(42))))
    assert.are.equal("Step #7 (tool_calls)", tostring(playbook.step(calls(7))))
  end)

  it("never changes", function()
    local given = calls(1)
    local step = playbook.step(given)
    raised("ArgumentError", function() step.content = "mine" end)
    step.tool_calls[1].name = "mine"
    given.tool_calls[1] = nil
    assert.are.equal("add", step.tool_calls[1].name)
  end)

  it("needs an id and a type", function()
    assert.are.equal("step", invalid("text").field)
    assert.are.equal("step.step", invalid({ type = "message", content = "x" }).field)
    assert.are.equal("step.step", invalid({ step = "1", type = "message", content = "x" }).field)
    assert.are.equal("step.step", invalid({ step = 1.5, type = "message", content = "x" }).field)
    assert.are.equal("step.type", invalid({ step = 1, content = "x" }).field)
    local err = invalid({ step = 1, type = "song", content = "x" })
    assert.are.equal("step.type", err.field)
    local text = 'step.type: "message", "tool_calls", "error" or "answer" expected, got "song"'
    assert.is_truthy(tostring(err):find(text, 1, true))
  end)

  it("of type message needs text", function()
    for _, content in ipairs { "", 5, {} } do
      assert.are.equal("step.content", invalid({ step = 1, type = "message", content = content }).field)
    end
    assert.are.equal("step.content", invalid({ step = 1, type = "message" }).field)
  end)

  it("of type tool_calls needs calls, each whole", function()
    assert.are.equal("step.tool_calls", invalid({ step = 1, type = "tool_calls" }).field)
    assert.are.equal("step.tool_calls", invalid(calls(1, {})).field)
    local function call(changed) -- ADD with one field changed, nil = left out
      local copy = { id = "c", name = "add", arguments = {} }
      for field, value in pairs(changed) do copy[field] = value ~= "LEFT OUT" and value or nil end
      return invalid(calls(1, { ADD, copy })).field
    end
    for _, field in ipairs { "id", "name" } do
      assert.are.equal("step.tool_calls[2]." .. field, call { [field] = "LEFT OUT" })
      assert.are.equal("step.tool_calls[2]." .. field, call { [field] = 5 })
      assert.are.equal("step.tool_calls[2]." .. field, call { [field] = "" })
    end
    for _, value in ipairs { "LEFT OUT", "{}", { 1, 2 } } do
      assert.are.equal("step.tool_calls[2].arguments", call { arguments = value })
    end
    assert.are.equal("step.tool_calls[1]", invalid(calls(1, { "add" })).field)
  end)

  it("wants arrays without holes and without other keys", function()
    local text = { type = "text", text = "x" }
    local function field(given) return invalid(given).field end
    assert.are.equal("step.tool_calls", field(calls(1, { ADD, nil, ADD })))
    assert.are.equal("step.tool_calls", field(calls(1, { [1] = ADD, [3] = ADD })))
    assert.are.equal("step.tool_calls", field(calls(1, { ADD, other = ADD })))
    for _, content in ipairs { { [1] = text, [3] = text }, { [2] = text }, text } do
      assert.are.equal("step.content", field { step = 1, type = "answer", content = content })
    end
    local call = { id = "c", name = "f", arguments = { [3] = 1 } }
    assert.are.equal("step.tool_calls[1].arguments", field(calls(1, { call })))
  end)

  it("rejects what it does not know, at every depth", function()
    assert.are.equal("step.contents", invalid({ step = 1, type = "message", content = "x", contents = "y" }).field)
    assert.are.equal("step.usage.tokens",
      invalid({ step = 1, type = "message", content = "x", usage = { tokens = 1 } }).field)
    assert.are.equal("step.stop_reason",
      invalid({ step = 1, type = "answer", content = "x", stop_reason = "done" }).field)
    assert.are.equal("step.content[2].text",
      invalid({ step = 1, type = "answer", content = { { type = "text", text = "a" }, { type = "text" } } }).field)
    assert.are.equal("step.content[1].type",
      invalid({ step = 1, type = "answer", content = { { type = "song" } } }).field)
    assert.are.equal("step.content[1].arguments",
      invalid({ step = 1, type = "answer", content = { { type = "tool_use", name = "f", arguments = "{}" } } }).field)
    assert.are.equal("step.content", invalid({ step = 1, type = "answer" }).field)
    assert.are.equal("step.fault.reset_after",
      invalid({ step = 1, type = "answer", content = "x", fault = { reset_after = 5 } }).field)
  end)
end)

describe("the constructor", function()
  it("takes steps as JSON text or as a list, alone or among the options of adapters", function()
    local text = '[{"step": 1, "type": "message", "content": "from JSON"}]'
    local list = { message(1, "from JSON") }
    for _, given in ipairs { text, { steps = text }, list, { steps = list } } do
      assert.are.equal("from JSON", playbook(given):chat "hi":text())
    end
    local book = playbook { steps = {}, model = "m", key = "k", base_url = "http://localhost:1", max_tokens = 5,
      timeout = 3, retry = { max = 1 } }
    assert.are.equal("m", book:model_name())
  end)

  it("takes no steps", function()
    assert.is_true(playbook {}:finished())
    assert.is_true(playbook "[]":finished())
    assert.is_true(playbook { steps = {} }:finished())
  end)

  it("rejects bad JSON, other shapes, two steps of one id, and unknown options", function()
    assert.are.equal("steps", raised("InvalidPlaybookError", playbook, "[{").field)
    assert.are.equal("steps", raised("InvalidPlaybookError", playbook, '{"step": 1}').field)
    assert.are.equal("steps", raised("InvalidPlaybookError", playbook, '"text"').field)
    assert.are.equal("steps", raised("InvalidPlaybookError", playbook, { steps = { step = 1 } }).field)
    assert.are.equal("steps", raised("InvalidPlaybookError", playbook, { model = "m" }).field)
    for _, list in ipairs { { [1] = message(1), [3] = message(2) }, { message(1), other = message(2) } } do
      assert.are.equal("steps", raised("InvalidPlaybookError", playbook, { steps = list }).field)
      assert.are.equal("steps", raised("InvalidPlaybookError", playbook, list).field)
    end
    assert.are.equal("steps", raised("InvalidPlaybookError", playbook, { nil, message(1) }).field)
    assert.are.equal("steps[1].step", raised("InvalidPlaybookError", playbook, '[{"type": "message"}]').field)
    local err = raised("InvalidPlaybookError", playbook, { message(1), message(1) })
    assert.are.equal("steps[2].step", err.field)
    raised("ArgumentError", playbook, { steps = {}, colour = "red" })
    raised("ArgumentError", playbook, 5)
  end)
end)

describe("chat", function()
  it("plays a message: end_turn, no calls, no usage, the configured model", function()
    local response = playbook { steps = { message(1, "Hello") }, model = "m" }:chat "hi"
    assert.are.same({ { type = "text", text = "Hello" } }, response.content)
    assert.are.same({}, response.tool_calls)
    assert.are.equal("end_turn", response.stop_reason)
    assert.are.equal(0, response.usage.input_tokens)
    assert.are.equal(0, response.usage.output_tokens)
    assert.are.equal("m", response.model)
    assert.are.equal("tester-playbook", playbook { message(1) }:chat "hi".model)
  end)

  it("plays tool calls: content holds them in order, with the text before them", function()
    local response = playbook { calls(1) }:chat "hi"
    assert.are.equal("tool_use", response.stop_reason)
    assert.are.equal("", response:text())
    assert.are.equal(1, #response.content)
    assert.is_true(rawequal(response.content[1], response.tool_calls[1]))
    assert.are.same({ a = 2, b = 3 }, response.tool_calls[1].arguments)
    local step = calls(1, { ADD, { id = "call_2", name = "mul", arguments = {} } })
    step.content = "Let me see."
    response = playbook { step }:chat "hi"
    assert.are.equal("Let me see.", response:text())
    assert.are.equal("call_1", response.content[2].id)
    assert.are.equal("call_2", response.content[3].id)
  end)

  it("plays one step after the other", function()
    local book = playbook { message(1, "a"), calls(2), message(3, "c") }
    assert.are.equal(0, book:current_index())
    assert.are.equal("a", book:chat "1":text())
    assert.are.equal(1, book:current_index())
    assert.are.equal("add", book:chat "2".tool_calls[1].name)
    assert.are.equal("c", book:chat "3":text())
    assert.are.equal(3, book:current_index())
  end)

  it("raises beyond the last step", function()
    local book = playbook { message(1), message(2) }
    book:chat "1"
    book:chat "2"
    local err = raised("PlaybookExhaustedError", book.chat, book, "3")
    assert.are.equal(2, err.total_steps)
    assert.are.equal(3, err.calls_made)
    assert.is_truthy(tostring(err):find("the 3rd call, and it has 2 steps", 1, true))
    assert.are.equal(2, #book.call_log)
  end)

  it("keeps no key in its log", function()
    local book = playbook { steps = { message(1) }, key = "sk-secret-0123456789", max_tokens = 5 }
    book:chat "hi"
    assert.are.equal(5, book.call_log[1].max_tokens)
    assert.is_nil(book.call_log[1].key)
  end)

  it("logs what each call was given, as it was then", function()
    local book = playbook { message(7), message(8) }
    local messages = { { role = "user", content = "hi" } }
    local tools = { { name = "add", description = "Adds.", parameters = { type = "object" } } }
    book:chat(messages, { system = "s", tools = tools, tool_choice = "auto", stream = true, max_tokens = 9,
      thinking = "low", cache_retention = "short", metadata = { user_id = "u" }, betas = "b" })
    messages[1].content, tools[1].name = "changed", "changed"
    local entry = book.call_log[1]
    assert.are.equal(7, entry.step)
    assert.are.equal("hi", entry.messages[1].content)
    assert.are.equal("s", entry.system)
    assert.are.equal("add", entry.tools[1].name)
    assert.are.equal("auto", entry.tool_choice)
    assert.is_true(entry.stream)
    assert.are.equal(9, entry.max_tokens)
    assert.are.equal("low", entry.thinking)
    assert.are.equal("short", entry.cache_retention)
    assert.are.equal("u", entry.metadata.user_id)
    assert.are.same({ "b" }, entry.betas)
    book:chat "hi"
    assert.is_false(book.call_log[2].stream)
    assert.is_nil(book.call_log[2].system)
  end)
end)

describe("helpers", function()
  it("count steps", function()
    local book = playbook { message(1), message(2) }
    assert.is_false(book:finished())
    for left = 2, 1, -1 do
      assert.are.equal(left, book:remaining_steps())
      book:chat "hi"
    end
    assert.are.equal(0, book:remaining_steps())
    assert.is_true(book:finished())
  end)

  it("verify that all was consumed", function()
    local book = playbook { message(1), message(2), message(3), message(40), message(50) }
    book:chat "hi"
    book:chat "hi"
    local err = raised("UnconsumedStepsError", book.verify_all_consumed, book)
    assert.is_truthy(tostring(err):find("2/5", 1, true))
    assert.is_truthy(tostring(err):find("3, 40, 50", 1, true))
    assert.are.same({ 3, 40, 50 }, err.remaining)
    for _ = 1, 3 do book:chat "hi" end
    assert.is_true(book:verify_all_consumed())
    assert.is_true(playbook {}:verify_all_consumed())
  end)

  it("reset to the beginning", function()
    local book = playbook { message(1), calls(2) }
    local first = { book:chat "hi":to_table(), book:chat "hi":to_table() }
    book:reset()
    assert.are.equal(0, book:current_index())
    assert.are.same({}, book.call_log)
    assert.are.same(first, { book:chat "hi":to_table(), book:chat "hi":to_table() })
  end)

  it("describe the adapter", function()
    local book = playbook {}
    assert.are.equal("Tester Playbook", book:provider_name())
    assert.are.equal("tester-playbook", book:model_name())
    assert.are.equal(1000000, book:max_context_tokens())
    local models = book:list_models()
    assert.are.equal(1, #models)
    assert.is_true(models[1].supports_tool_use)
    assert.is_false(models[1].supports_vision)
    assert.are.equal(-1, book:count_tokens "hi")
  end)
end)

describe("errors", function()
  it("are of one family", function()
    local book = playbook { message(1) }
    for _, err in ipairs { raised("InvalidPlaybookError", playbook, "["),
      raised("UnconsumedStepsError", book.verify_all_consumed, book),
      raised("PlaybookExhaustedError", playbook {}.chat, playbook {}, "hi") } do
      assert.is_true(err:is "PlaybookError")
      assert.is_true(err:is "Error")
      assert.is_true(err:is(err.class))
      assert.is_false(err:is "ArgumentError")
      assert.are.equal(err.message, tostring(err))
    end
  end)

  it("count in ordinals", function()
    local words = { [1] = "1st", [2] = "2nd", [3] = "3rd", [4] = "4th", [11] = "11th", [12] = "12th", [13] = "13th",
      [21] = "21st", [22] = "22nd", [23] = "23rd", [101] = "101st", [111] = "111th" }
    for n, word in pairs(words) do assert.are.equal(word, failures.ordinal(n)) end
  end)
end)

describe("the canned scenarios", function()
  local scenarios = playbook.scenarios
  local NAMES = { "smoke_cache", "smoke_pricing", "smoke_text", "smoke_thinking", "smoke_tool_use", "smoke_usage" }

  it("are exactly six, each valid", function()
    local names = {}
    for name, steps in pairs(scenarios) do
      names[#names + 1] = name
      assert.are.equal(name == "smoke_cache" and 2 or 1, playbook(steps):remaining_steps())
    end
    table.sort(names)
    assert.are.same(NAMES, names)
  end)

  it("play what their names say", function()
    assert.is_true(#playbook(scenarios.smoke_text):chat "hi":text() > 0)
    assert.is_true(#playbook(scenarios.smoke_usage):chat "hi":text() > 0)
    assert.are.equal(0, playbook(scenarios.smoke_pricing):chat "hi".usage.output_tokens)
    local call = playbook(scenarios.smoke_tool_use):chat "hi".tool_calls[1]
    assert.are.equal("add", call.name)
    assert.are.same({ a = 2, b = 3 }, call.arguments)
    assert.is_true(#call.id > 0)
    local book = playbook(scenarios.smoke_thinking)
    local response = book:chat("hi", { thinking = "low" })
    assert.are.equal("thinking", response.content[1].type)
    assert.is_true(#response:text() > 0)
    assert.are.equal("low", book.call_log[1].thinking)
    book = playbook(scenarios.smoke_cache)
    book:chat("hi", { cache_retention = "short" })
    book:chat("hi", { cache_retention = "short" })
    assert.is_true(book:verify_all_consumed())
  end)
end)
