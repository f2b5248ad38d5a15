--- A scripted answer as the caller of an adapter sees it: its deltas in the canonical grammar, its Response,
-- its error. Deterministic: the same answer gives the same deltas and the same Response, streamed or not.

local core = require "koine.core"
local errors = require "koine.data.errors"
local records = require "koine.data.records"
local vocabulary = require "koine.data.vocabulary"
local wait = require "koine.task.wait"

local answers = {}

-- Errors ----------------------------------------------------------------------------------------------------------

local STATUS_OF_TYPE = { authentication_error = 401, billing_error = 402, permission_error = 403,
  not_found_error = 404, request_too_large = 413, invalid_request_error = 400, rate_limit_error = 429,
  timeout_error = 504, overloaded_error = 529 }

-- The error that {status, type, code, message, headers, body, retry_after}, or {kind, …} without a wire, stands for.
local function make_error(given, provider)
  if given.kind then
    return errors.new { kind = given.kind, status_code = given.status, provider = provider, code = given.code,
      message = given.message or "scripted error (" .. given.kind .. ")", retry_after = given.retry_after }
  end
  local status = given.status or STATUS_OF_TYPE[given.type] or 500
  local message = given.message or "scripted error (" .. status .. ")"
  local err = errors.from_answer(provider, { status = status, headers = given.headers or {},
    body = given.body or core.encode { error = { type = given.type, code = given.code, message = message } } }, {})
  err.code, err.retry_after = given.code or given.type, given.retry_after or err.retry_after
  return err
end

-- Content -----------------------------------------------------------------------------------------------------------

-- A tool call's arguments and their JSON text, whichever of the two the answer gives.
local function complete_call(block, ordinal)
  block.id = block.id or ("call_%024x"):format(ordinal)
  if block.arguments then
    block.arguments_json = block.arguments_json or core.encode(block.arguments)
    return block
  end
  block.arguments_json = block.arguments_json or "{}"
  local value, err = core.decode(block.arguments_json)
  if type(value) == "table" and getmetatable(value) ~= core.array_mt then
    block.arguments = value
  else
    block.arguments, block.arguments_error = {}, err and tostring(err) or "not a JSON object"
  end
  return block
end

