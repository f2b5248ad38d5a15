--- A target of a dispatcher: an agent for each session, with the history of its thread.

local core = require "koine.core"
local defer = require "koine.task.defer"
local turns = require "koine.dispatch.turn"
local errors = require "koine.data.errors"
local records = require "koine.data.records"

local agents = {}

local FORMAT, VERSION = "koine.dispatcher.agents", 1

local methods = {}
local metatable = { __index = methods, __name = "koine.agents" }

local function needs_approval(call)
  return errors.new { kind = "other", message = ("the tool %q needs approval, and a turn cannot wait for it")
    :format(call.name) }
end

local function check_agent(agent)
  local ok, start = pcall(function() return agent.start end)
  if not ok or type(start) ~= "function" then errors.argument("agent", "agent", agent) end
end

-- The history as text.
local function encode(messages) return core.encode { format = FORMAT, version = VERSION, messages = messages } end

-- The messages of a history that was kept as text: nil, err where it is no such text.
local function decode(key, text)
  local value, err = core.decode(text)
  local why = err and err.message
  if not err then
    if type(value) == "table" and value.format == FORMAT and value.version == VERSION then
      local _, unfit = errors.try(records.check_messages, value.messages, "messages")
      if not unfit then return value.messages end
      why = unfit.message
    end
    why = why or ("format %q and version %d expected"):format(FORMAT, VERSION)
  end
  return nil, errors.new { kind = "protocol", message = ("the history of %s cannot be read: %s"):format(key, why) }
end

--- Makes the agent of a session that has none yet; with a dispatcher on a store (ctx.keep) a new one for each turn, and
-- the history is the one of the store: true, or nil, err, also where that cannot be read. Raises an ArgumentError when
-- new_agent returned something else.
function methods:ensure_session(key, ctx)
  if self.sessions[key] and not ctx.keep then return true end
  local kept, problem
  if ctx.history then
    kept, problem = decode(key, ctx.history)
    if not kept then return nil, problem end
  end
  local agent, messages = self.new_agent(key, ctx)
  if not agent then return nil, messages end
  check_agent(agent)
  messages = kept or messages or {}
  records.check_messages(messages, "messages")
  self.sessions[key] = { agent = agent, messages = messages, sent = 0, keep = ctx.keep }
  return true
end

-- Keeps the history of the session's run, which is over, once the model has answered. Where memory is short for that,
-- the next turn does it.
local function keep(session)
  if not session.run then return end
  local messages = session.run:summary().messages
  if #messages > session.sent then
    if session.keep then session.keep(encode(messages)) end
    session.messages = messages
  end
  session.run = nil
end

-- Begins a run of the session: the run, and what is to be closed at its end, however that comes.
local function start(self, key, blocks, ctx)
  local session = self.sessions[key]
  keep(session)
  local messages = table.move(session.messages, 1, #session.messages, 1, {})
  messages[#messages + 1] = { role = "user", content = blocks }
  local parent = ctx and ctx.observe
  local run, held = session.agent:start(messages, parent and { parent = parent }), defer(function()
    keep(session)
    if session.keep and self.sessions[key] == session then self.sessions[key] = nil end
  end)
  session.run, session.sent = run, #messages
  return run, held
end

--- Runs the agent on the history and the blocks, as one message of the user: the run's result (see koine.agent), or
-- nil, err, also where a tool needs approval. When it ends before the model's first answer, the history stays as it
-- was; later, what was done stays in it, whatever becomes of the turn.
function methods:run_turn(key, blocks, ctx)
  local run, kept = start(self, key, blocks, ctx)
  local held <close> = kept -- luacheck: ignore held
  local result, err = run:result()
  if not result then return nil, err end
  if result.status == "cancelled" then return nil, turns.cancelled() end
  if result.status == "paused" then return nil, needs_approval(result.pending[1]) end
  return result
end

--- Breaks off the run of the session, if there is one.
function methods:cancel(key)
  local session = self.sessions[key]
  if session and session.run then session.run:cancel() end
end

--- Forgets the session: the next turn begins with a new agent.
function methods:reset(key) self.sessions[key] = nil end

--- koine.dispatcher.agents(new_agent): a target for a dispatcher. `new_agent(key, ctx)` makes the agent of a session,
-- before its first turn: an agent, and where it has one the history to begin with (array of messages); or nil, err. It
-- may wait. Field: sessions, key → {agent, messages = the history so far}. With koine.dispatcher.shared a session lasts
-- one turn: new_agent is called before each, and its history counts where the store holds none. Raises an ArgumentError
-- when new_agent is no function.
function agents.new(new_agent)
  if type(new_agent) ~= "function" then errors.argument("new_agent", "function", new_agent) end
  return setmetatable({ new_agent = new_agent, sessions = {} }, metatable)
end

return agents
