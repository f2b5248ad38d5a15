-- Whether expectations are well-formed. An expectation: see spec.support.replay.

local replay_match = require "spec.lua.codec.replay.match"

local LONG, EDGE, is_long = replay_match.LONG, replay_match.EDGE, replay_match.is_long

local function set(words)
  local t = {}
  for word in words:gmatch "%S+" do t[word] = true end
  return t
end

local ANSWER = set [[content stop_reason raw_stop_reason stop_sequence usage model id warnings degenerate
  logprobs]]
local ERROR = set [[class kind status_code code message retry_after retryable raw partial_text partial_thinking
  partial_usage]]
local USAGE = set [[input_tokens output_tokens cache_read_tokens cache_creation_tokens reasoning_tokens]]
local STOPS = set [[end_turn tool_use max_tokens stop_sequence pause_turn refusal sensitive context_overflow]]
local BLOCKS = {
  text = set "type text raw", refusal = set "type text raw", thinking = set "type thinking signature raw",
  redacted_thinking = set "type data raw", opaque = set "type kind raw",
  tool_use = set "type id name arguments arguments_json arguments_error raw",
}
local NEEDED = { text = "text", refusal = "text", thinking = "thinking", redacted_thinking = "data", opaque = "raw",
  tool_use = "arguments_json" }

-- Adds to `problems` the strings that are too long, and the long ones whose edges are not as they should be.
local function check_strings(problems, path, value)
  if is_long(value) then
    if #value.starts ~= EDGE or #value.ends ~= EDGE or math.type(value.length) ~= "integer" then
      problems[#problems + 1] = ("%s: length, and %d bytes of start and end expected"):format(path, EDGE)
    end
  elseif type(value) == "string" and #value > LONG then
    problems[#problems + 1] = ("%s: too long to be written out (%d bytes)"):format(path, #value)
  elseif type(value) == "table" then
    for key, member in pairs(value) do check_strings(problems, ("%s.%s"):format(path, key), member) end
  end
end

local function check_names(problems, path, t, known)
  for key in pairs(t) do
    if not known[key] then problems[#problems + 1] = ("%s.%s: unknown field"):format(path, key) end
  end
end

-- Folders of wires whose answers have no id, or not always.
local NO_IDS = { ["ollama-native"] = true, ["bedrock-converse"] = true, ["gemini-generatecontent"] = true }

local function check_answer(problems, path, answer, folder)
  check_names(problems, path, answer, ANSWER)
  check_names(problems, path .. ".usage", answer.usage or {}, USAGE)
  for _, field in ipairs { "content", "usage", "warnings" } do
    if type(answer[field]) ~= "table" then problems[#problems + 1] = ("%s.%s: table expected"):format(path, field) end
  end
  for _, field in ipairs { "model", "raw_stop_reason", (answer.id or not NO_IDS[folder]) and "id" or nil } do
    if type(answer[field]) ~= "string" then problems[#problems + 1] = ("%s.%s: string expected"):format(path, field) end
  end
  local warnings = answer.warnings or {}
  for i = 2, #warnings do
    if warnings[i] < warnings[i - 1] then problems[#problems + 1] = path .. ".warnings: not sorted" end
  end
  if not STOPS[answer.stop_reason] then problems[#problems + 1] = path .. ".stop_reason: unknown" end
  for i, block in ipairs(answer.content or {}) do
    local at, known = ("%s.content[%d]"):format(path, i), BLOCKS[block.type]
    check_names(problems, at, block, known or {})
    if not known or block[NEEDED[block.type]] == nil then problems[#problems + 1] = at .. ": incomplete" end
  end
end

--- Returns the mistakes in the expectations (file name → expectation) of a folder: an array of lines, empty when they
-- are well-formed.
return function(folder, expectations)
  local problems, count = {}, 0
  for name, expected in pairs(expectations) do
    local path = folder .. "/" .. name
    count = count + 1
    check_strings(problems, path, expected)
    if expected.error then
      check_names(problems, path, expected, { error = true })
      check_names(problems, path .. ".error", expected.error, ERROR)
      for _, field in ipairs { "class", "kind", "message" } do
        if type(expected.error[field]) ~= "string" then
          problems[#problems + 1] = ("%s.error.%s: string expected"):format(path, field)
        end
      end
      check_names(problems, path .. ".error.partial_usage", expected.error.partial_usage or {}, USAGE)
    else
      check_answer(problems, path, expected, folder)
    end
  end
  if count == 0 then problems[1] = folder .. ": no expectations" end
  return problems
end
