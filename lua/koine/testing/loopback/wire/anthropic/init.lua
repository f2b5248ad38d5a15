--- The Anthropic Messages endpoint of the loopback provider: plans become the wire's own answers and streams, errors
-- take its own shape, and what was handed out is remembered, so that a replayed signature can be judged. Pure but for
-- the memory tables its caller passes in.

local issued = require "koine.testing.loopback.issued"
local json = require "koine.testing.loopback.json"
local pieces = require "koine.testing.loopback.wire.pieces"
local script = require "koine.testing.loopback.script"

local object, array = json.object, json.array

local anthropic = {
  check = require "koine.testing.loopback.wire.anthropic.check", tool_prefix = "toolu_", id_prefix = "msg_",
  paths = { "/messages" }, count_path = "/messages/count_tokens", stream_type = "text/event-stream; charset=utf-8",
}

local STOPS = { context_overflow = "model_context_window_exceeded", sensitive = "refusal" }
local ERROR_TYPES = {
  [400] = "invalid_request_error", [401] = "authentication_error", [402] = "billing_error", [403] = "permission_error",
  [404] = "not_found_error", [413] = "request_too_large", [429] = "rate_limit_error", [504] = "timeout_error",
  [529] = "overloaded_error",
}
local STATUSES = {}
for status, word in pairs(ERROR_TYPES) do
  STATUSES[word] = status
end

--- The schema of the value that a request asks for, or nil.
function anthropic.schema(body)
  local format = (body.output_config or {}).format
  return format and format.schema
end

--- The status that an error type stands for (500 when unknown).
function anthropic.status(word)
  return STATUSES[word] or 500
end

--- An error body: {type, message} with the wire's type for the status when none is given.
function anthropic.error_body(status, err, request_id)
  return json.encode(object("type", "error", "error", object(
    "type", err.type or ERROR_TYPES[status] or (status >= 500 and "api_error" or "invalid_request_error"),
    "message", err.message or "scripted error"), "request_id", request_id))
end

--- The header that carries the request's id.
function anthropic.id_header(request_id)
  return { "request-id", request_id }
end

--- True when a request says by its headers that it is this wire's.
function anthropic.knows(headers)
  return headers["anthropic-version"] ~= nil
end

--- The message when the request carries no key in the wire's form, else nil.
function anthropic.missing_key(headers)
  local authorization = headers["authorization"] or ""
  if (headers["x-api-key"] or "") == "" and not authorization:find("^Bearer %S+$")
    and not authorization:find("^AWS4%-HMAC%-SHA256 ") then -- service.lua looks at signatures
    return "x-api-key header is required"
  end
end

local function usage_object(usage, output)
  if not usage then
    return json.null
  end
  local written = usage.cache_creation or 0
  return object("input_tokens", usage.input, "cache_creation_input_tokens", written,
    "cache_read_input_tokens", usage.cache_read,
    "cache_creation", object("ephemeral_5m_input_tokens", written, "ephemeral_1h_input_tokens", 0),
    "output_tokens", output or usage.output,
    "output_tokens_details", not output and usage.reasoning and object("thinking_tokens", usage.reasoning) or nil)
end

--- stop_reason, stop_sequence, stop_details and container of a plan, put behind the keys that `target` has.
local function add_stop(target, plan)
  local details = json.null
  local stop = STOPS[plan.stop] or plan.stop
  if stop == "refusal" then
    local said
    for _, block in ipairs(plan.blocks) do
      said = said or block.type == "refusal" and block.text or nil
    end
    details = object("type", "refusal", "category", json.null, "explanation", said or json.null)
  end
  json.put(target, "stop_reason", stop)
  json.put(target, "stop_sequence", plan.stop_sequence or json.null)
  json.put(target, "stop_details", details)
  json.put(target, "container", plan.container or json.null)
  return target
end

--- A block as the wire writes it: whole, or as content_block_start shows it (`empty`). nil for what has no block.
local function wire_block(block, empty)
  local b
  if block.type == "text" then
    b = object("type", "text", "text", empty and "" or block.text)
    if block.citations then
      json.put(b, "citations", empty and array {} or array(block.citations))
    end
  elseif block.type == "thinking" then
    b = object("type", "thinking", "thinking", empty and "" or block.text, "signature", empty and "" or block.signature)
  elseif block.type == "redacted_thinking" then
    b = object("type", "redacted_thinking", "data", block.data)
  elseif block.type == "tool_use" then
    local input = empty and {} or json.raw(block.json == "" and "{}" or block.json)
    b = object("type", "tool_use", "id", block.id, "name", block.name, "input", input)
  elseif block.type == "opaque" then
    return block.raw
  else
    return nil
  end
  return json.put_all(b, block.raw)
end

local function wire_message(plan, content)
  return object("id", plan.id, "type", "message", "role", "assistant", "model", plan.model, "content", content)
