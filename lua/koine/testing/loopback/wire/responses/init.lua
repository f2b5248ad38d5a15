--- The OpenAI Responses endpoint of the loopback provider: plans become the wire's own answers and streams, errors take
-- its own shape, and what was handed out is remembered, so that a replayed item can be judged. Pure but for the memory
-- tables its caller passes in.

local chat = require "koine.testing.loopback.wire.chat"
local json = require "koine.testing.loopback.json"
local logprobs = require "koine.testing.loopback.wire.logprobs"
local script = require "koine.testing.loopback.script"

local object, array = json.object, json.array

local responses = {
  check = require "koine.testing.loopback.wire.responses.check", tool_prefix = "call_", id_prefix = "resp_",
  history = "input", paths = { "/responses" }, count_path = "/responses/input_tokens", stream_type = chat.stream_type,
  error_body = chat.error_body, id_header = chat.id_header, missing_key = chat.missing_key, status = chat.status,
}

local CREATED = 1767225600 -- fixed, so that the same request gets the same bytes

--- The schema of the value that a request asks for, or nil.
function responses.schema(body)
  local format = (body.text or {}).format
  return format and format.schema
end

local COMPLETED = { end_turn = true, tool_use = true, stop_sequence = true, pause_turn = true, completed = true }
local REASONS = { max_tokens = "max_output_tokens", context_overflow = "max_output_tokens",
                  sensitive = "content_filter", refusal = "content_filter" }
local KINDS = { text = "message", refusal = "message", thinking = "reasoning", redacted_thinking = "reasoning",
                tool_use = "function_call", opaque = "opaque" }
local PREFIXES = { message = "msg_", reasoning = "rs_", function_call = "fc_" }

