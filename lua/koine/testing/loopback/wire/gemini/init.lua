--- The Gemini endpoint of the loopback provider: plans become generateContent's own answers and streams, errors take
-- its own shape. Pure but for the memory tables its caller passes in. Ids of calls are said where the script says
-- them; a model of Gemini 3 signs the first call of an answer. On Vertex AI, which the path tells, requests come with a
-- token where the path names a project, else with a key.

local json = require "koine.testing.loopback.json"
local logprobs = require "koine.testing.loopback.wire.logprobs"
local pieces = require "koine.testing.loopback.wire.pieces"
local script = require "koine.testing.loopback.script"
local token = require "koine.testing.loopback.wire.gemini.token"

local object, array = json.object, json.array

local gemini = {
  check = require "koine.testing.loopback.wire.gemini.check", tool_prefix = "unsaid_", id_prefix = "gem-",
  paths = { "/models/MODEL:generateContent", "/models/MODEL:streamGenerateContent" },
  history = "contents", count_path = "/models/MODEL:countTokens", stream_type = "text/event-stream",
}

local STOPS = {
  end_turn = "STOP", stop_sequence = "STOP", tool_use = "STOP", pause_turn = "STOP", max_tokens = "MAX_TOKENS",
  sensitive = "SAFETY", refusal = "SAFETY", context_overflow = "MAX_TOKENS",
}
local WORDS = { -- status → its name
  [400] = "INVALID_ARGUMENT", [401] = "UNAUTHENTICATED", [403] = "PERMISSION_DENIED", [404] = "NOT_FOUND",
  [429] = "RESOURCE_EXHAUSTED", [499] = "CANCELLED", [500] = "INTERNAL", [503] = "UNAVAILABLE",
  [504] = "DEADLINE_EXCEEDED",
}

--- What a block of a message has of a tool's result, or nil.
function gemini.result(block)
  local answer = block.functionResponse and block.functionResponse.response
  return answer and (answer.output or answer.error)
end

--- The schema of the value that a request asks for, or nil.
function gemini.schema(body)
  local config = body.generationConfig or {}
  return config.responseJsonSchema or config.responseSchema
end

--- The status that an error's word stands for (500 when unknown).
function gemini.status(word)
  for status, name in pairs(WORDS) do
    if name == word then
      return status
    end
  end
  return 500
end

local function error_object(status, err)
  return object("code", status, "message", err.message or "scripted error",
    "status", err.code or WORDS[status] or (status < 500 and "INVALID_ARGUMENT" or "INTERNAL"),
    "details", err.param and array { err.param } or nil)
end

--- An error body: the error object under "error".
function gemini.error_body(status, err)
  return json.encode(object("error", error_object(status, err)))
end

--- A header of every answer; this wire has none for the request's id.
function gemini.id_header()
  return { "server-timing", "gfet4t7; dur=1" }
end

--- True for the headers or the path of a request to this API.
function gemini.knows(headers, path)
  return headers["x-goog-api-key"] ~= nil or path:find("/publishers/google", 1, true) ~= nil
end

--- The message when the request carries no key (no token, where the path names a project), or a malformed one, else
-- nil.
function gemini.missing_key(headers, path)
  if path == "/token" then
    return nil
  elseif path:find("/projects/", 1, true) then
    if not (headers["authorization"] or ""):find("^Bearer %S+$") then
      return "Request is missing required authentication credential. Expected OAuth 2 access token"
    end
  elseif not (headers["x-goog-api-key"] or ""):find("^%S+$") then
    return "Method doesn't allow unregistered callers"
  end
end

-- True for models whose calls are signed.
local function signs(model)
  return not (model:find("gemini%-[12]%.") or model:find("gemma", 1, true))
end

local function usage_object(usage)
  local thoughts = usage.reasoning or 0
  local prompt = usage.input + usage.cache_read
  return object("promptTokenCount", prompt, "cachedContentTokenCount", usage.cache_read > 0 and usage.cache_read or nil,
    "candidatesTokenCount", usage.output - thoughts, "thoughtsTokenCount", thoughts > 0 and thoughts or nil,
    "totalTokenCount", prompt + usage.output)
end

--- Why this wire cannot carry the plan, or nil.
local function unfit(plan)
  for _, block in ipairs(plan.blocks) do
    if block.type == "redacted_thinking" then
      return "this wire has no redacted_thinking"
    end
  end
end

-- Arguments that are no object go out as a string, as some gateways send them.
local function args_of(block)
  local args = json.decode(block.json)
  return json.is_object(args) and json.raw(block.json) or block.json
end

-- The signature of a call: that of the first, where the model signs.
local function call_signature(plan, block)
  if signs(plan.requested) and plan.first_call == block then
    return "Eq" .. script.digest(block.name .. block.json)
  end
end

