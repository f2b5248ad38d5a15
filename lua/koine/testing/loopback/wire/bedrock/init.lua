--- The Converse endpoint of the loopback provider, as Amazon Bedrock has it: plans become plain answers and streams of
-- binary messages, errors take their own shape, signatures are checked, and what was handed out is remembered, so that
-- a replayed signature can be judged. Pure but for the memory tables its caller passes in and the clock.

local frame = require "koine.testing.loopback.wire.bedrock.frame"
local issued = require "koine.testing.loopback.issued"
local json = require "koine.testing.loopback.json"
local pieces = require "koine.testing.loopback.wire.pieces"
local script = require "koine.testing.loopback.script"
local signature = require "koine.testing.loopback.wire.bedrock.signature"

local object, array = json.object, json.array

local bedrock = { check = require "koine.testing.loopback.wire.bedrock.check", tool_prefix = "tooluse_", id_prefix = "",
  paths = { "/model/MODEL/converse", "/model/MODEL/converse-stream" }, count_path = "/model/MODEL/count-tokens",
  models_path = "/foundation-models", stream_type = "application/vnd.amazon.eventstream" }

local STOPS = { context_overflow = "model_context_window_exceeded", sensitive = "guardrail_intervened" }
local TYPES = {
  [400] = "Validation", [401] = "UnrecognizedClient", [403] = "AccessDenied", [404] = "ResourceNotFound",
  [408] = "ModelTimeout", [424] = "ModelError", [429] = "Throttling", [500] = "InternalServer",
  [503] = "ServiceUnavailable",
}

local function type_of(status, err) return err.type or TYPES[status] or status >= 500 and "InternalServer" or nil end

--- True for a request that only this wire makes.
function bedrock.knows(_, path)
  return path:find("^/model/") ~= nil or path == bedrock.models_path
end

--- What a block of a message has of a tool's result, or nil.
function bedrock.result(block) return block.toolResult and block.toolResult.content or block.json end

--- The schema of the value that a request asks for, or nil.
function bedrock.schema(body)
  local format = (body.outputConfig or {}).textFormat
  return format and json.decode(format.structure.jsonSchema.schema)
end

--- The status that a type of error stands for (500 when unknown).
function bedrock.status(word)
  for status, known in pairs(TYPES) do
    if (word or ""):lower():gsub("exception$", "") == known:lower() then
      return status
    end
  end
  return 500
end

--- An error body; its type stands in a header.
function bedrock.error_body(_, err)
  return json.encode(object("message", err.message or "scripted error"))
end

--- The header that carries an error's type; nil where there is none for the status.
function bedrock.error_header(status, err)
  local word = type_of(status, err)
  return word and { "x-amzn-errortype", word .. "Exception:http://internal.amazon.com/coral/com.amazon.bedrock/" }
end

--- The header that carries the request's id.
function bedrock.id_header(request_id)
  return { "x-amzn-requestid", request_id }
end

--- The message when the request carries no key in one of the wire's forms, else nil.
function bedrock.missing_key(headers)
  local authorization = headers["authorization"] or ""
  if not authorization:find("^Bearer %S+$") and not authorization:find("^AWS4%-HMAC%-SHA256 ") then
    return "Missing Authentication Token"
  end
end

local DAYS = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" }
local MONTHS = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" }

-- A date as HTTP writes it, whatever the locale.
local function http_date(time)
  local t = os.date("!*t", math.floor(time))
  return ("%s, %02d %s %04d %02d:%02d:%02d GMT"):format(DAYS[t.wday], t.day, MONTHS[t.month], t.year, t.hour, t.min,
    t.sec)
end

