--- The OpenAI Chat Completions endpoint of the loopback provider: plans become the wire's own answers and streams,
-- errors take its own shape. Pure but for the memory tables its caller passes in.

local issued = require "koine.testing.loopback.issued"
local json = require "koine.testing.loopback.json"
local logprobs = require "koine.testing.loopback.wire.logprobs"
local pieces = require "koine.testing.loopback.wire.pieces"
local script = require "koine.testing.loopback.script"

local object, array = json.object, json.array

local chat = {
  check = require "koine.testing.loopback.wire.chat.check", tool_prefix = "call_", id_prefix = "chatcmpl-",
  paths = { "/chat/completions" }, stream_type = "text/event-stream; charset=utf-8",
}

local CREATED = 1767225600 -- fixed, so that the same request gets the same bytes

local STOPS = {
  end_turn = "stop", stop_sequence = "stop", pause_turn = "stop", tool_use = "tool_calls", max_tokens = "length",
  context_overflow = "length", sensitive = "content_filter",
}
local ERRORS = { -- status → type, code
  [400] = { "invalid_request_error", "invalid_value" }, [401] = { "invalid_request_error", "invalid_api_key" },
  [402] = { "insufficient_quota", "insufficient_quota" }, [403] = { "invalid_request_error", "permission_denied" },
  [404] = { "invalid_request_error", "model_not_found" }, [413] = { "invalid_request_error", "request_too_large" },
  [429] = { "requests", "rate_limit_exceeded" },
}

--- The schema of the value that a request asks for, or nil.
function chat.schema(body)
  local named = (body.response_format or {}).json_schema
  return named and named.schema
end

--- The status that an error type or code stands for (500 when unknown).
function chat.status(word)
  for status, names in pairs(ERRORS) do
    if names[2] == word then
      return status
    end
  end
  return word == "invalid_request_error" and 400 or 500
end

--- The error itself: {message, type, param, code}, what is missing as the status suggests.
function chat.error_object(status, err)
  local names = ERRORS[status] or (status < 500 and ERRORS[400]) or { "server_error" }
  return object("message", err.message or "scripted error", "type", err.type or names[1],
    "param", err.param or json.null, "code", err.code or (not err.type and names[2]) or json.null)
end

--- An error body: the error object under "error".
function chat.error_body(status, err)
  return json.encode(object("error", chat.error_object(status, err)))
end

--- The header that carries the request's id.
function chat.id_header(request_id)
  return { "x-request-id", request_id }
end

--- The message when the request carries a malformed key, else nil. No key at all is fine: local servers ask for none.
function chat.missing_key(headers)
  local authorization = headers["authorization"]
  if authorization and not authorization:find("^%a+ %S+$") and not authorization:find("^AWS4%-HMAC%-SHA256 ") then
    return "Incorrect API key provided"
  end
end

local function finish_reason(plan)
  if plan.stop == "refusal" then
    return script.refuses(plan) and "stop" or "content_filter"
  end
  return STOPS[plan.stop] or plan.stop
end

local function usage_object(usage)
  local prompt = usage.input + usage.cache_read + (usage.cache_creation or 0)
  return object("prompt_tokens", prompt, "completion_tokens", usage.output, "total_tokens", prompt + usage.output,
    "prompt_tokens_details", object("cached_tokens", usage.cache_read, "cache_write_tokens", usage.cache_creation),
    "completion_tokens_details", object("reasoning_tokens", usage.reasoning or 0))
end

local function detail(index, kind, ...)
  local d = object("type", kind, ...)
  json.put(d, "format", "anthropic-claude-v1")
  json.put(d, "index", index)
  return d
end

local function thinking_part(text, closed)
  return object("type", "thinking", "thinking", array { object("type", "text", "text", text) }, "closed", closed)
end

local function call_object(block, arguments, index)
  local call = object("index", index, "id", block.id, "type", "function",
    "function", object("name", block.name, "arguments", arguments))
  return json.put_all(call, block.raw)
end

