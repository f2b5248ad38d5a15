--- A session of an agent: what it is asked, one turn at a time, and what is known of it: plan, commands, options,
-- title, size of its context, cost.
-- Its process may end between turns; the next prompt then starts another one, and takes the session up there.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local late = require "koine.protocol.acp.client.turn.late"
local mutex = require "koine.task.mutex"
local opening = require "koine.protocol.acp.client.opening"
local options = require "koine.protocol.acp.client.options"
local permission = require "koine.protocol.acp.client.permission"
local read = require "koine.protocol.acp.client.read"
local settings = require "koine.protocol.acp.client.settings"
local tools = require "koine.protocol.acp.client.turn.tools"
local turns = require "koine.protocol.acp.client.turn"

local session = {}

local methods = {}
local metatable = { __index = methods, __name = "koine.acp.session", __close = function(self) self:close() end }

function metatable.__tostring(self) return ("koine.acp.session (%s)"):format(self.state) end

-- What the agent tells -----------------------------------------------------------------------------------------------

local states = {}

function states.plan(self, update) self.plan = read.list(update.entries) end
function states.available_commands_update(self, update) self.commands = read.list(update.availableCommands) end
function states.config_option_update(self, update) self.options = settings.of_update(update) or self.options end

function states.current_mode_update(self, update)
  local mode = settings.find(self.options, "mode")
  if mode then mode.value = read.text(update.currentModeId) or read.text(update.modeId) or mode.value end
end

function states.session_info_update(self, update)
  if update.title ~= nil then self.title = read.text(update.title) end
end

function states.usage_update(self, update)
  local used, size = read.number(update.used), read.number(update.size)
  if used or size then self.context = { used = used, size = size } end
  local amount = read.number(read.at(update, "cost", "amount"))
  if amount and read.at(update, "cost", "currency") == "USD" then
    self.cost_usd, self.cost_count = amount, self.cost_count + 1
  end
end

--- Takes an update, for the link: into what is known, and to the turn that runs. What comes between turns, and what is
-- of a turn that was broken off, goes to on_update alone.
function session.take(self, update)
  update = read.object(update)
  if not update or type(update.sessionUpdate) ~= "string" then return end
  local enter = states[update.sessionUpdate]
  if enter then enter(self, update) end
  if self.turn and not self.turn.done and self.late:is_of_turn(update) then
    turns.push(self.turn, { update = update })
  elseif not self.loading and self.settings.on_update then
    self.pool:tell(self.settings.on_update, update, self)
  end
end

--- Whether somebody takes this session's updates in order, for the link.
function session.listens(self) return self.loading or self.turn ~= false end

-- The policy of a question that belongs to no turn: what it raises no turn tells, so the next call raises it.
local function heard(self, policy)
  if type(policy) == "string" then return policy end
  return function(request)
    local ok, id, reason = pcall(policy, request)
    if ok then return id, reason end
    self.pool:tell(error, id, 0)
    return nil
  end
end

--- The agent asks for a service, for the link: a value for <close> when that is answered; both times it was heard.
function session.hears(self)
  local turn = self.turn
  return turn and turns.hears(turn) or nil
end

--- Decides about a request for permission, for the link: the answer, a table. Waits for a decision of the host's.
function session.ask(self, params)
  self.link.peer:take(self.id) -- what came before the question
  local call, turn, pending = read.object(params.toolCall) or {}, self.turn, { cancelled = false, decided = false }
  local tool
  if turn then tool = turns.asks(turn, pending, call) else tool = tools.new():merge(call) end
  local request = permission.request(params, tool or {}, self)
  local policy = turn and self.settings.permission or heard(self, self.settings.permission)
  local answer, reason = permission.answer(pending, policy, self.settings.allowed_tools, request,
    self.link.options.timeout.permission)
  if turn then turns.decided(turn, pending, request.tool_call_id, reason) end
  return answer
end

-- Settings -----------------------------------------------------------------------------------------------------------

-- Sets an option, whose agent is there.
local function set(self, name, value)
  local option, wanted = settings.resolve(self.options, name, value)
  if not option then return nil, wanted end
  local method, params = settings.call(self.id, option, wanted)
  local reply, err = self.link:request(method, params, self.link.options.timeout.session)
  if not reply then return nil, err end
  self.options = settings.of_update(reply) or self.options
  option = settings.find(self.options, option.id)
  if option and option.form ~= "config" then option.value = wanted end
  self.chosen[name] = value
  return true
end

--- Sets an option of the agent by its id, or "model", "mode" or "thinking": true; or nil, err: kind invalid_request
-- (code "option") names the options or values that there are. Not while a turn waits. Raises an ArgumentError, and what
-- on_update, on_log and on_elicit raised before.
function methods:set(name, value)
  check.name(name, "option")
  if type(value) ~= "string" and type(value) ~= "boolean" then
    errors.argument("value", "string or boolean", value)
  end
  local ready, err = session.revive(self)
  if not ready then return nil, err end
  self.pool:check()
  return set(self, name, value)
