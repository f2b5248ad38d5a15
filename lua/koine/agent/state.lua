--- The state of a run: plain data, all that a dump holds.
--   status    "running", or how it ended: "completed", "stopped", "cancelled"; `reason` says more
--   messages  the history; its last message may be one of the assistant with calls that wait
--   calls     nil, or the calls of that message, in order, until all are answered: {id, name, arguments,
--             arguments_json; problem = why it cannot be run, nil when it can;
--             approval = nil | "asked" | "given" | "denied";
--             edited = the arguments that approval put in place; started = true from just before its tool runs;
--             content, is_error, blocked, reason, traceback = its answer; told = true once its event was made}
--   log       every call that was answered: {id, name, arguments_json, is_error, blocked, reason, executed}
--   outbox    events that were made and not handed out yet
--   usage, steps, events, pauses (in a row), stop_reason, text, elapsed (seconds, of earlier processes)
--   output    the value that the last answer holds, where one was asked for; output_error: why it holds none;
--             output_mode: how it was asked for

local core = require "koine.core"
local errors = require "koine.data.errors"
local judge = require "koine.data.schema.judge"
local records = require "koine.data.records"
local usage = require "koine.data.usage"

local state = {}

local FORMAT, VERSION = "koine.agent", 1

local INTERRUPTED = "interrupted: this call did not come to its end; it may have had its effect or not"
local NOT_RUN = "not run: "

--- The state of a run that begins with these messages (array, copied).
function state.new(messages)
  return { status = "running", messages = records.to_table(messages), log = core.array {}, outbox = core.array {},
    usage = usage.zero(), steps = 0, events = 0, pauses = 0, elapsed = 0.0, text = "" }
end

-- What a unit changes: values, and lists that it adds to.
local VALUES = { "calls", "status", "events", "pauses", "stop_reason", "text", "output", "output_error", "output_mode" }
local LISTS = { "messages", "log", "outbox" }

--- What a unit makes of a state: its values, to work on, and the lists of what comes behind its messages, log and
-- outbox; `last` (nil at first) is a message in place of the state's last one. A unit that breaks off leaves the state
-- as it was.
function state.draft(self)
  local draft = { messages = {}, log = {}, outbox = {} }
  for _, name in ipairs(VALUES) do draft[name] = self[name] end
  return draft
end

