--- A target of a dispatcher: an agent for each session, with the history of its thread.
--
-- May call: errors, the methods of an agent and of its runs.

local errors = require "koine.errors"

local agents = {}

local methods = {}
local metatable = { __index = methods, __name = "koine.agents" }

--- Makes the agent of a session that has none yet: true, or nil, err.
function methods:ensure_session(key, ctx)
  if self.sessions[key] then return true end
  local agent, messages = self.new_agent(key, ctx)
  if not agent then return nil, messages end
  self.sessions[key] = { agent = agent, messages = messages or {} }
  return true
end

--- Runs the agent on the history and the blocks, as one message of the user: the run's result (see koine.agent), or
-- nil, err. When it fails or is cancelled before the model's first answer, the history stays as it was; later, what was
-- done stays in it.
function methods:run_turn(key, blocks)
  local session = self.sessions[key]
  local messages = table.move(session.messages, 1, #session.messages, 1, {})
  messages[#messages + 1] = { role = "user", content = blocks }
  session.run = session.agent:start(messages)
  local result, err = session.run:result()
  local summary = result or session.run:summary()
  session.run = nil
  if summary.steps > 0 then session.messages = summary.messages end
  if not result then return nil, err end
  if result.status == "cancelled" then
    return nil, errors.new { kind = "cancelled", message = "the turn was cancelled" }
  end
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
-- may wait. Field: sessions, key → {agent, messages = the history so far}. Raises an ArgumentError when new_agent is no
-- function.
function agents.new(new_agent)
  if type(new_agent) ~= "function" then errors.argument("new_agent", "function", new_agent) end
  return setmetatable({ new_agent = new_agent, sessions = {} }, metatable)
end

return agents
