--- The fields of a scripted answer, and their checks. Pure; problems are returned as text naming the answer and the
-- field. The vocabulary is documented in koine.testing.

local check = require "koine.testing.loopback.check"
local copilot = require "koine.testing.loopback.copilot.data"
local gzip = require "koine.testing.loopback.gzip"
local json = require "koine.testing.loopback.json"
local recording = require "koine.testing.loopback.script.recording"

local answers = {}
local set = check.set

local ANSWER = set [[content echo embeddings stop_reason stop_sequence
  usage model id chunk interleave reasoning_field rotate_ids
  split_choices container headers error stream_error fault replay exchange path reply]]
local ERROR = set "status headers type code message param body copilot"
local STREAM_ERROR = set "status type code message param after shape"
local REPLY = set "status headers body"
local FAULT = set [[delay_ms write_bytes split_at stall_after reset_after truncate_after end_after content_type gzip
  gzip_bomb echo_authorization pause_ms]]
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
-- What blocks of a Response have beside these; the server plays nothing of it but opaque blocks.
local OTHER = set "type provider_data raw citations logprobs arguments_error output"

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

-- The problem with a field that no block of this type has, or nil.
local function check_block_fields(at, block)
  local optional = OPTIONAL[block.type] or {}
  for field in pairs(block) do
    if not (BLOCKS[block.type][field] or optional[field] or OTHER[field]) then
      return ("%s: unknown field %q"):format(at, tostring(field))
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

-- The problem with the fields that a block may leave out, or nil.
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
    local problem = check_block_fields(at, block) or check_optional(at, block)
    if problem then
      return problem
    end
  end
end

-- The problem with the offsets that a fault splits at, or nil.
local function check_offsets(path, offsets)
  if type(offsets) ~= "table" then
    return path .. ": an array of offsets expected"
  end
  for i, offset in ipairs(offsets) do
    if math.type(offset) ~= "integer" or offset < 1 or i > 1 and offset <= offsets[i - 1] then
      return path .. ": rising offsets of at least 1 expected"
    end
  end
end

--- The problem with a fault table, or nil.
function answers.check_fault(path, fault)
  local problem = known(path, fault, FAULT) or check_numbers(path, fault, "delay_ms pause_ms write_bytes " ..
    "stall_after reset_after truncate_after end_after gzip_bomb")
  if problem then
    return problem
  elseif fault.write_bytes == 0 then
    return path .. ".write_bytes: an integer of at least 1 expected"
  end
  problem = fault.split_at ~= nil and check_offsets(path .. ".split_at", fault.split_at)
  if problem then
    return problem
  end
  if fault.gzip or fault.gzip_bomb then
    local there, why = gzip.check()
    if not there then
      return ("%s.%s: %s"):format(path, fault.gzip and "gzip" or "gzip_bomb", why)
    end
  end
end

-- The tables of an answer that have named fields.
local TABLES = { { "error", ERROR }, { "reply", REPLY }, { "stream_error", STREAM_ERROR } }

-- The problem with the tables and numbers of an answer, or nil.
local function check_tables(path, answer)
  local problem = answer.content ~= nil and check_content(path .. ".content", answer.content) or nil
  for _, entry in ipairs(TABLES) do
    local field, names = entry[1], entry[2]
    problem = problem or answer[field] ~= nil and known(path .. "." .. field, answer[field], names) or nil
  end
  return problem or answer.fault ~= nil and answers.check_fault(path .. ".fault", answer.fault)
    or answer.usage and (known(path .. ".usage", answer.usage, USAGE)
      or check_numbers(path .. ".usage", answer.usage, "input_tokens output_tokens cache_read_tokens " ..
        "cache_creation_tokens reasoning_tokens"))
    or check_numbers(path, answer, "chunk")
end

-- The problem with the container, the embeddings and the booleans of an answer, or nil.
local function check_values(path, answer)
  local container = answer.container
  if container ~= nil and not (type(container) == "table" and type(container.id) == "string") then
    return path .. ".container: a table with a string id expected"
  end
  for _, field in ipairs { "echo", "embeddings" } do
    if answer[field] ~= nil and answer[field] ~= true then
      return ("%s.%s: true expected"):format(path, field)
    end
  end
  local exchange = answer.exchange
  if exchange ~= nil and not (answer.replay ~= nil and math.type(exchange) == "integer" and exchange > 0) then
    return path .. ".exchange: the number of an exchange of the cassette to replay expected"
  end
  for _, field in ipairs { "interleave", "rotate_ids", "split_choices" } do
    if answer[field] ~= nil and type(answer[field]) ~= "boolean" then
      return ("%s.%s: a boolean expected"):format(path, field)
    end
  end
end

-- The problem with the words of an answer, or nil.
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
  for _, field in ipairs { "content", "echo", "embeddings", "error", "replay", "reply" } do
    kinds = kinds + (answer[field] ~= nil and 1 or 0)
  end
  if kinds ~= 1 and not (kinds == 0 and answer.stream_error) then
    return path .. ": exactly one of content, echo, embeddings, error, replay, reply expected"
  end
  problem = check_tables(path, answer) or check_values(path, answer) or check_words(path, answer)
  if not problem and answer.replay ~= nil then
    local found, err = recording(answer.replay, answer.exchange)
    problem = not found and path .. ".replay: " .. err or nil
  end
  return problem
end

--- Checks an array of answers. nil when all is well, else one line naming the first wrong field.
function answers.check(list)
  if type(list) ~= "table" then
    return "answers: an array expected"
  end
  for i, answer in ipairs(list) do
    local problem = check_answer(("answers[%d]"):format(i), answer)
    if problem then
      return problem
    end
  end
end

return answers