local function call_part(plan, block)
  local call = object("name", block.name, "args", args_of(block))
  if block.id:sub(1, #gemini.tool_prefix) ~= gemini.tool_prefix then
    json.put(call, "id", block.id)
  end
  return json.put_all(object("functionCall", call, "thoughtSignature", call_signature(plan, block)), block.raw)
end

-- A block's text, or a piece of it, as a part; `whole`: with what goes with the end of it.
local function text_part(block, text, whole)
  if block.type == "thinking" then
    return object("text", text, "thought", true, "thoughtSignature", whole and block.signature or nil)
  end
  return whole and json.put_all(object("text", text), block.raw) or object("text", text)
end

local function part_of(plan, block)
  if block.type == "tool_use" then
    return call_part(plan, block)
  elseif block.type == "opaque" then
    return block.raw
  end
  return block.type ~= "refusal" and text_part(block, block.text, true) or nil -- the wire has no word for one
end

local function prepare(plan, body)
  local config = body.generationConfig or {}
  plan.requested = body.model
  plan.alternatives = config.responseLogprobs and (config.logprobs or 0)
  for _, block in ipairs(plan.blocks) do
    plan.first_call = plan.first_call or block.type == "tool_use" and block or nil
  end
end

-- `text`: that of the chunk whose likelihood may have been asked for: blocks, or a piece; nil: none.
local function chunk(plan, parts, text, reason, usage)
  local content = #parts > 0 and object("parts", parts, "role", "model") or object("role", "model")
  local likely = text and plan.alternatives and logprobs.result(text, plan.alternatives) or nil
  return json.encode(object("candidates",
    array { object("content", content, "finishReason", reason, "index", 0, "logprobsResult", likely) },
    "usageMetadata", usage and plan.usage and usage_object(plan.usage) or nil, "modelVersion", plan.model,
    "responseId", plan.id))
end

--- The body of the plain answer. nil and the reason when the wire cannot carry it.
function gemini.plain(plan, body)
  local why = unfit(plan)
  if why then
    return nil, why
  end
  prepare(plan, body)
  local parts = array {}
  for _, block in ipairs(plan.blocks) do
    parts[#parts + 1] = part_of(plan, block)
  end
  return chunk(plan, parts, plan.blocks, STOPS[plan.stop] or plan.stop, true)
end

local function event(text)
  return "data: " .. text .. "\r\n\r\n"
end

-- The part that a step says, or nil. A call is told whole; what goes with the end of a text comes with its last piece.
local function step_part(plan, kind, block, fragment)
  local told_whole = block.type == "tool_use" or block.type == "opaque"
  if told_whole then
    return kind == "end" and part_of(plan, block) or nil
  elseif kind == "delta" and block.type ~= "refusal" then
    return text_part(block, fragment, fragment == block.fragments[#block.fragments] and block.told == #block.fragments)
  end
end

-- The provider's error in a stream: as an event, or (flat) as JSON of its own over several lines.
local function failure_of(failure)
  local status = failure.status or gemini.status(failure.code)
  local body = gemini.error_body(status, failure)
  return failure.shape == "flat" and body:gsub("([{,])", "%1\n  ") .. "\n" or event(body)
end

--- The pieces of the streamed answer, one per event; nil and the reason when the wire cannot carry it.
function gemini.stream(plan, body)
  local why = unfit(plan)
  if why then
    return nil, why
  end
  prepare(plan, body)
  local failure = plan.stream_error
  local out = pieces.new(failure)
  for _, step in ipairs(plan.steps) do
    local kind, block, fragment = step[1], step[2], step[3]
    block.told = (block.told or 0) + (kind == "delta" and 1 or 0)
    local part = step_part(plan, kind, block, fragment)
    if part then
      out:delta(event(chunk(plan, array { part }, block.type == "text" and fragment or nil)))
    end
  end
  if failure then
    return out:fail(failure_of(failure))
  end
  out:add(event(chunk(plan, array { object("text", "") }, nil, STOPS[plan.stop] or plan.stop, true)))
  return out.list
end

--- Remembers the signatures that a plan hands out for `model` (as requested).
function gemini.remember(issued, plan, model)
  for _, block in ipairs(plan.blocks) do
    local signature = block.type == "thinking" and block.signature
      or block.type == "tool_use" and call_signature(plan, block)
      or type(block.raw) == "table" and block.raw.thoughtSignature
    if signature then
      issued.opaque.gemini[signature] = model
    end
  end
end

-- One model of the list.
local function model_object(id)
  return object("name", "models/" .. id, "version", "001", "displayName", "Loopback " .. id:match("%d+$"),
    "inputTokenLimit", 1048576, "outputTokenLimit", 65536,
    "supportedGenerationMethods", array { "generateContent", "countTokens" }, "thinking", true)
end

--- The answer to GET …/models (paged: pageSize, pageToken) of the given ids, and of one that answers no chat. nil and
-- the reason when the query is wrong.
function gemini.models(ids, query)
  local size, from = math.tointeger(tonumber(query.pageSize or 50)), math.tointeger(tonumber(query.pageToken or 1))
  if not size or size < 1 then
    return nil, "page_size: an integer of at least 1 expected"
  elseif not from or from < 1 or from > #ids then
    return nil, "page_token: one of those handed out expected"
  end
  local list, last = array {}, math.min(from + size - 1, #ids)
  for i = from, last do
    list[#list + 1] = model_object(ids[i])
  end
  list[#list + 1] = object("name", "models/embedder", "displayName", "Embedder",
    "supportedGenerationMethods", array { "embedContent" })
  return json.encode(object("models", list, "nextPageToken", last < #ids and tostring(last + 1) or nil))
end

--- The answer to GET …/models/ID.
function gemini.model(id)
  return json.encode(model_object(id))
end

--- The answers beside chats: access tokens.
gemini.beside = {
  ["POST /token"] = function(_, request)
    return token(request)
  end,
}

--- The answer to a count.
function gemini.count(tokens)
  return json.encode(object("totalTokens", tokens, "promptTokensDetails",
    array { object("modality", "TEXT", "tokenCount", tokens) }))
end

return gemini
