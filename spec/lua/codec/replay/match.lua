-- Compares what came out of a recording with what was read in it by hand. An expectation: see spec.support.replay.

local core = require "koine.core"

local replay_match = {}

local LONG = 200 -- bytes; longer strings are not written out
local EDGE = 24  -- bytes of them that are

replay_match.LONG, replay_match.EDGE = LONG, EDGE

local function show(value)
  if type(value) ~= "string" then return value == core.null and "null" or tostring(value) end
  return #value <= LONG and ("%q"):format(value) or ("%q… (%d bytes)"):format(value:sub(1, EDGE), #value)
end

--- Whether the expected value stands for a long string.
local function is_long(expected) return type(expected) == "table" and expected.length and expected.starts ~= nil end
replay_match.is_long = is_long

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

--- Adds to `problems` every place where `got` is not what is expected. `part`: got may have more fields.
local function match(problems, path, expected, got, part)
  if is_long(expected) then
    local same = type(got) == "string" and #got == expected.length and got:sub(1, EDGE) == expected.starts
      and got:sub(-EDGE) == expected.ends
    if same then return end
    problems[#problems + 1] = ("%s: %q … %q (%d bytes) expected, got %s"):format(path, expected.starts, expected.ends,
      expected.length, show(got))
  elseif type(expected) ~= "table" or type(got) ~= "table" then
    if expected == got and math.type(expected) == math.type(got) then return end
    problems[#problems + 1] = ("%s: %s expected, got %s"):format(path, show(expected), show(got))
  else
    for _, key in ipairs(sorted_keys(expected)) do
      match(problems, ("%s.%s"):format(path, key), expected[key], got[key], part)
    end
    for _, key in ipairs(part and {} or sorted_keys(got)) do
      if expected[key] == nil then
        problems[#problems + 1] = ("%s.%s: nothing expected, got %s"):format(path, key, show(got[key]))
      end
    end
  end
end
replay_match.value = match

-- Fields of the error that must be absent where the expectation does not name them.
local ERROR_FIELDS = { "class", "kind", "status_code", "code", "retryable" }

local COST = { "cost", "cost_source", "unpriced", "cache_creation_1h_tokens" }

-- The counts of tokens; other specs look at their cost.
local function counts(usage)
  local copy = {}
  for name, value in pairs(usage) do copy[name] = value end
  for _, name in ipairs(COST) do copy[name] = nil end
  return copy
end

local function contains(problems, path, part, text)
  if type(text) == "string" and text:find(part, 1, true) then return end
  problems[#problems + 1] = ("%s: a text with %q expected, got %s"):format(path, part, show(text))
end

--- Adds where an error is not as expected.
function replay_match.error(problems, expected, err)
  for _, field in ipairs(ERROR_FIELDS) do match(problems, "err." .. field, expected[field], err[field]) end
  local wait = err.retry_after -- seconds, whole or not
  if wait ~= expected.retry_after then match(problems, "err.retry_after", expected.retry_after, wait) end
  contains(problems, "err.message", expected.message, err.message)
  if expected.raw then contains(problems, "err.raw", expected.raw, err.raw) end
  if not err:is "Error" then problems[#problems + 1] = "err: not one of Koine's" end
  local partial = err.partial
  if not expected.partial_text then
    if partial then problems[#problems + 1] = "err.partial: nothing expected, got a Response" end
  elseif not partial then
    problems[#problems + 1] = "err.partial: a Response expected, got nothing"
  else
    match(problems, "err.partial:text()", expected.partial_text, partial:text())
    match(problems, "err.partial:thinking()", expected.partial_thinking or "", partial:thinking())
    match(problems, "err.partial.usage", expected.partial_usage, counts(partial.usage))
    match(problems, "err.partial.stop_reason", "error", partial.stop_reason)
    match(problems, "err.partial.partial", true, partial.partial)
  end
end

-- provider_data: where the block came from, and what must go back as it came.
local function match_origin(problems, path, expected, block, origin)
  local data, raw = block.provider_data, expected.raw
  local bound = raw or block.type == "thinking" or block.type == "redacted_thinking" or block.type == "opaque"
  if bound and not data then
    problems[#problems + 1] = path .. ".provider_data: missing"
  elseif data and not bound then
    problems[#problems + 1] = ("%s.provider_data: nothing expected, got raw = %s"):format(path, show(data.raw))
  elseif data then
    match(problems, path .. ".provider_data.provider", origin.provider, data.provider)
    match(problems, path .. ".provider_data.model", origin.model, data.model)
    path = path .. ".provider_data.raw"
    if type(raw) == "table" and not is_long(raw) then
      match(problems, path, raw, core.decode(data.raw or "") or data.raw, true)
    elseif raw == true then
      match(problems, path, "string", type(data.raw))
    elseif raw then
      match(problems, path, raw, data.raw)
    end
  end
end

local function match_block(problems, path, expected, block, origin)
  local want, got = {}, {}
  for key, value in pairs(expected) do want[key] = value end
  for key, value in pairs(block) do got[key] = value end
  want.raw, got.provider_data = nil, nil
  if want.arguments_error and type(got.arguments_error) == "string" then got.arguments_error = true end
  match(problems, path, want, got)
  match_origin(problems, path, expected, block, origin)
end

local function warning_codes(response)
  local codes = {}
  for i, warning in ipairs(response.warnings) do codes[i] = warning.code end
  table.sort(codes)
  return codes
end

local FIELDS = { "stop_reason", "raw_stop_reason", "stop_sequence", "logprobs", "model", "id", "degenerate" }


--- Adds where a Response is not as expected. `origin`: see replay.check.
function replay_match.response(problems, expected, response, origin)
  local content = response.content
  match(problems, "#response.content", #expected.content, #content)
  local calls = {}
  for i, block in ipairs(content) do
    local path = ("response.content[%d]"):format(i)
    if expected.content[i] then match_block(problems, path, expected.content[i], block, origin) end
    if block.type == "tool_use" then calls[#calls + 1] = block end
  end
  for _, field in ipairs(FIELDS) do match(problems, "response." .. field, expected[field], response[field]) end
  match(problems, "response.usage", expected.usage, counts(response.usage))
  match(problems, "response.warnings", expected.warnings, warning_codes(response))
  match(problems, "response.provider", origin.provider, response.provider)
  match(problems, "response.status_code", 200, response.status_code)
  match(problems, "response.request_id", origin.request_id, response.request_id)
  match(problems, "response.partial", nil, response.partial)
  match(problems, "#response.tool_calls", #calls, #response.tool_calls)
  for i, call in ipairs(calls) do
    if response.tool_calls[i] ~= call then
      problems[#problems + 1] = ("response.tool_calls[%d]: not the table in content"):format(i)
    end
  end
  local message = response:message()
  if message.role ~= "assistant" or message.content ~= content then
    problems[#problems + 1] = "response:message(): not the assistant's content"
  end
end

return replay_match
