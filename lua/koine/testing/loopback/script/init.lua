--- The fields of a scripted answer and their meaning: checks answers and lays one out as a plan that the endpoints
-- render. Pure; errors are returned as text naming the answer and the field. The vocabulary is documented in
-- koine.testing.

local core = require "koine.core"
local check = require "koine.testing.loopback.check"
local copilot = require "koine.testing.loopback.copilot.data"
local gzip = require "koine.testing.loopback.gzip"
local json = require "koine.testing.loopback.json"

local script = {}
local set = check.set

local ANSWER = set [[content embeddings stop_reason stop_sequence
  usage model id chunk interleave reasoning_field rotate_ids
  split_choices container headers error stream_error fault replay path reply]]
local ERROR = set "status headers type code message param body copilot"
local STREAM_ERROR = set "status type code message param after shape"
local REPLY = set "status headers body"
local FAULT = set [[delay_ms write_bytes split_at stall_after reset_after truncate_after end_after content_type gzip
  gzip_bomb echo_authorization]]
local USAGE = set "input_tokens output_tokens cache_read_tokens cache_creation_tokens reasoning_tokens"
local REASONING = set "reasoning_content reasoning reasoning_text reasoning_details content"
local SHAPES = set "flat nested"
local BLOCKS = {
  text = { text = "string" },
  thinking = { thinking = "string" },
  redacted_thinking = { data = "string" },
  refusal = { text = "string" },
  tool_use = { name = "string" },
  opaque = {},
}
local OPTIONAL = {
  thinking = { signature = "string" },
  tool_use = { id = "string", arguments = "table", arguments_json = "string" },
}

local function known(path, t, names)
  if type(t) ~= "table" then
    return ("%s: a table expected, got %s"):format(path, type(t))
  end
  for key in pairs(t) do
    if not names[key] then
      return ("%s: unknown field %q"):format(path, tostring(key))
    end
  end
end

local function check_numbers(path, t, fields)
  for field in fields:gmatch("%S+") do
    local v = t[field]
    if v ~= nil and (math.type(v) ~= "integer" or v < 0) then
      return ("%s.%s: an integer of at least 0 expected"):format(path, field)
    end
  end
end

-- What is wrong with the fields that a block may leave out, or nil.
local function check_optional(at, block)
  for field, kind in pairs(OPTIONAL[block.type] or {}) do
    if block[field] ~= nil and type(block[field]) ~= kind then
      return ("%s.%s: a %s expected"):format(at, field, kind)
    end
  end
  local raw = block.raw or type(block.provider_data) == "table" and block.provider_data.raw or nil
  if type(raw) == "string" then
    raw = json.decode(raw)
  end
  if block.type == "opaque" and not json.is_object(raw) then
    return at .. ".raw: the block as the wire writes it expected (a table or JSON text)"
  end
end

local function check_content(path, content)
  if type(content) == "string" then
    return nil
  elseif type(content) ~= "table" then
    return path .. ": a string or an array of blocks expected"
  end
  for i, block in ipairs(content) do
    local at = ("%s[%d]"):format(path, i)
    local fields = type(block) == "table" and BLOCKS[block.type]
    if not fields then
      return at .. ".type: text, thinking, redacted_thinking, refusal, tool_use or opaque expected"
    end
    for field, kind in pairs(fields) do
      if type(block[field]) ~= kind then
        return ("%s.%s: a %s expected"):format(at, field, kind)
      end
    end
    local problem = check_optional(at, block)
    if problem then
      return problem
    end
  end
end

--- What is wrong with a fault table, or nil.
function script.check_fault(path, fault)
  local problem = known(path, fault, FAULT)
    or check_numbers(path, fault, "delay_ms write_bytes stall_after reset_after truncate_after end_after gzip_bomb")
  if problem then
    return problem
  elseif fault.write_bytes == 0 then
    return path .. ".write_bytes: an integer of at least 1 expected"
  elseif fault.split_at ~= nil then
    if type(fault.split_at) ~= "table" then
      return path .. ".split_at: an array of offsets expected"
    end
    for i, offset in ipairs(fault.split_at) do
      if math.type(offset) ~= "integer" or offset < 1 or i > 1 and offset <= fault.split_at[i - 1] then
        return path .. ".split_at: rising offsets of at least 1 expected"
      end
    end
  end
  if fault.gzip or fault.gzip_bomb then
    local there, why = gzip.check()
    if not there then
      return ("%s.%s: %s"):format(path, fault.gzip and "gzip" or "gzip_bomb", why)
    end
  end
end

