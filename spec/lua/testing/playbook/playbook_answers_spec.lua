-- koine.testing.playbook: scripted answers and errors.

local playbook = require "koine.testing.playbook"

-- The deltas of one streamed call, then its Response.
local function streamed(book)
  local deltas = {}
  local response, err = book:chat("hi", { stream = true, on_delta = function(delta) deltas[#deltas + 1] = delta end })
  return deltas, response, err
end

describe("scripted answers", function()
  local function answer(fields)
    fields.step, fields.type = 1, "answer"
    return playbook { fields }
  end

  it("stream text in fragments of whole characters", function()
    local deltas, response = streamed(answer { content = "aé漢字b", chunk = 2 })
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
    local deltas, response = streamed(answer { interleave = true, chunk = 4, content = {
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
      local call = answer { content = { { type = "tool_use", id = "a", name = "f", arguments_json = bytes } } }
        :chat "hi".tool_calls[1]
      assert.are.same({}, call.arguments)
      assert.are.equal(bytes, call.arguments_json)
      assert.is_string(call.arguments_error)
    end
  end)

  it("set usage, stop reason, model and id", function()
    local response = answer { content = "x", stop_reason = "max_tokens", model = "m2", id = "r1", stop_sequence = "END",
      usage = { input_tokens = 7, output_tokens = 3, cache_read_tokens = 2, reasoning_tokens = 1 } }:chat "hi"
    assert.are.equal("max_tokens", response.stop_reason)
    assert.are.equal("m2", response.model)
    assert.are.equal("r1", response.id)
    assert.are.equal("END", response.stop_sequence)
    assert.are.equal(7, response.usage.input_tokens)
    assert.are.equal(2, response.usage.cache_read_tokens)
    assert.are.equal("refusal", answer { content = { { type = "refusal", text = "No." } } }:chat "hi".stop_reason)
  end)

  it("are the same streamed and plain", function()
    local fields = { content = { { type = "text", text = "a" },
      { type = "tool_use", name = "f", arguments = { x = 1 } } } }
    local plain = answer(fields):chat "hi":to_table()
    local _, response = streamed(answer(fields))
    assert.are.same(plain, response:to_table())
  end)

  it("say nothing at all", function()
    local deltas, response = streamed(answer { content = "" })
    assert.are.same({}, deltas)
    assert.are.same({}, response.content)
  end)

  it("wait when told to", function()
    local wait = require "koine.task.wait"
    local park, slept = wait.park, {}
    wait.park = function(_, seconds) slept[#slept + 1] = seconds return false end
    finally(function() wait.park = park end)
    answer { content = "x", fault = { delay_ms = 250 } }:chat "hi"
    answer { error = { status = 500 }, fault = { delay_ms = 50 } }:chat "hi"
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
    local book = playbook { { step = 1, type = "answer", chunk = 1,
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
