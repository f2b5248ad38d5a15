--- The user's approval of a call, which the editor asks for. "Always" is remembered by the session for the tool of that
-- name.

local core = require "koine.core"
local errors = require "koine.data.errors"

local permission = {}

local ONCE, ALWAYS, NEVER = "allow", "allow_always", "reject"

local function options_of(session, name)
  local list = core.array { { optionId = ONCE, name = "Allow", kind = "allow_once" } }
  if session.server.options.always then
    list[2] = { optionId = ALWAYS, name = ("Always allow %s in this session"):format(name), kind = "allow_always" }
  end
  list[#list + 1] = { optionId = NEVER, name = "Reject", kind = "reject_once" }
  return list
end

--- Asks for a call that waits ({id, name}): true; false and the reason; nil where the editor cancelled the turn.
function permission.ask(turn, call)
  local session = turn.session
  if session.allowed[call.name] then return true end
  local answer, err = session.server.peer:request("session/request_permission", { sessionId = session.id,
    toolCall = turn.calls:to_permit(call.id), options = options_of(session, call.name) })
  if err then
    if err.kind == "cancelled" or err.kind == "connect" then return nil end
    return false, "the editor could not ask the user: " .. errors.words(err)
  end
  local outcome = type(answer) == "table" and type(answer.outcome) == "table" and answer.outcome or {}
  if outcome.outcome == "cancelled" then return nil end
  if outcome.outcome ~= "selected" then return false, "the editor's answer was no choice of the user's" end
  if outcome.optionId == ALWAYS and session.server.options.always then session.allowed[call.name] = true end
  if outcome.optionId == ONCE or session.allowed[call.name] then return true end
  return false, "the user rejected it"
end

return permission