--- Why this wire cannot carry the plan, or nil.
local function unfit(plan)
  for _, block in ipairs(plan.blocks) do
    if block.type == "opaque" then
      return "the chat wire has no opaque blocks"
    elseif block.type == "redacted_thinking" and plan.reasoning_field ~= "reasoning_details" then
      return "the chat wire carries redacted_thinking only with reasoning_field = \"reasoning_details\""
    end
  end
end

local function add_reasoning(message, plan, gathered)
  local field = plan.reasoning_field
  if #gathered.details == 0 then
    return
  elseif field == "reasoning_details" then
    json.put(message, "reasoning", gathered.thinking)
    json.put(message, "reasoning_details", gathered.details)
  elseif field ~= "content" then
    json.put(message, field, gathered.thinking)
    if field == "reasoning_text" then
      json.put(message, "reasoning_opaque", gathered.signature)
    end
  end
end

--- Everything a plain message needs, gathered over the blocks.
local function gather(plan)
  local g = { text = {}, thoughts = {}, refusal = {}, calls = array {}, details = array {}, parts = array {} }
  for _, block in ipairs(plan.blocks) do
    if block.type == "text" then
      g.text[#g.text + 1] = block.text
      g.parts[#g.parts + 1] = object("type", "text", "text", block.text)
    elseif block.type == "thinking" then
      g.thoughts[#g.thoughts + 1] = block.text
      g.signature = block.signature
      g.details[#g.details + 1] = detail(#g.details, "reasoning.text", "text", block.text, "signature", block.signature)
      g.parts[#g.parts + 1] = thinking_part(block.text, true)
    elseif block.type == "redacted_thinking" then
      g.details[#g.details + 1] = detail(#g.details, "reasoning.encrypted", "data", block.data)
    elseif block.type == "refusal" then
      g.refusal[#g.refusal + 1] = block.text
    elseif block.type == "tool_use" then
      g.calls[#g.calls + 1] = call_object(block, block.json)
    end
  end
  g.thinking = table.concat(g.thoughts)
  return g
end

-- How likely the tokens of text are (blocks, or a piece of it; nil: none), where the request asks for it, else null.
local function likelihoods(body, text)
  if not text or not body.logprobs then
    return json.null
  elseif body.logprobs == true then
    return object("content", logprobs.tokens(text, body.top_logprobs or 0), "refusal", json.null)
  end
  return logprobs.arrays(text)
end

--- The body of the plain answer. nil and the reason when the wire cannot carry it.
function chat.plain(plan, body)
  local why = unfit(plan)
  if why then
    return nil, why
  end
  local g = gather(plan)
  local content = #g.text > 0 and table.concat(g.text) or json.null
  if plan.reasoning_field == "content" and #g.thoughts > 0 then
    content = g.parts
  elseif #plan.blocks == 0 then
    content = ""
  end
  local message = object("role", "assistant", "content", content)
  add_reasoning(message, plan, g)
  json.put(message, "refusal", #g.refusal > 0 and table.concat(g.refusal) or json.null)
  local messages = { message }
  if plan.split_choices and #g.calls > 0 then
    messages[2] = object("role", "assistant", "tool_calls", g.calls)
  else
    json.put(message, "tool_calls", #g.calls > 0 and g.calls or nil)
  end
  local choices = array {}
  for i, m in ipairs(messages) do
    choices[i] = object("index", i - 1, "message", m, "logprobs", likelihoods(body, i == 1 and plan.blocks or nil),
      "finish_reason", finish_reason(plan))
  end
  return json.encode(object("id", plan.id, "object", "chat.completion", "created", CREATED, "model", plan.model,
    "choices", choices, "usage", plan.usage and usage_object(plan.usage) or nil))
end

--- A writer of chunks: with(delta, finish, index, likely) for a choice (the first unless said), last(usage) for the
-- usage.
local function chunk_writer(plan, with_usage)
  local function write(choices, usage)
    return "data: " .. json.encode(object("id", plan.id, "object", "chat.completion.chunk", "created", CREATED,
      "model", plan.model, "choices", choices, "usage", usage)) .. "\n\n"
  end
  local none = with_usage and json.null or nil
  return function(delta, finish, index, likely)
    return write(array { object("index", index or 0, "delta", delta, "logprobs", likely or json.null,
      "finish_reason", finish) }, none)
  end, function(usage)
    return write(array {}, usage)
  end
end

local function thinking_delta(plan, fragment, index)
  local field = plan.reasoning_field
  if field == "reasoning_details" then
    return object("reasoning", fragment, "reasoning_details",
      array { detail(index, "reasoning.text", "text", fragment) })
  elseif field == "content" then
    return object("content", array { thinking_part(fragment, true) })
  end
  return object(field, fragment)
end

local function thinking_end(plan, block, index)
  if plan.reasoning_field == "reasoning_details" then
    return object("reasoning_details", array { detail(index, "reasoning.text", "signature", block.signature) })
  elseif plan.reasoning_field == "reasoning_text" then
    return object("reasoning_opaque", block.signature)
  end
end

--- The delta of one step, or nil when the wire says nothing there. `index` counts the block among its own kind.
local function step_delta(plan, kind, block, fragment, index)
  if block.type == "thinking" then
    if kind == "delta" then
      return thinking_delta(plan, fragment, index)
    elseif kind == "end" then
      return thinking_end(plan, block, index)
    end
  elseif block.type == "redacted_thinking" and kind == "start" then
    return object("reasoning_details", array { detail(index, "reasoning.encrypted", "data", block.data) })
  elseif block.type == "tool_use" and kind == "start" then
    return object("tool_calls", array { call_object(block, "", index) })
  elseif kind == "delta" and block.type == "tool_use" then
    return object("tool_calls", array { object("index", index, "function", object("arguments", fragment)) })
  elseif kind == "delta" then
    return object(block.type == "refusal" and "refusal" or "content", fragment)
  end
end

-- Calls are counted on their own, apart from all reasoning.
local function class_of(block)
  return block.type == "tool_use" and "call" or block.type:find("thinking", 1, true) and "thought" or block.type
end

--- The pieces of the streamed answer, one per event; nil and the reason when the wire cannot carry it.
function chat.stream(plan, body)
  local why = unfit(plan)
  if why then
    return nil, why
  end
  local with_usage = body.stream_options and body.stream_options.include_usage and plan.usage
  local with, last = chunk_writer(plan, with_usage)
  local failure, choices = plan.stream_error, 1
  local out = pieces.new(failure)
  out:add(with(object("role", "assistant", "content", "", "refusal", json.null), json.null))
  for kind, block, fragment, index in pieces.steps(plan, class_of) do
    local delta = step_delta(plan, kind, block, fragment, index)
    local choice = plan.split_choices and block.type == "tool_use" and 1 or 0
    local said = kind == "delta" and block.type == "text" and fragment or nil
    local text = delta and with(delta, json.null, choice, likelihoods(body, said)) or nil
    if kind == "delta" then
      out:delta(text)
    else
      out:add(text)
    end
    choices = math.max(choices, choice + 1)
  end
  if failure then
    local status = failure.status or chat.status(failure.code or failure.type)
    return out:fail("data: " .. json.encode(object("error", chat.error_object(status, failure))) .. "\n\n")
  end
  for choice = 0, choices - 1 do
    out:add(with(object(), finish_reason(plan), choice))
  end
  out:add(with_usage and last(usage_object(plan.usage)) or nil)
  out:add "data: [DONE]\n\n"
  return out.list
end

--- Remembers the signatures and redacted data that a plan hands out for `model` (as requested).
function chat.remember(memory, plan, model)
  if plan.reasoning_field == "reasoning_details" or plan.reasoning_field == "reasoning_text" then
    issued.remember(memory, plan, model)
  end
end

--- The answer to GET …/models of the given ids.
function chat.models(ids)
  local data = array {}
  for i, id in ipairs(ids) do
    data[i] = object("id", id, "object", "model", "created", CREATED, "owned_by", "koine")
  end
  return json.encode(object("object", "list", "data", data))
end

--- The answer to GET …/models/ID.
function chat.model(id)
  return json.encode(object("id", id, "object", "model", "created", CREATED, "owned_by", "koine"))
end

return chat
