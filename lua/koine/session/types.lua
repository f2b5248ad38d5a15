--- The words and records of sessions. Records are plain tables; a constructor takes one table of named fields, fills in
-- the defaults, and raises an ArgumentError for a field that is unknown, missing or of the wrong type.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"

local types = {}

--- The roles of a session.
types.ROLE = { ORCHESTRATOR = "orchestrator", IMPLEMENTOR = "implementor" }

--- How a session ended.
types.OUTCOME = { COMPLETED = "completed", BLOCKED = "blocked", ERROR = "error" }

--- The kinds of events.
types.KIND = { REASONING = "reasoning", TOOL_CALL = "tool_call", TOOL_RESULT = "tool_result", OUTPUT = "output" }

-- The words of such a table, sorted.
local function word_of(words)
  local list = {}
  for _, word in next, words do list[#list + 1] = word end
  table.sort(list, core.before)
  return check.one_of(list)
end

--- The checker of what an event tells.
types.kind = word_of(types.KIND)

local NUMBER, COUNT, TEXT = check.number(), check.default(check.number(), 0), check.default(check.string, "")
local LIST = check.default(check.table, function() return core.array {} end)

local EVENT = check.record({ kind = check.required(types.kind), content = TEXT, tool_name = check.string,
  tool_input = check.string, tool_call_id = check.string, is_error = check.boolean, redacted = check.boolean,
  traceback = check.string, tool_kind = check.string, locations = check.table, diffs = check.table,
  seq = NUMBER, timestamp = COUNT }, "table of fields")
local USAGE = check.record({ tokens_in = COUNT, tokens_out = COUNT, cost_usd = check.default(NUMBER, 0.0),
  model = TEXT, duration_seconds = check.default(NUMBER, 0.0), cache_read_tokens = COUNT,
  cache_creation_tokens = COUNT, reasoning_tokens = COUNT, model_calls = COUNT, incomplete = check.boolean },
  "table of fields")
local AUDIT = check.record({ tool_name = check.required(check.string),
  tool_input = check.default(check.table, function() return {} end), blocked = check.default(check.boolean, false),
  block_reason = TEXT, timestamp = COUNT }, "table of fields")
local RESULT = check.record({ outcome = check.required(word_of(types.OUTCOME)), events = LIST, artifacts = LIST,
  audit_log = LIST, usage = check.default(check.table, function() return types.usage {} end), reason = check.string,
  error = check.table, stop_reason = check.string, truncated = check.boolean, checkpoint = check.boolean,
  artifacts_source = check.string, artifacts_error = check.table, head_before = check.string,
  head_after = check.string, ignored = check.table, skipped_context = LIST, cut_context = LIST, skipped_tools = LIST,
  output = check.any, output_error = check.table, output_mode = check.string, consumer_error = check.string },
  "table of fields")

--- An event: {kind, content = "", tool_name, tool_input (JSON text), tool_call_id, is_error, redacted,
-- traceback (text, of a tool that raised), tool_kind, locations, diffs (of agents of other programs),
-- seq, timestamp = 0}. `kind` is required.
function types.event(fields) return EVENT(fields, "event") end

--- A report of usage: {tokens_in, tokens_out, cost_usd, model = "", duration_seconds, cache_read_tokens,
-- cache_creation_tokens, reasoning_tokens, model_calls, incomplete}; numbers are 0 by default. In the result of a
-- session cost_usd is nil where the price is not known.
function types.usage(fields) return USAGE(fields, "usage") end

--- A record of the audit log: {tool_name, tool_input = table, blocked = false, block_reason = "",
-- timestamp = 0}. `tool_name` is required.
function types.audit(fields) return AUDIT(fields, "audit") end

--- A result: {type = "session_result", outcome, events, usage, artifacts, audit_log, …} as in docs/sessions.md.
-- `outcome` is required, the others are empty by default.
function types.result(fields)
  if type(fields) ~= "table" then errors.argument("result", "table of fields", fields) end
  local given = {}
  for name, value in next, fields do given[name] = value end
  if given.type == "session_result" then given.type = nil end
  local made = RESULT(given, "result")
  made.type = "session_result"
  return made
end

return types