end

-- Living -------------------------------------------------------------------------------------------------------------

--- Enters the agent's answer to the request that opened the session in a link, and makes the choices of the user:
-- true, or nil, err.
function session.adopt(self, link, reply)
  self.link, self.state, self.late = link, "idle", late.new()
  self.options = settings.of_reply(reply) or self.options
  for _, name in ipairs { "mode", "model", "thinking" } do
    local value = self.chosen[name]
    local option = value and settings.find(self.options, name)
    if value and not (option and option.value == value) then
      local ok, err = set(self, name, value)
      if not ok then return nil, err end
    end
  end
  return true
end

-- Makes the session anew, as the agent has lost it.
local function begin_again(self, link)
  local reply, err = opening.new(link, self.settings)
  if not reply then return nil, err end
  link:leave(self)
  self.id, self.reset, self.cost_usd, self.cost_base = reply.sessionId, true, nil, 0
  link:enter(self)
  return reply
end

--- Takes the session up in a link, by its id: true, or nil, err. Where the agent lost it, it begins anew, and `reset`
-- is true.
function session.take_up(self, link)
  link:enter(self)
  self.loading = true
  local reply, err = opening.take_up(link, self)
  self.loading = false
  link.peer:drop(self.id)
  if not reply and not err then reply, err = begin_again(self, link) end
  if not reply then
    link:leave(self)
    self.link = false
    return nil, err
  end
  return session.adopt(self, link, reply)
end

--- Starts another process where the session's own is gone, and takes the session up there: true, or nil, err.
function session.revive(self)
  if self.state == "closed" then return nil, errors.new { kind = "cancelled", message = "the session was closed" } end
  if self.link and self.link:poll() then return true end -- what came before this call belongs to no turn
  local held <close>, busy = self.reviving:hold() -- luacheck: ignore held
  if busy then return nil, busy end
  if self.link and self.link:is_alive() then return true end
  self.state = "dead"
  local link, err = self.pool:link_for(self.settings)
  if not link then return nil, err end
  local ok, problem = session.take_up(self, link)
  if ok then return true end
  if not self.pool.is_shared then link:close() end
  return nil, problem
end

--- Begins a turn: a turn (see turn/init.lua), whose events are read one by one; or nil, err. A second one waits for the
-- end of the first. Raises an ArgumentError, and what on_update, on_log and on_elicit raised before.
function methods:start(blocks, opts)
  local checked = options.turn(opts == nil and {} or opts)
  self.pool:check()
  local held, err = self.gate:hold()
  if not held then return nil, err end
  return turns.start(self, blocks, checked, held, session.revive)
end

--- Plays a turn: its result, {status, stop_reason, text, outputs, calls, usage, …} (docs/acp.md); or nil, err.
-- `blocks` is a text or an array of blocks. Options:
--   on_event   function(event), as soon as one is complete (docs/sessions.md)
--   on_delta   function(delta): text as it comes, {type = "text_delta" | "thinking_delta", text}
--   on_update  function(update): every update as the agent sent it
--   timeout    {idle, total}: seconds
--   parent     context or traceparent: what the prompt is a part of for observers
-- A caller that leaves cancels the turn. Raises an ArgumentError, and what the functions raise.
function methods:prompt(blocks, opts)
  local turn <close>, err = self:start(blocks, opts)
  if not turn then return nil, err end
  local on_event = turn.options.on_event
  for event in turn do
    if on_event then on_event(event) end
  end
  return turn:result()
end

--- Cancels the turn that runs, without waiting: whether one did.
function methods:cancel()
  if not self.turn or self.turn.done then return false end
  return self.turn:cancel()
end

--- Ends the session: a turn that runs is cancelled, the agent is told where it wants to be, and its process ends where
-- that is the session's own. The id can be taken up later. Returns nothing; any number of times.
function methods:close()
  if self.state == "closed" then return end
  self:cancel()
  self.state = "closed"
  local link = self.link
  self.pool:forget(self)
  if not link or link.closed then return end
  link:close_session(self.id)
  link:leave(self)
  if not self.pool.is_shared then link:close() end
end

--- A session with this id (nil: not known yet), whose processes are of this pool. `kept` are its options
-- (options.of_session).
function session.new(pool, id, kept)
  return setmetatable({ pool = pool, id = id, settings = kept, options = core.array {},
    chosen = { model = kept.model, mode = kept.mode, thinking = kept.thinking },
    commands = core.array {}, plan = core.array {}, title = nil, context = nil, cost_usd = nil, cost_base = nil,
    cost_count = 0, reset = false, stopping = false, state = "idle", link = false, turn = false, loading = false,
    late = late.new(), gate = mutex(), reviving = mutex() }, metatable)
end

return session
