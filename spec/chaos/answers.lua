--- Answers that the model is made to give: text that is hard on readers, and the bytes of a wire that carry it. Used on
-- both sides, so that an answer can be compared byte for byte.

local cjson = require "cjson".new()

local dice = require "spec.chaos.dice"

local answers = {}

local PIECES = { "word ", "Zürich ", "\n\n", "日本語", "😀", '"quoted" ', "\\back\\slash ", "data: [DONE]\n", "\u{2028}",
  "\t", "<tool_call>", "{\"a\":[1,2", "event: error\n", "\u{0}", "é", "0.1e-7 " }

--- The text of a number: always the same; a few bytes to some kibibytes.
function answers.text(number)
  local die, pieces = dice.new(number), {}
  for i = 1, die:chance(5) and die:between(200, 800) or die:between(1, 40) do pieces[i] = die:pick(PIECES) end
  return "Answer " .. number .. ": " .. table.concat(pieces) .. "."
end

local encode = cjson.encode

-- The text in three pieces, cut between characters.
local function thirds(text)
  local first, second = utf8.offset(text, 0, #text // 3 + 1), utf8.offset(text, 0, #text * 2 // 3 + 1)
  return { text:sub(1, first - 1), text:sub(first, second - 1), text:sub(second) }
end

local streams, plains = {}, {}

function plains.anthropic(text)
  return ('{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%s}],'
    .. '"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}')
    :format(encode(text))
end

function plains.chat(text)
  return ('{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",'
    .. '"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}')
    :format(encode(text))
end

function streams.anthropic(text)
  local events = { '{"type":"message_start","message":{"id":"msg_1","role":"assistant","model":"m","content":[],'
    .. '"usage":{"input_tokens":1,"output_tokens":1}}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}' }
  for _, piece in ipairs(thirds(text)) do
    events[#events + 1] = ('{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}')
      :format(encode(piece))
  end
  events[#events + 1] = '{"type":"content_block_stop","index":0}'
  events[#events + 1] = '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},'
    .. '"usage":{"output_tokens":1}}'
  events[#events + 1] = '{"type":"message_stop"}'
  for i, event in ipairs(events) do
    events[i] = ("event: %s\ndata: %s\n\n"):format(event:match '"type":"([%w_]+)"', event)
  end
  return table.concat(events)
end

function streams.chat(text)
  local chunk = '{"id":"c1","model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}'
  local lines = {}
  for i, piece in ipairs(thirds(text)) do lines[i] = chunk:format(encode { content = piece }, "null") end
  lines[#lines + 1] = chunk:format("{}", '"stop"')
  lines[#lines + 1] = "[DONE]"
  return "data: " .. table.concat(lines, "\n\ndata: ") .. "\n\n"
end

--- An answer's body and content type; `wire` is "anthropic" or "chat".
function answers.body(wire, streaming, text)
  if streaming then return streams[wire](text), "text/event-stream" end
  return plains[wire](text), "application/json"
end

--- The beginning of a stream, without its end.
function answers.beginning(wire, text)
  local body = streams[wire](text)
  return body:sub(1, (wire == "anthropic" and body:find("event: content_block_stop", 1, true)
    or body:find('"finish_reason":"stop"', 1, true)) - 1):match "^.*\n\n"
end

return answers