--- The refusal of a request to any endpoint of AWS whose signature is wrong, nil for others.
function bedrock.refuse_signature(request, record)
  local authorization = request.headers["authorization"] or ""
  if not authorization:find("^AWS4%-HMAC%-SHA256 ") then
    return nil
  end
  local word, message = signature.problem(request)
  if not word then
    return nil
  end
  record.problems[#record.problems + 1] = word .. ": " .. message
  return { status = 403, pieces = { bedrock.error_body(403, { message = message }) },
    headers = { { "content-type", "application/json" }, { "date", http_date(signature.now(authorization)) },
      bedrock.error_header(403, { type = word }), bedrock.id_header(record.request_id) } }
end

local function usage_object(usage)
  if not usage then
    return nil
  end
  local read, written = usage.cache_read, usage.cache_creation or 0
  return object("inputTokens", usage.input, "outputTokens", usage.output, "totalTokens",
    usage.input + usage.output + read + written, "cacheReadInputTokens", read, "cacheReadInputTokenCount", read,
    "cacheWriteInputTokens", written, "cacheWriteInputTokenCount", written, "serverToolUsage", object())
end

--- A block as a plain answer has it; nil for what has no block.
local function wire_block(block)
  if block.type == "text" then
    return object("text", block.text)
  elseif block.type == "thinking" then
    return object("reasoningContent", object("reasoningText", object("text", block.text, "signature", block.signature)))
  elseif block.type == "redacted_thinking" then
    return object("reasoningContent", object("redactedContent", block.data))
  elseif block.type == "tool_use" then
    return object("toolUse", object("toolUseId", block.id, "name", block.name,
      "input", json.raw(block.json == "" and "{}" or block.json)))
  elseif block.type == "opaque" then
    return block.raw
  end
end

local function stop_fields(target, plan)
  json.put(target, "stopReason", STOPS[plan.stop] or plan.stop)
  if plan.stop_sequence then
    json.put(target, "additionalModelResponseFields", object("delta", object("stop_sequence", plan.stop_sequence)))
  end
  return target
end

--- The body of the plain answer. nil and the reason when it cannot be a plain one.
function bedrock.plain(plan)
  local why = script.bad_arguments(plan)
  if why then
    return nil, why
  end
  local content = array {}
  for i, block in ipairs(plan.blocks) do
    content[i] = wire_block(block)
  end
  local answer = object("metrics", object("latencyMs", 1),
    "output", object("message", object("role", "assistant", "content", content)))
  stop_fields(answer, plan)
  json.put(answer, "usage", usage_object(plan.usage))
  return json.encode(answer)
end

-- An event, with the padding that the service adds against eavesdroppers.
local function event(word, ...)
  return frame("event", word, json.encode(object(...)):gsub("}$", ',"p":"abcdefghijk"}'):gsub("^{,", "{"))
end

local DELTAS = {
  text = function(fragment) return object("text", fragment) end,
  thinking = function(fragment) return object("reasoningContent", object("text", fragment)) end,
  tool_use = function(fragment) return object("toolUse", object("input", fragment)) end,
}

--- Adds the events of one step of a block's life; `index` is the block's place on the wire.
local function add_step(out, index, kind, block, fragment)
  local function delta(d)
    out:delta(event("contentBlockDelta", "contentBlockIndex", index, "delta", d))
  end
  if kind == "start" then
    if block.type == "tool_use" then
      out:add(event("contentBlockStart", "contentBlockIndex", index,
        "start", object("toolUse", object("toolUseId", block.id, "name", block.name))))
    elseif block.type == "redacted_thinking" then
      delta(object("reasoningContent", object("redactedContent", block.data)))
    end
  elseif kind == "delta" then
    delta(DELTAS[block.type](fragment))
  else
    if block.type == "thinking" then
      delta(object("reasoningContent", object("signature", block.signature)))
    end
    out:add(event("contentBlockStop", "contentBlockIndex", index))
  end
end

--- The message of a stream that tells of a scripted error.
function bedrock.exception(failure)
  local word = failure.type or failure.code or type_of(failure.status or 500, {})
  word = word:sub(1, 1):lower() .. word:sub(2):gsub("Exception$", "") .. "Exception"
  return frame("exception", word, json.encode(object("message", failure.message or "scripted error")))
end

local function is_told(block)
  return block.type ~= "refusal"
end

--- The pieces of the streamed answer, one per message. nil and the reason when it cannot be streamed.
function bedrock.stream(plan)
  local out = pieces.new(plan.stream_error)
  out:add(event("messageStart", "role", "assistant"))
  for kind, block, fragment, index in pieces.steps(plan, is_told) do
    if block.type == "opaque" then
      return nil, "a stream of this wire cannot carry opaque blocks"
    end
    add_step(out, index, kind, block, fragment)
  end
  if plan.stream_error then
    return out:fail(bedrock.exception(plan.stream_error))
  end
  out:add(frame("event", "messageStop", json.encode(stop_fields(object(), plan))))
  out:add(event("metadata", "usage", usage_object(plan.usage), "metrics", object("latencyMs", 1)))
  return out.list
end

--- Remembers the signatures and redacted data of a plan: see issued.remember.
bedrock.remember = issued.remember

local function model_object(id)
  return object("modelId", id, "modelName", "Loopback " .. id:match("%d+$"), "inputModalities",
    array { "TEXT", "IMAGE" }, "outputModalities", array { "TEXT" }, "responseStreamingSupported", true,
    "inferenceTypesSupported", array { "ON_DEMAND" })
end

--- The answer to GET /foundation-models of the given ids.
function bedrock.models(ids)
  local list = array {}
  for i, id in ipairs(ids) do
    list[i] = model_object(id)
  end
  return json.encode(object("modelSummaries", list))
end

--- The answer to a count.
function bedrock.count(tokens)
  return json.encode(object("inputTokens", tokens))
end

return bedrock
