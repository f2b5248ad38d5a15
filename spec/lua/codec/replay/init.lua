-- Plays recorded answers through the loopback provider and compares what comes out with what was read in them by hand
-- (spec/expect/FOLDER.lua). A recording is a JSON file {request = {body}, response = {status, headers, body}}; its
-- folder says which wire and dialect it has.
--
-- An expectation is a table of
--   content    every block in the order of the wire, with its canonical fields; of provider_data only `raw`: true (it
--              is there), a table (it holds at least these fields) or a string (these very bytes).
--              `arguments_error = true` stands for any text
--   stop_reason, raw_stop_reason, stop_sequence, logprobs, usage, model, id, degenerate: exactly; warnings: the
--              codes, sorted
-- or {error = {class, kind, status_code, code, message = a part of it, retry_after, retryable, raw = a part of it;
-- partial_text, partial_thinking, partial_usage: what had arrived}}. A field left out must be absent, except raw.
-- Any string of more than 200 bytes is written {length = bytes, starts = its first 24 bytes, ends = its last 24}.

local core = require "koine.core"
local koine = require "koine"
local lfs = require "lfs"
local luassert = require "luassert"
local replay_deltas = require "spec.lua.codec.replay.deltas"
local replay_problems = require "spec.lua.codec.replay.problems"
local replay_match = require "spec.lua.codec.replay.match"

local replay = {}

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

local function invoke(options)
  options.api = "invoke"
  return koine.bedrock_claude(options)
end

local function vertex_claude(options)
  options.token, options.key = options.key, nil
  options.base_url = options.base_url .. "/v1/projects/recorded/locations/us-east5/publishers/anthropic"
  return koine.vertex_claude(options)
end

-- folder → constructor
local MAKERS = {
  ["anthropic-messages"] = koine.anthropic, ["copilot-messages"] = koine.anthropic, ["openai-chat"] = openai,
  ["azure-openai-chat"] = koine.azure, ["copilot-chat"] = copilot, ["deepseek-chat"] = koine.deepseek,
  ["groq-chat"] = koine.groq, ["mistral-chat"] = koine.mistral, ["openrouter-chat"] = koine.openrouter,
  ["xai-chat"] = koine.xai, ["vllm-chat"] = koine.vllm, ["llamacpp-chat"] = koine.llamacpp,
  ["ollama-chat"] = koine.ollama_compat, ["ollama-native"] = koine.ollama, ["openai-responses"] = koine.openai,
  ["xai-responses"] = responses(koine.xai), ["openrouter-responses"] = responses(koine.openrouter),
  ["vllm-responses"] = responses(koine.vllm), ["deepseek-responses"] = responses(koine.deepseek),
  ["copilot-responses"] = responses(koine.compatible, "copilot"), ["gemini-generatecontent"] = koine.gemini,
  ["bedrock-converse"] = koine.bedrock, ["bedrock-invoke"] = invoke,
  ["bedrock-mantle-responses"] = koine.bedrock_openai, ["vertex-anthropic"] = vertex_claude,
}
-- folder → the path of its base URL, where the server's root does not do
local BASES = { ["gemini-generatecontent"] = "/v1beta" }

-- For a recording on Vertex AI, which its path tells.
local function vertex(options)
  options.token, options.key = options.key, nil
  options.base_url = options.base_url:gsub("/v1beta$", "/v1/projects/recorded/locations/global/publishers/google")
  return koine.vertex(options)
end

