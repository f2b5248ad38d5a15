local playbook = require "koine.playbook"
local failures = require "koine.playbook.errors"

local ADD = { id = "call_1", name = "add", arguments = { a = 2, b = 3 } }

local function message(id, content) return { step = id, type = "message", content = content or "text " .. id } end
local function calls(id, list) return { step = id, type = "tool_calls", tool_calls = list or { ADD } } end

local function raised(class, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "an error was expected")
  assert.are.equal(class, err.class, tostring(err))
  return err
end

-- The error for a step that cannot be; its text names the field and what was expected.
local function invalid(step)
  local err = raised("InvalidPlaybookError", playbook.step, step)
  assert.is_truthy(tostring(err):find(err.field .. ": " .. err.expected .. " expected, got ", 1, true), tostring(err))
  return err
end

-- The deltas of one streamed call, then its Response.
local function streamed(book)
  local deltas = {}
  local response, err = book:chat("hi", { stream = true, on_delta = function(delta) deltas[#deltas + 1] = delta end })
  return deltas, response, err
end

describe("a step", function()
  it("is a message, tool calls with or without text, an error or a turn", function()
    for kind, step in pairs {
      message = message(1), tool_calls = calls(1),
      error = { step = 1, type = "error", error = { status = 429 } },
      turn = { step = 1, type = "turn", content = "hi" },
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
    local text = 'step.type: "message", "tool_calls", "error" or "turn" expected, got "song"'
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

  it("rejects what it does not know, at every depth", function()
    assert.are.equal("step.contents", invalid({ step = 1, type = "message", content = "x", contents = "y" }).field)
    assert.are.equal("step.usage.tokens",
      invalid({ step = 1, type = "message", content = "x", usage = { tokens = 1 } }).field)
    assert.are.equal("step.stop_reason",
      invalid({ step = 1, type = "turn", content = "x", stop_reason = "done" }).field)
    assert.are.equal("step.content[2].text",
      invalid({ step = 1, type = "turn", content = { { type = "text", text = "a" }, { type = "text" } } }).field)
    assert.are.equal("step.content[1].type",
      invalid({ step = 1, type = "turn", content = { { type = "song" } } }).field)
    assert.are.equal("step.content[1].arguments",
      invalid({ step = 1, type = "turn", content = { { type = "tool_use", name = "f", arguments = "{}" } } }).field)
    assert.are.equal("step.content", invalid({ step = 1, type = "turn" }).field)
    assert.are.equal("step.fault.reset_after",
      invalid({ step = 1, type = "turn", content = "x", fault = { reset_after = 5 } }).field)
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

describe("scripted turns", function()
  local function turn(fields)
    fields.step, fields.type = 1, "turn"
    return playbook { fields }
  end

  it("stream text in fragments of whole characters", function()
    local deltas, response = streamed(turn { content = "aé漢字b", chunk = 2 })
    local pieces = {}
    for i = 2, #deltas - 1 do
      assert.are.equal("text_delta", deltas[i].type)
      assert.is_truthy(utf8.len(deltas[i].text))
      pieces[#pieces + 1] = deltas[i].text
    end
    assert.are.equal("text_start", deltas[1].type)
    assert.are.equal("text_end", deltas[#deltas].type)
    assert.is_true(#pieces >= 3)
    assert.are.equal("aé漢字b", table.concat(pieces))
    assert.are.equal("aé漢字b", response:text())
  end)

  it("stream thinking, text and parallel calls in turns", function()
    local deltas, response = streamed(turn { interleave = true, chunk = 4, content = {
      { type = "thinking", thinking = "hm", signature = "sig" }, { type = "text", text = "ok" },
      { type = "tool_use", id = "a", name = "one", arguments_json = '{"x": 1}' },
      { type = "tool_use", id = "b", name = "two", arguments = {} } } })
    local order = {}
    for i, delta in ipairs(deltas) do
      order[i] = delta.type .. (delta.tool_call_id and ":" .. delta.tool_call_id or "")
    end
    assert.are.same({ "thinking_start", "thinking_delta", "thinking_end", "text_start", "text_delta", "text_end",
      "tool_use_start:a", "tool_use_start:b", "tool_use_delta:a", "tool_use_delta:b", "tool_use_delta:a",
      "tool_use_end:a", "tool_use_end:b" }, order)
    assert.are.equal("one", deltas[7].tool_name)
    assert.are.equal('{"x"', deltas[9].argument_delta)
    assert.are.same({ x = 1 }, response.content[3].arguments)
    assert.are.equal('{"x": 1}', response.content[3].arguments_json)
    assert.are.equal("sig", response.content[1].signature)
  end)

  it("keep arguments that are no JSON object, and say so", function()
    for _, bytes in ipairs { '{"x": 1', "[1]", '"x"' } do
      local call = turn { content = { { type = "tool_use", id = "a", name = "f", arguments_json = bytes } } }
        :chat "hi".tool_calls[1]
      assert.are.same({}, call.arguments)
      assert.are.equal(bytes, call.arguments_json)
      assert.is_string(call.arguments_error)
    end
  end)

  it("set usage, stop reason, model and id", function()
    local response = turn { content = "x", stop_reason = "max_tokens", model = "m2", id = "r1", stop_sequence = "END",
      usage = { input_tokens = 7, output_tokens = 3, cache_read_tokens = 2, reasoning_tokens = 1 } }:chat "hi"
    assert.are.equal("max_tokens", response.stop_reason)
    assert.are.equal("m2", response.model)
    assert.are.equal("r1", response.id)
    assert.are.equal("END", response.stop_sequence)
    assert.are.equal(7, response.usage.input_tokens)
    assert.are.equal(2, response.usage.cache_read_tokens)
    assert.are.equal("refusal", turn { content = { { type = "refusal", text = "No." } } }:chat "hi".stop_reason)
  end)

  it("are the same streamed and plain", function()
    local fields = { content = { { type = "text", text = "a" },
      { type = "tool_use", name = "f", arguments = { x = 1 } } } }
    local plain = turn(fields):chat "hi":to_table()
    local _, response = streamed(turn(fields))
    assert.are.same(plain, response:to_table())
  end)

  it("say nothing at all", function()
    local deltas, response = streamed(turn { content = "" })
    assert.are.same({}, deltas)
    assert.are.same({}, response.content)
  end)

  it("wait when told to", function()
    local wait = require "koine.wait"
    local park, slept = wait.park, {}
    wait.park = function(_, seconds) slept[#slept + 1] = seconds return false end
    finally(function() wait.park = park end)
    turn { content = "x", fault = { delay_ms = 250 } }:chat "hi"
    turn { error = { status = 500 }, fault = { delay_ms = 50 } }:chat "hi"
    assert.are.same({ 0.25, 0.05 }, slept)
  end)
end)

describe("scripted errors", function()
  local function failing(err) return playbook { { step = 1, type = "error", error = err } }:chat "hi" end

  it("are errors of the class that their status has", function()
    for status, class in pairs { [400] = "RequestError", [401] = "AuthenticationError", [403] = "AuthenticationError",
      [402] = "RateLimitError", [404] = "RequestError", [429] = "RateLimitError", [500] = "ServerError",
      [503] = "ServerError", [504] = "ServerError", [529] = "ServerError" } do
      local response, err = failing { status = status, message = "no", type = "some_type" }
      assert.is_nil(response)
      assert.are.equal(class, err.class)
      assert.are.equal(status, err.status_code)
      assert.are.equal("no", err.message)
      assert.are.equal("some_type", err.code)
      assert.are.equal("playbook", err.provider)
    end
  end)

  it("carry headers and bodies", function()
    local _, err = failing { status = 429, body = "slow down",
      headers = { ["retry-after"] = "2", ["request-id"] = "r" } }
    assert.are.equal(2, err.retry_after)
    assert.are.equal("r", err.request_id)
    assert.are.equal("slow down", err.raw)
    assert.is_truthy(err.message:find("slow down", 1, true))
  end)

  it("may have no wire at all", function()
    local _, err = failing { kind = "connect", message = "refused" }
    assert.are.equal("ConnectionError", err.class)
    assert.is_nil(err.status_code)
  end)

  it("break a stream off after some deltas, with the part that came", function()
    local book = playbook { { step = 1, type = "turn", chunk = 1,
      content = { { type = "text", text = "abc" }, { type = "tool_use", id = "a", name = "f", arguments = { x = 1 } } },
      stream_error = { type = "overloaded_error", message = "busy", after = 4 } } }
    local deltas, response, err = streamed(book)
    assert.are.equal(7, #deltas)
    assert.is_nil(response)
    assert.are.equal("ServerError", err.class)
    assert.are.equal(529, err.status_code)
    assert.are.equal("busy", err.message)
    assert.are.equal("abc", err.partial:text())
    assert.is_true(err.partial.partial)
    assert.are.equal("error", err.partial.stop_reason)
    assert.are.equal("{", err.partial.tool_calls[1].arguments_json)
    assert.is_string(err.partial.tool_calls[1].arguments_error)
    book:reset()
    local plain, same = book:chat "hi"
    assert.is_nil(plain)
    assert.are.equal("busy", same.message)
  end)
end)
