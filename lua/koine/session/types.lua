--- The words and records of sessions. Records are plain tables; a constructor takes one table of named fields, fills in
-- the defaults, and raises an ArgumentError for a field that is unknown, missing or of the wrong type.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"

local types = {}

--- What a session is for.
types.ROLE = { ORCHESTRATOR = "orchestrator", IMPLEMENTOR = "implementor" }

--- How a session ended.
types.OUTCOME = { COMPLETED = "completed", BLOCKED = "blocked", ERROR = "error" }

--- What an event tells.
types.KIND = { REASONING = "reasoning", TOOL_CALL = "tool_call", TOOL_RESULT = "tool_result", OUTPUT = "output" }

local function is(name) return { expected = name, check = function(value) return type(value) == name end } end

local function one_of(words)
  local known, list = {}, {}
  for _, word in next, words do
    known[word], list[#list + 1] = true, '"' .. word .. '"'
  end
  table.sort(list)
  return { expected = table.concat(list, ", "), check = function(value) return known[value] end }
end

--- Raises an ArgumentError unless the value is one of the words of such a table; `field` names it.
function types.check_word(field, value, words)
  local kind = one_of(words)
  if not kind.check(value) then errors.argument(field, kind.expected, value) end
end

local STRING, NUMBER, BOOLEAN, TABLE = is "string", is "number", is "boolean", is "table"

local function list() return core.array {} end

-- record → field → {kind, default = value or function}; a default of REQUIRED has to be given.
local REQUIRED = {}
local FIELDS = {
  event = { kind = { one_of(types.KIND), REQUIRED }, content = { STRING, "" }, tool_name = { STRING },
    tool_input = { STRING }, tool_call_id = { STRING }, is_error = { BOOLEAN }, redacted = { BOOLEAN },
    traceback = { STRING }, seq = { NUMBER }, timestamp = { NUMBER, 0 } },
  usage = { tokens_in = { NUMBER, 0 }, tokens_out = { NUMBER, 0 }, cost_usd = { NUMBER, 0.0 }, model = { STRING, "" },
    duration_seconds = { NUMBER, 0.0 }, cache_read_tokens = { NUMBER, 0 }, cache_creation_tokens = { NUMBER, 0 },
    reasoning_tokens = { NUMBER, 0 }, model_calls = { NUMBER, 0 }, incomplete = { BOOLEAN } },
  audit = { tool_name = { STRING, REQUIRED }, tool_input = { TABLE, function() return {} end },
    blocked = { BOOLEAN, false }, block_reason = { STRING, "" }, timestamp = { NUMBER, 0 } },
}
FIELDS.result = {
  outcome = { one_of(types.OUTCOME), REQUIRED }, events = { TABLE, list }, artifacts = { TABLE, list },
  audit_log = { TABLE, list }, usage = { TABLE, function() return types.usage {} end }, reason = { STRING },
  error = { TABLE }, stop_reason = { STRING }, truncated = { BOOLEAN }, checkpoint = { BOOLEAN },
  artifacts_source = { STRING }, artifacts_error = { TABLE }, head_before = { STRING }, head_after = { STRING },
  skipped_context = { TABLE, list }, cut_context = { TABLE, list }, skipped_tools = { TABLE, list },
  consumer_error = { STRING },
}

local function make(name, given)
  if type(given) ~= "table" then errors.argument(name, "table of fields", given) end
  local fields, made = FIELDS[name], {}
  for field in next, given do
    if not fields[field] then check.unknown("field", field, fields, name .. "." .. tostring(field)) end
  end
  for field, spec in next, fields do
    local kind, default = spec[1], spec[2]
    local value = given[field]
    if value == nil and default ~= REQUIRED then
      value = default
      if type(value) == "function" then value = value() end
    elseif not kind.check(value) then
      errors.argument(name .. "." .. field, kind.expected, value)
    end
    made[field] = value
  end
  return made
end

--- An event: {kind, content = "", tool_name, tool_input (JSON text), tool_call_id, is_error, redacted,
-- traceback (text, of a tool that raised), seq, timestamp = 0}. `kind` is required.
function types.event(fields) return make("event", fields) end

--- A report of usage: {tokens_in, tokens_out, cost_usd, model = "", duration_seconds, cache_read_tokens,
-- cache_creation_tokens, reasoning_tokens, model_calls, incomplete}; numbers are 0 by default. In the result of a
-- session cost_usd is nil where the price is not known.
function types.usage(fields) return make("usage", fields) end

--- A record of the audit log: {tool_name, tool_input = table, blocked = false, block_reason = "",
-- timestamp = 0}. `tool_name` is required.
function types.audit(fields) return make("audit", fields) end

--- A result: {type = "session_result", outcome, events, usage, artifacts, audit_log, …} as in docs/sessions.md.
-- `outcome` is required, the others are empty by default.
function types.result(fields)
  if type(fields) ~= "table" then errors.argument("result", "table of fields", fields) end
  local given = {}
  for name, value in next, fields do given[name] = value end
  if given.type == "session_result" then given.type = nil end
  local made = make("result", given)
  made.type = "session_result"
  return made
end

return types
