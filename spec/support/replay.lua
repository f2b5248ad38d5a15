-- Plays recorded answers through the loopback provider and compares what comes out with what was read in them by hand
-- (spec/expect/FOLDER.lua). A recording is a JSON file {request = {body}, response = {status, headers, body}}; its
-- folder says which wire and dialect it has.
--
-- An expectation is a table of
--   content    every block in the order of the wire, with its canonical fields; of provider_data only `raw`: true (it
--              is there), a table (it holds at least these fields) or a string (these very bytes).
--              `arguments_error = true` stands for any text
--   stop_reason, raw_stop_reason, stop_sequence, usage, model, id, degenerate: exactly; warnings: the codes, sorted
-- or {error = {class, kind, status_code, code, message = a part of it, retry_after, retryable, raw = a part of it;
-- partial_text, partial_thinking, partial_usage: what had arrived}}. A field left out must be absent, except raw.
-- Any string of more than 200 bytes is written {length = bytes, starts = its first 24 bytes, ends = its last 24}.

local core = require "koine.core"
local koine = require "koine"
local luassert = require "luassert"

local replay = {}

local LONG = 200 -- bytes; longer strings are not written out
local EDGE = 24  -- bytes of them that are

local function copilot(options)
  options.name, options.quirks = "copilot", { reasoning_field = "reasoning_text" }
  return koine.compatible(options)
end

local function openai(options)
  options.api = "chat"
  return koine.openai(options)
end

-- A constructor for servers of that name that speak Responses.
local function responses(make, name)
  return function(options)
    options.api, options.name = "responses", name
    return make(options)
  end
end

-- folder → constructor
local MAKERS = {
  ["anthropic-messages"] = koine.anthropic, ["copilot-messages"] = koine.anthropic, ["openai-chat"] = openai,
  ["azure-openai-chat"] = koine.azure, ["copilot-chat"] = copilot, ["deepseek-chat"] = koine.deepseek,
  ["groq-chat"] = koine.groq, ["mistral-chat"] = koine.mistral, ["openrouter-chat"] = koine.openrouter,
  ["xai-chat"] = koine.xai, ["vllm-chat"] = koine.vllm, ["llamacpp-chat"] = koine.llamacpp,
  ["ollama-chat"] = koine.ollama_compat, ["openai-responses"] = koine.openai,
  ["xai-responses"] = responses(koine.xai), ["openrouter-responses"] = responses(koine.openrouter),
  ["vllm-responses"] = responses(koine.vllm), ["deepseek-responses"] = responses(koine.deepseek),
  ["copilot-responses"] = responses(koine.compatible, "copilot"),
}

