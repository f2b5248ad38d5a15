--- Permissions: what an agent asks before a tool runs. A policy, or the host's function, chooses one of the options
-- that the agent offers, by kind: ids differ by agent and tool.
-- A question waits in a task of the peer's; a turn that is cancelled answers all of its questions with "cancelled".
-- Time that is over is a rejection.

local errors = require "koine.data.errors"
local read = require "koine.protocol.acp.client.read"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local permission = {}

local HARMLESS = { read = true, search = true, fetch = true, think = true } -- kinds of tools
local CANCELLED = { outcome = "cancelled" }

-- The first option of one of the kinds, the first kind first; nil for none.
local function of_kind(options, ...)
  for _, kind in ipairs { ... } do
    for _, option in ipairs(options) do
      if option.kind == kind then return option end
    end
  end
end

local policies = {}

function policies.deny() return nil end

function policies.read(request) return HARMLESS[request.kind] and of_kind(request.options, "allow_once") or nil end

function policies.allow(request) return of_kind(request.options, "allow_once", "allow_always") end

--- Whether the names (array; nil: all) allow a tool: by its name or by its kind.
function permission.is_allowed(names, name, kind)
  if not names then return true end
  for _, one in ipairs(names) do
    if one == name or one == kind then return true end
  end
  return false
end

local function with_id(options, id)
  for _, option in ipairs(options) do
    if option.id == id then return option end
  end
end

-- Asks the host's function: an option, or nil and the reason.
local function ask(policy, request)
  local ok, id, reason = pcall(policy, request)
  if not ok then return nil, "the policy raised: " .. errors.words(id) end
  if id == nil then return nil, type(reason) == "string" and reason or nil end
  local option = with_id(request.options, id)
  if option then return option end
  return nil, "the policy chose an option that there is not"
end

-- Decides: an option of the request, or nil and a reason (nil: none is known).
local function decide(policy, names, request)
  if not permission.is_allowed(names, request.tool_name, request.kind) then return nil, "not_allowed" end
  if type(policy) == "string" then return policies[policy](request) end
  return ask(policy, request)
end

-- The options of a request, as the host's function gets them.
local function options_of(params)
  local list = {}
  for _, option in ipairs(read.list(read.at(params, "options"))) do
    local id = read.text(read.at(option, "optionId"))
    if id then list[#list + 1] = { id = id, name = read.text(option.name) or id, kind = read.text(option.kind) } end
  end
  return list
end

--- The request of an agent, as a policy sees it: {title, kind, locations, input, tool_name, tool_call_id, options =
-- array of {id, name, kind}, session}. `tool` is what is known of the tool call (turn/tools.lua).
function permission.request(params, tool, session)
  return { title = tool.title, kind = tool.kind, locations = tool.locations, input = tool.input,
    tool_name = tool.name, tool_call_id = tool.id, options = options_of(params), session = session }
end

-- Runs the decision in a task of its own, until it is there, the pending question is cancelled, or the time is over:
-- the option, or nil and the reason.
local function await(pending, policy, names, request, seconds)
  local latest, chosen, reason = wait.now() + seconds, nil, nil
  local task <close> = scheduler.spawn(function()
    chosen, reason = decide(policy, names, request)
    pending.decided = true
    wait.wake(pending)
  end)
  while not pending.decided and not pending.cancelled do
    local left = latest - wait.now()
    if left <= 0 then
      task:dismiss()
      return nil, "no decision in time"
    end
    wait.park(pending, left)
  end
  if not pending.decided then task:dismiss() end
  return chosen, reason
end

--- Answers a request: the answer for the agent, and nil or why it was denied (a text). `pending` is a table; a turn
-- that is cancelled sets its field `cancelled` and wakes it. `seconds` limits a decision of the host's.
function permission.answer(pending, policy, names, request, seconds)
  if pending.cancelled then return { outcome = CANCELLED }, "cancelled" end
  local option, reason
  if type(policy) == "string" then
    option, reason = decide(policy, names, request)
  else
    option, reason = await(pending, policy, names, request, seconds)
  end
  if pending.cancelled then return { outcome = CANCELLED }, "cancelled" end
  local is_denied = not option or option.kind ~= nil and option.kind:find "^reject" ~= nil
  option = option or of_kind(request.options, "reject_once", "reject_always")
  reason = is_denied and (reason or "denied") or nil
  if not option then return { outcome = CANCELLED }, reason end
  return { outcome = { outcome = "selected", optionId = option.id } }, reason
end

return permission