--- The folders whose recordings are replayed, sorted.
replay.folders = {}
for folder in pairs(MAKERS) do replay.folders[#replay.folders + 1] = folder end
table.sort(replay.folders)

--- The expectations of a folder: file name without ".json" → expectation.
function replay.expectations(folder) return require("spec.expect." .. folder) end

--- Returns the mistakes in the expectations of a folder: an array of lines, empty when they are well-formed.
function replay.problems(folder) return replay_problems(folder, replay.expectations(folder)) end

--- The recordings whose "folder/name" has a pattern, sorted.
function replay.all(directory, pattern)
  local paths = {}
  for folder in lfs.dir(directory) do
    local where = directory .. "/" .. folder
    if not folder:find "^%." and lfs.attributes(where, "mode") == "directory" then
      for file in lfs.dir(where) do
        local path = (folder .. "/" .. file):match "^(.*)%.json$"
        if path and path:find(pattern) then paths[#paths + 1] = path end
      end
    end
  end
  table.sort(paths)
  return paths
end

local function unescape(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

--- Reads a recording: {path, folder, name, vertex (whether Vertex AI was asked), model (as it was requested, else a
-- made-up one), streaming (whether a stream was asked for), request (its body, a table), response = {status, headers,
-- body}}. Raises when it is none.
function replay.load(directory, folder, name)
  local file_path = ("%s/%s/%s.json"):format(directory, folder, name)
  local file <close> = assert(io.open(file_path, "rb"))
  local recording = assert(core.decode(file:read "a"))
  local body, response = recording.request.body, recording.response
  if type(body) ~= "table" then body = {} end
  -- Gemini and Bedrock say model and verb in the path.
  local path = recording.request.path or ""
  local in_path, action = path:match "^/model/([^/]+)/([%l-]+)$"
  local resource, verb = path:match "([^/]+):(%a+)"
  local streaming = body.stream
  if in_path then streaming = action:find "%-stream$" ~= nil
  elseif verb then streaming = verb:find "^stream" ~= nil end
  if streaming == nil then
    local kind = tostring(response.headers["content-type"])
    streaming = kind:find("event-stream", 1, true) ~= nil or kind:find("ndjson", 1, true) ~= nil
  end
  local model = body.model or in_path and unescape(in_path) or resource or "recorded-model"
  local on_vertex = path:find("/publishers/google/", 1, true) ~= nil
  return { path = file_path, folder = folder, name = name, vertex = on_vertex, model = model, streaming = streaming,
    request = body, response = response }
end

-- The request id among the recorded headers.
local function request_id(headers)
  return headers["request-id"] or headers["x-request-id"] or headers["x-amzn-requestid"]
end

--- A fault for replay.run: a body of less than 1,000 bytes comes byte by byte, a longer one in about 1,000 pieces. That
-- every byte of it may come alone is shown by spec/c/exchange/exchange.c.
function replay.in_pieces(recording)
  return { write_bytes = #recording.response.body // 1000 + 1 }
end

--- Plays a recording from `server` (koine.testing) and returns the outcome {response, err, deltas, origin}; deltas only
-- of a stream. opts: fault (see koine.testing), streaming (instead of what was recorded), output (the option of the
-- call), observer, each (called with each delta as it comes). Fails when the loopback provider has something to say
-- against the request.
function replay.run(server, recording, opts)
  opts = opts or {}
  local streaming, call = opts.streaming, opts.output and { output = opts.output }
  if streaming == nil then streaming = recording.streaming end
  assert(server:reset())
  assert(server:script { { replay = recording.path, fault = opts.fault } })
  local make = recording.vertex and vertex or MAKERS[recording.folder]
  local adapter = make { model = recording.model, key = "test-key",
    base_url = server.url .. (BASES[recording.folder] or ""),
    retry = false, timeout = 30, max_tokens = 1024, observer = opts.observer }
  local outcome = { origin = { provider = core.state(adapter).row.name, model = adapter:model_name(),
    request_id = request_id(recording.response.headers) } }
  if streaming then
    local stream <close> = assert(adapter:open("Hi", call))
    local deltas = {}
    local delta, err = stream:next()
    while delta do
      deltas[#deltas + 1] = delta
      if opts.each then opts.each(delta) end
      delta, err = stream:next()
    end
    outcome.deltas, outcome.err = deltas, err
    if not err then outcome.response = assert(stream:response()) end
  else
    outcome.response, outcome.err = adapter:chat("Hi", call)
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
      replay_match.error(problems, expected.error, err)
      if deltas then replay_deltas.match_partial(problems, deltas, err.partial) end
    end
  elseif err then
    problems[1] = ("a Response expected, got %s (%s): %s"):format(err.class, err.kind, err.message)
  else
    replay_match.response(problems, expected, response, origin)
    if deltas then replay_deltas.match(problems, deltas, response) end
  end
  luassert(#problems == 0, table.concat(problems, "\n"))
end

-- Returns the part of an outcome that must not depend on how the bytes came.
local function essence(outcome)
  local function answer(response)
    local t = response:to_table()
    t.headers = nil
    return t
  end
  local err, e = outcome.err, {}
  for key, value in pairs(err or {}) do e[key] = value end
  e.partial = err and err.partial and answer(err.partial)
  e.message = err and err.message:gsub(" %(%d+ from %S+%)$", "") -- a path may say that a stream is asked for
  return { response = outcome.response and answer(outcome.response), err = e, deltas = outcome.deltas }
end

--- Fails unless two outcomes are the same: deltas, Response (its headers aside) and error.
function replay.check_same(first, second)
  local problems = {}
  replay_match.value(problems, "second", essence(first), essence(second))
  luassert(#problems == 0, table.concat(problems, "\n"))
  luassert.are.equal(first.response, second.response)
end

return replay