--- The folders whose recordings are replayed, sorted.
replay.folders = {}
for folder in pairs(MAKERS) do replay.folders[#replay.folders + 1] = folder end
table.sort(replay.folders)

--- The expectations of a folder: file name without ".json" → expectation.
function replay.expectations(folder) return require("spec.expect." .. folder) end

-- Comparing ---------------------------------------------------------------------------------------------------------

local function show(value)
  if type(value) ~= "string" then return value == core.null and "null" or tostring(value) end
  return #value <= LONG and ("%q"):format(value) or ("%q… (%d bytes)"):format(value:sub(1, EDGE), #value)
end

local function is_long(expected) return type(expected) == "table" and expected.length and expected.starts ~= nil end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

-- Adds to `problems` every place where `got` is not what is expected. `part`: got may have more fields.
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

-- Fields of the error that must be absent where the expectation does not name them.
local ERROR_FIELDS = { "class", "kind", "status_code", "code", "retryable" }

local function contains(problems, path, part, text)
  if type(text) == "string" and text:find(part, 1, true) then return end
  problems[#problems + 1] = ("%s: a text with %q expected, got %s"):format(path, part, show(text))
end

local function match_error(problems, expected, err)
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
    match(problems, "err.partial.usage", expected.partial_usage, partial.usage)
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

local FIELDS = { "stop_reason", "raw_stop_reason", "stop_sequence", "model", "id", "degenerate" }

-- What the wire said of tokens; what they cost is the row's knowledge.
local function counts(usage)
  local copy = {}
  for name, value in pairs(usage) do copy[name] = value end
  copy.cost = nil
  return copy
end

local function match_response(problems, expected, response, origin)
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

-- Deltas ------------------------------------------------------------------------------------------------------------

-- type → the fields that it has
local SHAPES = {
  text_start = {}, text_delta = { "text" }, text_end = {},
  thinking_start = {}, thinking_delta = { "text" }, thinking_end = {},
  tool_use_start = { "tool_call_id", "tool_name" }, tool_use_delta = { "tool_call_id", "argument_delta" },
  tool_use_end = { "tool_call_id" },
}

-- A delta that is misshapen, in words; nil when it is well-formed.
local function misshapen(delta)
  local fields = SHAPES[delta.type]
  if not fields then return "unknown type" end
  local known = { type = true }
  for _, field in ipairs(fields) do
    known[field] = true
    if type(delta[field]) ~= "string" or delta[field] == "" then return field .. ": non-empty string expected" end
  end
  for field in pairs(delta) do
    if not known[field] then return "unknown field " .. tostring(field) end
  end
end

-- The blocks that the deltas tell, in the order of their starts: {kind, text, id, name, ended}. Adds every breach of
-- the grammar to `problems`: stream := block*, block := start delta* end; text and thinking stand alone, tool calls
-- may interleave.
local function blocks_of(problems, deltas)
  local blocks, calls, open, running = {}, {}, 0, nil
  local function bad(i, text) problems[#problems + 1] = ("deltas[%d] (%s): %s"):format(i, deltas[i].type, text) end
  for i, delta in ipairs(deltas) do
    local wrong = misshapen(delta)
    if wrong then
      bad(i, wrong)
      break
    end
    local kind, what = delta.type:match "^(.*)_(%a+)$"
    local block
    if what == "start" then
      block = { kind = kind, text = {}, id = delta.tool_call_id, name = delta.tool_name }
      if running then bad(i, "a " .. running.kind .. " block is open") end
      if kind == "tool_use" then
        if calls[block.id] then bad(i, "a second start of " .. block.id) end
        calls[block.id], open = block, open + 1
      else
        if open > 0 then bad(i, "a tool call is open") end
        running = block
      end
      blocks[#blocks + 1] = block
    else
      block = kind == "tool_use" and calls[delta.tool_call_id] or kind ~= "tool_use" and running
      if not block or block.kind ~= kind or block.ended then
        bad(i, "no such block is open")
      elseif what == "delta" then
        block.text[#block.text + 1] = delta.text or delta.argument_delta
      elseif kind == "tool_use" then
        block.ended, open = true, open - 1
      else
        block.ended, running = true, nil
      end
    end
  end
  for _, block in ipairs(blocks) do block.text = table.concat(block.text) end
  return blocks
end

local TEXT_OF = { text = "text", thinking = "thinking", tool_use = "arguments_json" }

-- Compares what the deltas told with the finished turn.
local function match_deltas(problems, deltas, response)
  local blocks, text = blocks_of(problems, deltas), {}
  local n = 0
  for i, block in ipairs(response.content) do
    local field = TEXT_OF[block.type]
    if field then
      n = n + 1
      local told, path = blocks[n] or { text = "" }, ("deltas of content[%d]"):format(i)
      match(problems, path .. ": kind", block.type, told.kind)
      match(problems, path .. ": ended", true, told.ended)
      if block.type == "tool_use" then
        match(problems, path .. ": tool_call_id", block.id, told.id)
        match(problems, path .. ": tool_name", block.name, told.name)
      end
      if block.type == "text" then text[#text + 1] = told.text end
      local empty = block.type == "tool_use" and told.text == ""
      match(problems, path, block[field], empty and "{}" or told.text)
    end
  end
  match(problems, "blocks told by deltas", n, #blocks)
  match(problems, "text of the deltas", response:text(), table.concat(text))
end

-- Of a turn that failed, the deltas tell what the partial Response holds.
local function match_partial_deltas(problems, deltas, partial)
  local told = { text = {}, thinking = {}, tool_use = {} }
  for _, block in ipairs(blocks_of(problems, deltas)) do
    local list = told[block.kind]
    list[#list + 1] = block.text
  end
  match(problems, "text of the deltas", partial and partial:text() or "", table.concat(told.text))
  match(problems, "thinking of the deltas", partial and partial:thinking() or "", table.concat(told.thinking))
end

-- Playing -----------------------------------------------------------------------------------------------------------

--- Reads a recording: {path, folder, name, model (as it was requested, else a made-up one), streaming (whether a stream
-- was asked for), response = {status, headers, body}}. Raises when it is none.
function replay.load(directory, folder, name)
  local path = ("%s/%s/%s.json"):format(directory, folder, name)
  local file <close> = assert(io.open(path, "rb"))
  local recording = assert(core.decode(file:read "a"))
  local body, response = recording.request.body, recording.response
  if type(body) ~= "table" then body = {} end
  local streaming = body.stream
  if streaming == nil then
    streaming = tostring(response.headers["content-type"]):find("event-stream", 1, true) ~= nil
  end
  return { path = path, folder = folder, name = name, model = body.model or "recorded-model", streaming = streaming,
    response = response }
end

-- The request id among the recorded headers.
local function request_id(headers)
  return headers["request-id"] or headers["x-request-id"]
end

--- Plays a recording from `server` (koine.testing) and returns the outcome {response, err, deltas, origin}; deltas only
-- of a stream. opts: fault (see koine.testing), streaming (instead of what was recorded). Fails when the loopback
-- provider has something to say against the request.
function replay.run(server, recording, opts)
  opts = opts or {}
  local streaming = opts.streaming
  if streaming == nil then streaming = recording.streaming end
  assert(server:reset())
  assert(server:script { { replay = recording.path, fault = opts.fault } })
  local adapter = MAKERS[recording.folder] { model = recording.model, key = "test-key", base_url = server.url,
    retry = false, timeout = 30, max_tokens = 1024 }
  local outcome = { origin = { provider = core.state(adapter).row.name, model = adapter:model_name(),
    request_id = request_id(recording.response.headers) } }
  if streaming then
    local stream <close> = assert(adapter:open "Hi")
    local deltas = {}
    local delta, err = stream:next()
    while delta do
      deltas[#deltas + 1] = delta
      delta, err = stream:next()
    end
    outcome.deltas, outcome.err = deltas, err
    if not err then outcome.response = assert(stream:response()) end
  else
    outcome.response, outcome.err = adapter:chat "Hi"
  end
  local requests = assert(server:requests())
  luassert.are.equal(1, #requests, "requests sent")
  luassert.are.same({}, requests[1].problems)
  return outcome
end

--- Fails unless the outcome is as expected. `deltas` is nil for a plain answer; `origin` = {provider = row name, model
-- = as requested, request_id = as recorded}.
function replay.check(expected, response, err, deltas, origin)
  local problems = {}
  if expected.error then
    if not err then
      problems[1] = "an error expected, got a Response"
    else
      match_error(problems, expected.error, err)
      if deltas then match_partial_deltas(problems, deltas, err.partial) end
    end
  elseif err then
    problems[1] = ("a Response expected, got %s (%s): %s"):format(err.class, err.kind, err.message)
  else
    match_response(problems, expected, response, origin)
    if deltas then match_deltas(problems, deltas, response) end
  end
  luassert(#problems == 0, table.concat(problems, "\n"))
end

-- What of an outcome must not depend on how the bytes came.
local function essence(outcome)
  local function turn(response)
    local t = response:to_table()
    t.headers = nil
    return t
  end
  local err, e = outcome.err, {}
  for key, value in pairs(err or {}) do e[key] = value end
  e.partial = err and err.partial and turn(err.partial)
  return { response = outcome.response and turn(outcome.response), err = e, deltas = outcome.deltas }
end

--- Fails unless two outcomes are the same: deltas, Response (its headers aside) and error.
function replay.check_same(first, second)
  local problems = {}
  match(problems, "second", essence(first), essence(second))
  luassert(#problems == 0, table.concat(problems, "\n"))
  luassert.are.equal(first.response, second.response)
end

-- Well-formed expectations -------------------------------------------------------------------------------------------

local function set(words)
  local t = {}
  for word in words:gmatch "%S+" do t[word] = true end
  return t
end

local TURN = set [[content stop_reason raw_stop_reason stop_sequence usage model id warnings degenerate]]
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

local function check_turn(problems, path, turn)
  check_names(problems, path, turn, TURN)
  check_names(problems, path .. ".usage", turn.usage or {}, USAGE)
  for _, field in ipairs { "content", "usage", "warnings" } do
    if type(turn[field]) ~= "table" then problems[#problems + 1] = ("%s.%s: table expected"):format(path, field) end
  end
  for _, field in ipairs { "model", "raw_stop_reason", "id" } do
    if type(turn[field]) ~= "string" then problems[#problems + 1] = ("%s.%s: string expected"):format(path, field) end
  end
  local warnings = turn.warnings or {}
  for i = 2, #warnings do
    if warnings[i] < warnings[i - 1] then problems[#problems + 1] = path .. ".warnings: not sorted" end
  end
  if not STOPS[turn.stop_reason] then problems[#problems + 1] = path .. ".stop_reason: unknown" end
  for i, block in ipairs(turn.content or {}) do
    local at, known = ("%s.content[%d]"):format(path, i), BLOCKS[block.type]
    check_names(problems, at, block, known or {})
    if not known or block[NEEDED[block.type]] == nil then problems[#problems + 1] = at .. ": incomplete" end
  end
end

--- What is wrong with the expectations of a folder: an array of lines, empty when they are well-formed.
function replay.flaws(folder)
  local problems, count = {}, 0
  for name, expected in pairs(replay.expectations(folder)) do
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
      check_turn(problems, path, expected)
    end
  end
  if count == 0 then problems[1] = folder .. ": no expectations" end
  return problems
end

return replay