end

--- The body of the plain answer. nil and the reason when it cannot be a plain one.
function anthropic.plain(plan)
  local why = script.bad_arguments(plan)
  if why then
    return nil, why
  end
  local content = array {}
  for i, block in ipairs(plan.blocks) do
    content[i] = wire_block(block)
  end
  local message = add_stop(wire_message(plan, content), plan)
  json.put(message, "usage", usage_object(plan.usage))
  return json.encode(message)
end

local function event(name, ...)
  return ("event: %s\ndata: %s\n\n"):format(name, json.encode(object("type", name, ...)))
end

local function add_start(out, plan)
  local message = wire_message(plan, array {})
  for _, key in ipairs { "stop_reason", "stop_sequence", "stop_details", "container" } do
    json.put(message, key, json.null)
  end
  json.put(message, "usage", usage_object(plan.usage, 1))
  out:add(event("message_start", "message", message))
  out:add(event "ping")
end

local DELTAS = {
  text = function(fragment) return object("type", "text_delta", "text", fragment) end,
  thinking = function(fragment) return object("type", "thinking_delta", "thinking", fragment) end,
  tool_use = function(fragment) return object("type", "input_json_delta", "partial_json", fragment) end,
}

--- Adds the events of one step of a block's life; `index` is the block's place on the wire.
local function add_step(out, index, kind, block, fragment)
  local function delta(d)
    out:delta(event("content_block_delta", "index", index, "delta", d))
  end
  if kind == "start" then
    out:add(event("content_block_start", "index", index, "content_block", wire_block(block, true)))
    if block.type == "tool_use" then
      out:add(event("content_block_delta", "index", index, "delta", DELTAS.tool_use("")))
    end
  elseif kind == "delta" then
    if not (block.type == "tool_use" and block.json == "{}") then
      delta(DELTAS[block.type](fragment))
    end
  else
    for _, citation in ipairs(block.citations or {}) do
      delta(object("type", "citations_delta", "citation", citation))
    end
    if block.type == "thinking" then
      delta(object("type", "signature_delta", "signature", block.signature))
    end
    out:add(event("content_block_stop", "index", index))
  end
end

local function is_told(block)
  return block.type ~= "refusal" -- of which the end of the message tells
end

--- The pieces of the streamed answer, one per event.
function anthropic.stream(plan)
  local failure = plan.stream_error
  local out = pieces.new(failure)
  add_start(out, plan)
  for kind, block, fragment, index in pieces.steps(plan, is_told) do
    add_step(out, index, kind, block, fragment)
  end
  if failure then
    return out:fail(event("error", "error", object("type", failure.type or "api_error",
      "message", failure.message or "scripted error")))
  end
  out:add(event("message_delta", "delta", add_stop(object(), plan), "usage", usage_object(plan.usage)))
  out:add(event "message_stop")
  return out.list
end

--- Remembers what a plan hands out for `model` (as requested): signatures, redacted data, opaque blocks, containers.
function anthropic.remember(memory, plan, model)
  issued.remember(memory, plan, model)
  if plan.container then
    memory.containers[plan.container.id] = model
  end
  for _, block in ipairs(plan.blocks) do
    if block.type == "opaque" then
      memory.opaque.anthropic[json.encode(block.raw)] = true
    end
  end
end

--- One model of the list.
local function model_object(id)
  return object("type", "model", "id", id, "display_name", "Loopback " .. id:match("%d+$"),
    "created_at", "2026-01-01T00:00:00Z", "max_input_tokens", 200000, "max_tokens", 64000,
    "capabilities", object("image_input", object("supported", true), "pdf_input", object("supported", true),
      "thinking", object("supported", true)))
end

--- The answer to GET …/models (paged: limit, after_id) of the given ids. nil and the reason when the query is wrong.
function anthropic.models(ids, query)
  local limit = math.tointeger(tonumber(query.limit or 20))
  if not limit or limit < 1 or limit > 1000 then
    return nil, "limit: an integer from 1 to 1000 expected"
  end
  local first = 1
  if query.after_id then
    for i, id in ipairs(ids) do
      first = id == query.after_id and i + 1 or first
    end
    if first == 1 then
      return nil, "after_id: no such model"
    end
  end
  local data, last = array {}, math.min(first + limit - 1, #ids)
  for i = first, last do
    data[#data + 1] = model_object(ids[i])
  end
  return json.encode(object("data", data, "has_more", last < #ids, "first_id", ids[first] or json.null,
    "last_id", #data > 0 and ids[last] or json.null))
end

--- The answer to GET …/models/ID.
function anthropic.model(id)
  return json.encode(model_object(id))
end

--- The answer to a count.
function anthropic.count(tokens)
  return json.encode(object("input_tokens", tokens))
end

return anthropic