--- Reads a recording and returns its response {status, headers, body}, or nil and what is wrong.
function script.recording(path)
  local file, err = io.open(path, "rb")
  if not file then
    return nil, err
  end
  local text = file:read("a")
  file:close()
  local recording, problem = json.decode(text)
  local response = type(recording) == "table" and recording.response
  if type(response) ~= "table" or type(response.body) ~= "string" or math.type(response.status) ~= "integer" then
    return nil, path .. ": not a recording with response.status and response.body" ..
      (problem and " (" .. tostring(problem) .. ")" or "")
  end
  if response.encoding == "base64" then
    response.body = core.base64_decode(response.body)
    if not response.body then
      return nil, path .. ": response.body is no base64"
    end
  end
  return response
end

-- The tables of an answer that have named fields.
local TABLES = { { "error", ERROR }, { "reply", REPLY }, { "stream_error", STREAM_ERROR } }

-- What is wrong with the tables and numbers of an answer, or nil.
local function check_tables(path, answer)
  local problem = answer.content ~= nil and check_content(path .. ".content", answer.content) or nil
  for _, entry in ipairs(TABLES) do
    local field, names = entry[1], entry[2]
    problem = problem or answer[field] ~= nil and known(path .. "." .. field, answer[field], names) or nil
  end
  return problem or answer.fault ~= nil and script.check_fault(path .. ".fault", answer.fault)
    or answer.usage and (known(path .. ".usage", answer.usage, USAGE)
      or check_numbers(path .. ".usage", answer.usage, "input_tokens output_tokens cache_read_tokens " ..
        "cache_creation_tokens reasoning_tokens"))
    or check_numbers(path, answer, "chunk")
end

-- What is wrong with the container and the booleans of an answer, or nil.
local function check_values(path, answer)
  local container = answer.container
  if container ~= nil and not (type(container) == "table" and type(container.id) == "string") then
    return path .. ".container: a table with a string id expected"
  end
  for _, field in ipairs { "interleave", "rotate_ids", "split_choices" } do
    if answer[field] ~= nil and type(answer[field]) ~= "boolean" then
      return ("%s.%s: a boolean expected"):format(path, field)
    end
  end
end

-- What is wrong with the words of an answer, or nil.
local function check_words(path, answer)
  local shape, refusal = (answer.stream_error or {}).shape, (answer.error or {}).copilot
  if answer.reasoning_field ~= nil and not REASONING[answer.reasoning_field] then
    return path .. ".reasoning_field: reasoning_content, reasoning, reasoning_text, reasoning_details or content " ..
      "expected"
  elseif shape ~= nil and not SHAPES[shape] then
    return path .. ".stream_error.shape: flat or nested expected"
  elseif refusal ~= nil and not copilot.errors[refusal] then
    return path .. ".error.copilot: rate_limited, quota_exceeded, weekly, monthly, payment, client_too_old or " ..
      "wrong_host expected"
  end
end

local function check_answer(path, answer)
  local problem = known(path, answer, ANSWER)
  if problem then
    return problem
  end
  local kinds = 0
  for _, field in ipairs { "content", "embeddings", "error", "replay", "reply" } do
    kinds = kinds + (answer[field] ~= nil and 1 or 0)
  end
  if kinds ~= 1 and not (kinds == 0 and answer.stream_error) then
    return path .. ": exactly one of content, embeddings, error, replay, reply expected"
  end
  problem = check_tables(path, answer) or check_values(path, answer) or check_words(path, answer)
  if not problem and answer.replay ~= nil then
    local recording, err = script.recording(answer.replay)
    problem = not recording and path .. ".replay: " .. err or nil
  end
  return problem
end

--- Checks an array of answers. nil when all is well, else one line naming the first wrong field.
function script.check(answers)
  if type(answers) ~= "table" then
    return "answers: an array expected"
  end
  for i, answer in ipairs(answers) do
    local problem = check_answer(("answers[%d]"):format(i), answer)
    if problem then
      return problem
    end
  end
end

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

--- The history in a decoded request of any wire: an array of messages or items.
function script.history(request)
  local history = request.messages or request.input or request.contents
  return type(history) == "string" and json.array { { role = "user", content = history } } or history
end

--- The answer that the "echo" script gives for a decoded request of any wire: it repeats the last user's text.
function script.echo(request)
  local function text_of(content)
    if type(content) == "string" then
      return content
    end
    local parts = {}
    for _, block in ipairs(type(content) == "table" and content or {}) do
      local answer = block.functionResponse and block.functionResponse.response
      parts[#parts + 1] = block.text or block.content and text_of(block.content)
        or answer and (answer.output or answer.error) or nil
    end
    return table.concat(parts, "\n")
  end
  local history = script.history(request)
  for i = #history, 1, -1 do
    local message = history[i]
    if message.role == "user" or message.role == "tool" or message.type == "function_call_output" then
      return { content = "You said: " .. text_of(message.content or message.parts or message.output) }
    end
  end
  return { content = "You said nothing." }
end

return script
