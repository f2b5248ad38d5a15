--- Lays a scripted answer out as a plan that the endpoints render. Pure; answers.lua says which fields an answer has.

local json = require "koine.testing.loopback.json"

local script = {}

--- Cuts text into pieces of about `size` bytes (two, or pieces of 24 bytes, by default), never inside a character.
local function fragments(text, size)
  size = size and size > 0 and size or math.min((#text + 1) // 2, 24)
  local list, from = {}, 1
  while from <= #text do
    local to = math.min(from + size - 1, #text)
    while to < #text and text:byte(to + 1) & 0xC0 == 0x80 do
      to = to + 1
    end
    list[#list + 1] = text:sub(from, to)
    from = to + 1
  end
  return list
end

--- A value for `data` that looks like the opaque text of real servers and depends on it alone.
function script.digest(data)
  local a, b = 0xCBF29CE484222325, 0x9E3779B97F4A7C15
  for i = 1, #data do
    a = (a ~ data:byte(i)) * 0x100000001B3
    b = (b + data:byte(i)) * 0x2545F4914F6CDD1D ~ (b >> 29)
  end
  return ("%016x%016x"):format(a, b)
end

local function raw_fields(block)
  local raw = block.raw or block.provider_data and block.provider_data.raw
  if type(raw) == "string" then
    return json.decode(raw)
  end
  return raw
end

local function plan_block(block, number, where, chunk)
  local b = { type = block.type, raw = raw_fields(block) }
  if block.type == "text" or block.type == "refusal" then
    b.text, b.citations = block.text, block.citations
    b.fragments = fragments(b.text, chunk)
  elseif block.type == "thinking" then
    b.text = block.thinking
    b.signature = block.signature or "Eq" .. script.digest(block.thinking)
    b.fragments = fragments(b.text, chunk)
  elseif block.type == "redacted_thinking" then
    b.data = block.data
  elseif block.type == "tool_use" then
    b.id = block.id or ("%s%08x%016x"):format(where.tool_prefix, where.messages, number)
    b.name = block.name
    b.json = block.arguments_json or json.encode(block.arguments or {})
    b.fragments = fragments(b.json, chunk)
  end
  return b
end

--- The order in which a stream tells the blocks: an array of {"start" | "delta" | "end", block, fragment}. With
-- `interleave`, neighbouring tool calls are told in turns.
local function plan_steps(blocks, interleave)
  local steps, i = {}, 1
  while i <= #blocks do
    local last = i
    while interleave and blocks[i].type == "tool_use" and blocks[last + 1] and blocks[last + 1].type == "tool_use" do
      last = last + 1
    end
    local longest = 0
    for k = i, last do
      steps[#steps + 1] = { "start", blocks[k] }
      longest = math.max(longest, #(blocks[k].fragments or {}))
    end
    for n = 1, longest do
      for k = i, last do
        local fragment = blocks[k].fragments and blocks[k].fragments[n]
        if fragment then
          steps[#steps + 1] = { "delta", blocks[k], fragment }
        end
      end
    end
    for k = i, last do
      steps[#steps + 1] = { "end", blocks[k] }
    end
    i = last + 1
  end
  return steps
end

local function infer_stop(blocks)
  local stop = "end_turn"
  for _, block in ipairs(blocks) do
    if block.type == "tool_use" then
      return "tool_use"
    elseif block.type == "refusal" then
      stop = "refusal"
    end
  end
  return stop
end

--- Usage with every count the answer leaves out; nil when the answer says `usage = false`.
local function plan_usage(usage, blocks, where)
  if usage == false then
    return nil
  end
  local said = 0
  for _, block in ipairs(blocks) do
    said = said + #(block.text or block.json or "")
  end
  usage = usage or {}
  return {
    input = usage.input_tokens or (where.bytes + 3) // 4,
    output = usage.output_tokens or (said + 3) // 4,
    cache_read = usage.cache_read_tokens or 0,
    cache_creation = usage.cache_creation_tokens,
    reasoning = usage.reasoning_tokens,
  }
end

--- True when the plan holds the words of a refusal.
function script.refuses(plan)
  for _, block in ipairs(plan.blocks) do
    if block.type == "refusal" then
      return true
    end
  end
  return false
end

--- Lays out an answer with content. `where` describes the request it answers: {messages = how many, bytes = their size,
-- model = as requested, tool_prefix, id_prefix = for made-up ids, reasoning_field, rotate_ids = what is said when the
-- answer does not}. Made-up ids depend on the request alone, so that the same request gets the same answer, streamed or
-- plain.
function script.plan(answer, where)
  local content = answer.content or {}
  if type(content) == "string" then
    content = content ~= "" and { { type = "text", text = content } } or {}
  end
  local blocks = {}
  for i, block in ipairs(content) do
    blocks[i] = plan_block(block, i, where, answer.chunk)
  end
  return {
    blocks = blocks,
    steps = plan_steps(blocks, answer.interleave),
    stop = answer.stop_reason or infer_stop(blocks),
    stop_sequence = answer.stop_sequence,
    container = answer.container,
    usage = plan_usage(answer.usage, blocks, where),
    model = answer.model or where.model,
    id = answer.id or ("%s%024x"):format(where.id_prefix, where.messages),
    seed = ("%024x"):format(where.messages),
    reasoning_field = answer.reasoning_field or where.reasoning_field or "reasoning_content",
    split_choices = answer.split_choices,
    rotate_ids = answer.rotate_ids == nil and where.rotate_ids or answer.rotate_ids,
    stream_error = answer.stream_error,
  }
end

--- Why a plan fits no plain answer of a wire that has arguments as JSON values; nil where it does.
function script.bad_arguments(plan)
  for _, block in ipairs(plan.blocks) do
    if block.type == "tool_use" and block.json ~= "" and json.decode(block.json) == nil then
      return "a plain answer of this wire cannot carry arguments that are not JSON"
    end
  end
end

--- The history in a decoded request: an array of messages or items. `field`: the endpoint's name for it; nil: messages.
function script.history(request, field)
  local history = request[field or "messages"]
  return type(history) == "string" and json.array { { role = "user", content = history } } or history
end

return script