-- The blocks of an answer, without empty text.
local function content_of(answer)
  local given = answer.content or {}
  if type(given) == "string" then given = { { type = "text", text = given } } end
  local blocks = {}
  for i, block in ipairs(given) do
    if block.type == "tool_use" then block = complete_call(block, i) end
    if not (block.type == "text" and block.text == "") then blocks[#blocks + 1] = block end
  end
  return blocks
end

local function inferred_stop(blocks)
  for _, block in ipairs(blocks) do
    if block.type == "tool_use" or block.type == "refusal" then return block.type end
  end
  return "end_turn"
end

-- Deltas ------------------------------------------------------------------------------------------------------------

-- Cuts text into pieces of about `size` bytes, in two by default, never inside a UTF-8 sequence.
local function fragments(text, size)
  local pieces, from = {}, 1
  size = size or (#text + 1) // 2
  while from <= #text do
    local to = math.min(from + size - 1, #text)
    while to < #text and text:byte(to + 1) & 0xC0 == 0x80 do to = to + 1 end
    pieces[#pieces + 1] = text:sub(from, to)
    from = to + 1
  end
  return pieces
end

-- The deltas of a text or thinking block.
local function run_deltas(list, kind, text, size)
  list[#list + 1] = { type = kind .. "_start" }
  for _, piece in ipairs(fragments(text, size)) do list[#list + 1] = { type = kind .. "_delta", text = piece } end
  list[#list + 1] = { type = kind .. "_end" }
end

-- The deltas of tool calls that run side by side: one fragment of each in turn.
local function call_deltas(list, calls, size)
  local pieces, longest = {}, 0
  for i, call in ipairs(calls) do
    list[#list + 1] = { type = "tool_use_start", tool_call_id = call.id, tool_name = call.name }
    pieces[i] = fragments(call.arguments_json, size)
    longest = math.max(longest, #pieces[i])
  end
  for n = 1, longest do
    for i, call in ipairs(calls) do
      local piece = pieces[i][n]
      if piece then
        list[#list + 1] = { type = "tool_use_delta", tool_call_id = call.id, argument_delta = piece }
      end
    end
  end
  for _, call in ipairs(calls) do list[#list + 1] = { type = "tool_use_end", tool_call_id = call.id } end
end

-- All deltas of an answer. Refusals and opaque blocks have none.
local function deltas_of(blocks, answer)
  local list, i = {}, 1
  while i <= #blocks do
    local block, calls = blocks[i], {}
    if block.type == "text" or block.type == "thinking" then
      run_deltas(list, block.type, block[block.type], answer.chunk)
    end
    while blocks[i] and blocks[i].type == "tool_use" and (#calls == 0 or answer.interleave) do
      calls[#calls + 1], i = blocks[i], i + 1
    end
    call_deltas(list, calls, answer.chunk)
    if #calls == 0 then i = i + 1 end
  end
  return list
end

-- How many deltas come before one …_delta more than `limit`; starts and ends do not count.
local function cut_after(deltas, limit)
  for i, delta in ipairs(deltas) do
    if vocabulary.deltas[delta.type].step == "delta" then
      if limit == 0 then return i - 1 end
      limit = limit - 1
    end
  end
  return #deltas
end

-- Joins the first n deltas: the content of a partial Response. Its tool calls are not to be executed.
local function content_after(deltas, n)
  local blocks, calls = {}, {}
  for i = 1, n do
    local delta = deltas[i]
    local form = vocabulary.deltas[delta.type]
    local kind, step = form.block, form.step
    if step == "start" and kind == "tool_use" then
      local call = { type = "tool_use", id = delta.tool_call_id, name = delta.tool_name, arguments = {},
        arguments_json = "", arguments_error = "the answer broke off" }
      blocks[#blocks + 1], calls[call.id] = call, call
    elseif step == "start" then
      blocks[#blocks + 1] = { type = kind, [kind] = "" }
    elseif delta.argument_delta then
      local call = calls[delta.tool_call_id]
      call.arguments_json = call.arguments_json .. delta.argument_delta
    elseif delta.text then
      local block = blocks[#blocks]
      block[kind] = block[kind] .. delta.text
    end
  end
  return blocks
end

-- The object of an answer (koine.custom_adapter) --------------------------------------------------------------------

local played = {}

-- The scripted delay, once, before the first answer.
local function delay(self)
  local seconds = self.delay
  self.delay = nil
  if seconds then return wait.sleep(seconds) end
  return true
end

function played:next()
  local ready, err = delay(self)
  if not ready then return nil, err end
  if self.sent == self.last then return nil, self.failure end
  self.sent = self.sent + 1
  return self.deltas[self.sent]
end

function played:response() return self.answer end

local played_mt = { __index = played }

local function usage_of(answer)
  local usage = records.to_table(answer.usage or {})
  usage.input_tokens, usage.output_tokens = usage.input_tokens or 0, usage.output_tokens or 0
  return records.to_table(records.usage(usage))
end

--- Plays a scripted answer: the object that koine.custom_adapter wants of a primitive, or nil, err for an answer that
-- is an error.
-- `origin` = {provider, model} goes into Responses and errors.
function answers.play(answer, origin)
  local wait_for = answer.fault and answer.fault.delay_ms and answer.fault.delay_ms / 1000
  if answer.error then
    local ready, err = delay { delay = wait_for }
    if not ready then return nil, err end
    return nil, make_error(answer.error, origin.provider)
  end
  local blocks = content_of(answer)
  local fields = { content = blocks, model = answer.model or origin.model, provider = origin.provider, id = answer.id,
    stop_reason = answer.stop_reason or inferred_stop(blocks), stop_sequence = answer.stop_sequence,
    usage = usage_of(answer) }
  local self = { deltas = deltas_of(blocks, answer), sent = 0, delay = wait_for }
  self.last = #self.deltas
  if answer.stream_error then
    self.last = cut_after(self.deltas, answer.stream_error.after or 0)
    self.failure = make_error(answer.stream_error, origin.provider)
    fields.content, fields.stop_reason, fields.partial = content_after(self.deltas, self.last), "error", true
    self.failure.partial = core.response(fields)
  else
    self.answer = core.response(fields)
  end
  return setmetatable(self, played_mt)
end

return answers