--- Text as the parts of a summary: cut at blank lines, so that joining them with one gives the text again.
local function summary_parts(text)
  local parts, from = {}, 1
  while from do
    local first, last = text:find("\n\n", from, true)
    local part = text:sub(from, (first or 0) - 1)
    if part == "" then
      return text ~= "" and { text } or {}
    end
    parts[#parts + 1], from = part, last and last + 1
  end
  return parts
end

--- The output items of a plan, in order: {kind, index, id, blocks, ids = as handed out}. Neighbouring texts and
-- refusals are the parts of one message, unless a later one has wire fields of its own. Sets `plan.items`, and `item`
-- and `part` (counted from 0) of each block.
local function layout(plan, body)
  local items, last = {}, nil
  for _, block in ipairs(plan.blocks) do
    local kind = KINDS[block.type]
    if not (last and kind == "message" and last.kind == kind and not block.raw) then
      last = { kind = kind, index = #items, blocks = {}, ids = {}, raw = block.raw,
               id = block.raw and block.raw.id or ("%s%s%02x"):format(PREFIXES[kind] or "item_", plan.seed, #items) }
      last.parts = block.type == "thinking" and summary_parts(block.text) or {}
      items[#items + 1] = last
    end
    last.blocks[#last.blocks + 1] = block
    block.item, block.part = last, #last.blocks - 1
  end
  plan.items, plan.stored = items, body.store ~= false
  for _, word in ipairs(body.include or {}) do
    plan.encrypted = plan.encrypted or word == "reasoning.encrypted_content"
    plan.alternatives = plan.alternatives or word == "message.output_text.logprobs" and (body.top_logprobs or 0)
  end
  return items
end

--- How the answer ends: "completed", or "incomplete" and the reason.
local function ending(plan)
  if COMPLETED[plan.stop] or plan.stop == "refusal" and script.refuses(plan) then
    return "completed"
  end
  return "incomplete", REASONS[plan.stop] or plan.stop
end

-- How likely the tokens of text are (blocks, or a piece of it), where the request asks for it, else an empty array.
local function likelihoods(plan, text)
  return plan.alternatives and logprobs.tokens(text, plan.alternatives) or array {}
end

local function content_part(plan, block, empty)
  if block.type == "refusal" then
    return object("type", "refusal", "refusal", empty and "" or block.text)
  end
  return object("type", "output_text", "text", empty and "" or block.text,
    "annotations", array(not empty and block.citations or {}),
    "logprobs", likelihoods(plan, empty and {} or { block }))
end

local ITEMS = {}

function ITEMS.message(item, id, added, status, plan)
  local content = array {}
  for i, block in ipairs(added and {} or item.blocks) do
    content[i] = content_part(plan, block)
  end
  return object("type", "message", "id", id, "status", status, "role", "assistant", "content", content)
end

function ITEMS.reasoning(item, id, added, _, plan)
  local summary, block = array {}, item.blocks[1]
  for i, text in ipairs(added and {} or item.parts) do
    summary[i] = object("type", "summary_text", "text", text)
  end
  local secret = block.signature or block.data
  -- While the item grows its encrypted content does too: only the finished one can be sent back.
  return object("type", "reasoning", "id", id, "summary", summary, "content", array {},
    "encrypted_content", plan.encrypted and (added and secret:sub(1, #secret // 2) or secret) or nil)
end

function ITEMS.function_call(item, id, added, status)
  local block = item.blocks[1]
  return object("type", "function_call", "id", id, "call_id", block.id, "name", block.name,
    "arguments", added and "" or block.json, "status", status)
end

--- An item as the wire writes it under `id`: as it is `added`, or finished.
local function wire_item(plan, item, id, added)
  if item.kind == "opaque" then
    return item.raw
  end
  local last = item.index == #plan.items - 1
  local status = added and "in_progress" or last and ending(plan) or "completed"
  return json.put_all(ITEMS[item.kind](item, id, added, status, plan), item.raw)
end

local function usage_object(usage)
  local input = usage.input + usage.cache_read + (usage.cache_creation or 0)
  return object("input_tokens", input,
    "input_tokens_details", object("cached_tokens", usage.cache_read, "cache_write_tokens", usage.cache_creation),
    "output_tokens", usage.output, "output_tokens_details", object("reasoning_tokens", usage.reasoning or 0),
    "total_tokens", input + usage.output)
end

--- The response object: `status`, why it is incomplete, its error, its output so far; usage only at a good end.
local function response_object(plan, body, id, status, fields)
  local function given(name, default)
    if body[name] ~= nil then
      return body[name]
    end
    return default
  end
  local over = status == "completed" or status == "incomplete"
  return object("id", id, "object", "response", "created_at", CREATED, "status", status, "background", false,
    "completed_at", status == "completed" and CREATED or json.null, "error", fields.error or json.null,
    "incomplete_details", fields.reason and object("reason", fields.reason) or json.null,
    "instructions", given("instructions", json.null), "max_output_tokens", given("max_output_tokens", json.null),
    "model", plan.model, "output", fields.output or array {},
    "parallel_tool_calls", given("parallel_tool_calls", true),
    "previous_response_id", given("previous_response_id", json.null),
    "reasoning", given("reasoning", object("effort", json.null, "summary", json.null)),
    "service_tier", "default", "store", given("store", true), "temperature", given("temperature", 1.0),
    "text", given("text", object("format", object("type", "text"))), "tool_choice", given("tool_choice", "auto"),
    "tools", given("tools", array {}), "top_p", given("top_p", 1.0), "truncation", given("truncation", "disabled"),
    "usage", over and plan.usage and usage_object(plan.usage) or json.null, "metadata", given("metadata", {}))
end

--- The body of the plain answer.
function responses.plain(plan, body)
  local output = array {}
  for i, item in ipairs(layout(plan, body)) do
    output[i] = wire_item(plan, item, item.id)
    item.ids[item.id] = true
  end
  local status, reason = ending(plan)
  return json.encode(response_object(plan, body, plan.id, status, { output = output, reason = reason }))
end

-- A writer of events: `out` is the array of pieces, `left` the deltas that may still be told before a scripted failure.
local Writer = {}
Writer.__index = Writer

--- Writes one event: its name, then key, value, key, value…
function Writer:event(name, ...)
  local data = object("type", name, ...)
  json.put(data, "sequence_number", #self.out)
  self.out[#self.out + 1] = ("event: %s\ndata: %s\n\n"):format(name, json.encode(data))
end

--- The id as this event shows it: another one every time where ids rotate.
function Writer:id(id)
  if not self.plan.rotate_ids then
    return id
  end
  self.turned = self.turned + 1
  return script.digest(self.plan.seed .. ":" .. self.turned):rep(12)
end

--- An event about one item, `...` being its further fields.
function Writer:about(item, name, ...)
  self:event(name, "item_id", self:id(item.id), "output_index", item.index, ...)
end

--- A delta, unless the scripted failure comes first: then false.
function Writer:delta(item, name, ...)
  if self.left == 0 then
    self.broken = true
    return false
  end
  self.left = self.left and self.left - 1
  self:about(item, name, ...)
  return true
end

--- An item appears, or is finished.
function Writer:item(item, added)
  local id = self:id(item.id)
  if not added then
    item.ids[id] = true
    self.finished[#self.finished + 1] = item
  end
  self:event(added and "response.output_item.added" or "response.output_item.done", "output_index", item.index,
    "item", wire_item(self.plan, item, id, added))
end

--- An event that shows the whole response.
function Writer:response(name, status, fields)
  self:event(name, "response", response_object(self.plan, self.body, self:id(self.plan.id), status, fields or {}))
end

--- The finished items, as the last event shows them.
function Writer:output()
  local output = array {}
  table.sort(self.finished, function(a, b) return a.index < b.index end)
  for i, item in ipairs(self.finished) do
    local id = self:id(item.id)
    item.ids[id] = true
    output[i] = wire_item(self.plan, item, id)
  end
  return output
end

local STEPS = {}

function STEPS.text(w, kind, block, fragment)
  local item, at = block.item, block.part
  local word = block.type == "refusal" and "refusal" or "output_text"
  local function likely(text)
    return word == "output_text" and likelihoods(w.plan, text) or nil
  end
  if kind == "start" then
    if at == 0 then
      w:item(item, true)
    end
    w:about(item, "response.content_part.added", "content_index", at, "part", content_part(w.plan, block, true))
  elseif kind == "delta" then
    w:delta(item, ("response.%s.delta"):format(word), "content_index", at, "delta", fragment,
      "logprobs", likely(fragment))
  else
    for i, annotation in ipairs(block.citations or {}) do
      w:about(item, "response.output_text.annotation.added", "content_index", at, "annotation_index", i - 1,
        "annotation", annotation)
    end
    w:about(item, ("response.%s.done"):format(word), "content_index", at,
      word == "refusal" and "refusal" or "text", block.text, "logprobs", likely { block })
    w:about(item, "response.content_part.done", "content_index", at, "part", content_part(w.plan, block))
    if at == #item.blocks - 1 then
      w:item(item, false)
    end
  end
end

STEPS.refusal = STEPS.text

--- Tells a fragment of thinking: the blank lines between the parts of the summary are not told.
local function tell_summary(w, item, fragment)
  while fragment ~= "" do
    local skip = math.min(item.skip or 0, #fragment)
    item.skip, fragment = (item.skip or 0) - skip, fragment:sub(skip + 1)
    local index, told = item.at or 0, item.told or 0
    local text = item.parts[index + 1]
    local piece = fragment:sub(1, #text - told)
    if piece ~= "" then
      if told == 0 then
        w:about(item, "response.reasoning_summary_part.added", "summary_index", index,
          "part", object("type", "summary_text", "text", ""))
      end
      if not w:delta(item, "response.reasoning_summary_text.delta", "summary_index", index, "delta", piece) then
        return
      end
      item.told, fragment = told + #piece, fragment:sub(#piece + 1)
      if item.told == #text then
        w:about(item, "response.reasoning_summary_text.done", "summary_index", index, "text", text)
        w:about(item, "response.reasoning_summary_part.done", "summary_index", index,
          "part", object("type", "summary_text", "text", text))
        item.at, item.told, item.skip = index + 1, 0, 2
      end
    end
  end
end

function STEPS.thinking(w, kind, block, fragment)
  if kind == "delta" then
    tell_summary(w, block.item, fragment)
  else
    w:item(block.item, kind == "start")
  end
end

STEPS.redacted_thinking, STEPS.opaque = STEPS.thinking, STEPS.thinking

function STEPS.tool_use(w, kind, block, fragment)
  if kind == "delta" then
    w:delta(block.item, "response.function_call_arguments.delta", "delta", fragment)
    return
  elseif kind == "end" then
    w:about(block.item, "response.function_call_arguments.done", "arguments", block.json, "name", block.name)
  end
  w:item(block.item, kind == "start")
end

--- The end of a stream that fails: the error, in the shape asked for, and the failed response.
local function fail(w, failure)
  local status = failure.status or responses.status(failure.code or failure.type)
  local said = chat.error_object(status, failure)
  local code = failure.code or failure.type or "server_error"
  local message = failure.message or "scripted error"
  if failure.shape == "flat" then
    w:event("error", "code", code, "message", message, "param", failure.param or json.null)
  else
    w:event("error", "error", said)
  end
  w:response("response.failed", "failed", { output = w:output(), error = object("code", code, "message", message) })
end

--- The pieces of the streamed answer, one per event.
function responses.stream(plan, body)
  local failure = plan.stream_error
  local w = setmetatable({ out = {}, plan = plan, body = body, finished = {}, turned = 0,
                           left = failure and (failure.after or 0) }, Writer)
  layout(plan, body)
  w:response("response.created", "in_progress")
  w:response("response.in_progress", "in_progress")
  for _, step in ipairs(plan.steps) do
    STEPS[step[2].type](w, step[1], step[2], step[3])
    if w.broken then
      break
    end
  end
  if failure then
    fail(w, failure)
  else
    local status, reason = ending(plan)
    w:response("response." .. status, status, { output = w:output(), reason = reason })
  end
  return w.out
end

--- Remembers what a plan hands out for `model` (as requested): encrypted contents with the ids and the item that belong
-- to them, ids, opaque items, and the calls of a response that is stored.
function responses.remember(issued, plan, model)
  local calls, before = {}, nil
  for i, item in ipairs(plan.items) do
    local follower = plan.items[i + 1]
    for id in pairs(item.ids) do
      issued.items[id] = { kind = item.kind, reasoned = before and before.kind == "reasoning" and plan.encrypted }
    end
    local block = item.blocks[1]
    if item.kind == "reasoning" and plan.encrypted then
      issued.encrypted[block.signature or block.data] = { model = model, ids = item.ids, parts = item.parts,
        follower = follower and follower.kind, call_id = follower and follower.blocks[1].id }
      issued.strict = not issued.open
    elseif item.kind == "opaque" then
      issued.opaque.responses[json.encode(block.raw)] = true
    elseif item.kind == "function_call" then
      calls[#calls + 1] = block.id
    end
    before = item
  end
  if plan.stored then
    issued.stored[plan.id] = calls
  end
end

responses.models, responses.model = chat.models, chat.model

--- The answer to a count.
function responses.count(tokens)
  return json.encode(object("object", "response.input_tokens", "input_tokens", tokens))
end

return responses