-- Enters a draft; raises where memory ends.
local function enter(self, draft)
  if draft.last then self.messages[#self.messages] = draft.last end
  for _, name in ipairs(LISTS) do table.move(draft[name], 1, #draft[name], #self[name] + 1, self[name]) end
  for _, name in ipairs(VALUES) do self[name] = draft[name] end
end

-- Takes a draft back, which takes no memory. `before` is the state's own draft with the lengths of its lists.
local function undo(self, before)
  for _, name in ipairs(VALUES) do self[name] = before[name] end
  for _, name in ipairs(LISTS) do
    for i = #self[name], before[name] + 1, -1 do self[name][i] = nil end
  end
  if before.last then self.messages[#self.messages] = before.last end
end

--- Puts a draft in place, all of it or nothing, also where memory ends.
function state.commit(self, draft)
  local before = state.draft(self)
  for _, name in ipairs(LISTS) do before[name] = #self[name] end
  before.last = self.messages[before.messages]
  local entered, err = pcall(enter, self, draft)
  if entered then return end
  undo(self, before)
  error(err, 0)
end

--- Makes an event of a run and puts it into the outbox of a draft.
function state.tell(draft, event)
  draft.events = draft.events + 1
  event.seq, event.timestamp = draft.events, core.wall()
  draft.outbox[#draft.outbox + 1] = event
end

-- Histories ---------------------------------------------------------------------------------------------------------

--- The content of a message as an array of blocks.
function state.blocks(content)
  if type(content) == "string" then return core.array { { type = "text", text = content } } end
  return content
end

--- The text blocks of a message's or a result's content, joined.
function state.text_of(content, separator)
  if type(content) == "string" then return content end
  local texts = {}
  for _, block in ipairs(content) do
    if block.type == "text" then texts[#texts + 1] = block.text end
  end
  return table.concat(texts, separator)
end

--- The calls (tool_use blocks) of a content, in order, but for one that holds the answer itself.
function state.uses(content)
  local uses = {}
  for _, block in ipairs(type(content) == "table" and content or {}) do
    if block.type == "tool_use" and not block.output then uses[#uses + 1] = block end
  end
  return uses
end

-- The answer of a call as a block.
local function result_block(call)
  return { type = "tool_result", tool_use_id = call.id, content = call.content, is_error = call.is_error }
end

--- The user's message that answers all of these calls; a call without an answer is answered as not run because of
-- `why`, as interrupted when it had started.
function state.answers(calls, why)
  local blocks = core.array {}
  for i, call in ipairs(calls) do
    local answered = call.content ~= nil and call
      or { id = call.id, content = call.started and INTERRUPTED or NOT_RUN .. why, is_error = true }
    blocks[i] = result_block(answered)
  end
  return { role = "user", content = blocks }
end

--- Answers a call that had started and did not come to its end: its process ended, or trouble of the machine, of a
-- call beside it or of the caller broke it off.
function state.interrupt(call) call.content, call.is_error = INTERRUPTED, true end

--- The history so far as a legal one, a copy: calls that wait are answered as not run because of `why`.
function state.history(self, why)
  local messages = records.to_table(self.messages)
  if self.calls then
    local answers = state.answers(self.calls, ("the run ended before this call (%s)"):format(why))
    messages[#messages + 1] = records.to_table(answers)
  end
  return messages
end

-- Dumps -------------------------------------------------------------------------------------------------------------

local STRING, BOOLEAN, NUMBER = { type = "string" }, { type = "boolean" }, { type = "number" }
local COUNT, OBJECT = { type = "integer", minimum = 0 }, { type = "object" }

local function object(properties, required) return { type = "object", properties = properties, required = required } end
local function list(items) return { type = "array", items = items } end

local CALL = object({ id = STRING, name = STRING, arguments = OBJECT, arguments_json = STRING, problem = STRING,
  approval = { enum = { "asked", "given", "denied" } }, edited = OBJECT, started = BOOLEAN,
  content = { type = { "string", "array" } }, is_error = BOOLEAN, blocked = BOOLEAN, reason = STRING,
  traceback = STRING, told = BOOLEAN }, { "id", "name", "arguments", "arguments_json" })

local COSTS = object({ input = NUMBER, output = NUMBER, cache_read = NUMBER, cache_write = NUMBER, total = NUMBER },
  { "total" })

local USAGE = object({ input_tokens = COUNT, output_tokens = COUNT, cache_read_tokens = COUNT,
  cache_creation_tokens = COUNT, reasoning_tokens = COUNT, model_calls = COUNT, incomplete = BOOLEAN,
  uncounted = OBJECT, premium_requests = NUMBER, cost = COSTS, cost_source = STRING },
  { "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "reasoning_tokens", "model_calls" })

local EVENT = object({ kind = STRING, content = STRING, tool_name = STRING, tool_input = STRING, tool_call_id = STRING,
  is_error = BOOLEAN, redacted = BOOLEAN, traceback = STRING, seq = COUNT, timestamp = NUMBER },
  { "kind", "content", "seq", "timestamp" })

local LOGGED = object({ id = STRING, name = STRING, arguments_json = STRING, is_error = BOOLEAN, blocked = BOOLEAN,
  reason = STRING, executed = BOOLEAN }, { "id", "name", "arguments_json", "is_error", "executed" })

local STATE = object({ status = { enum = { "running", "completed", "stopped", "cancelled" } }, reason = STRING,
  messages = list(OBJECT), calls = list(CALL), log = list(LOGGED), outbox = list(EVENT), usage = USAGE, steps = COUNT,
  events = COUNT, pauses = COUNT, stop_reason = STRING, text = STRING, elapsed = { type = "number", minimum = 0 },
  output = true, output_error = OBJECT, output_mode = STRING },
  { "status", "messages", "log", "outbox", "usage", "steps", "events", "pauses", "text", "elapsed" })

local DUMP = object({ format = { const = FORMAT }, version = { const = VERSION }, state = STATE },
  { "format", "version", "state" })
DUMP.additionalProperties, STATE.additionalProperties, CALL.additionalProperties = false, false, false

--- The state as JSON text; `elapsed` is the seconds that belong in it.
function state.encode(self, elapsed)
  local copy = {}
  for name, value in next, self do copy[name] = value end
  copy.elapsed = elapsed
  return core.encode { format = FORMAT, version = VERSION, state = copy }
end

local function foreign(why)
  return nil, errors.new { kind = "other", code = "bad_dump", message = "this is no dump of an agent's run: " .. why }
end

local function check_messages(messages)
  for i, message in ipairs(messages) do records.check_message(message, "messages[" .. i .. "]") end
  return true
end

-- Whether the calls of a state are those of its last message: nil, or what is wrong. Before the first answer there is
-- no rule: the caller gave that history, with its calls.
local function calls_problem(self)
  local last, calls = self.messages[#self.messages], self.calls or {}
  local uses = last and last.role == "assistant" and self.steps > 0 and state.uses(last.content) or {}
  if self.calls and #calls == 0 or #calls ~= #uses then return "calls that are not those of the last message" end
  for i, call in ipairs(calls) do
    if call.id ~= uses[i].id or call.name ~= uses[i].name then return "calls that are not those of the last message" end
  end
end

--- The state that a text holds, or nil, err when it is no dump.
function state.decode(text)
  local dump, err = core.decode(text)
  if dump == nil then return foreign(err.message) end
  local fits, why = judge.validate(DUMP, DUMP, dump, "")
  if not fits then return foreign(why) end
  local self = dump.state
  fits, err = errors.try(check_messages, self.messages)
  if not fits then return foreign(err.message) end
  why = calls_problem(self)
  if why then return foreign(why) end
  return self
end

return state
