--- A turn: one prompt, and all that the agent says until its answer. Its events are pulled:
--
--   local turn <close> = assert(session:start "Fix the test.")
--   for event in turn do print(event.kind, event.content) end
--   local result = assert(turn:result())
--
-- States: running; stopping, once it is cancelled; over. The request itself waits in a task of the peer's: so a turn
-- whose reader has left still ends in order, and the next one waits for that. What the agent says meanwhile is dropped.
-- Silence ends a turn: it is cancelled, and where the agent does not even answer that, its process is ended.

local blocks = require "koine.protocol.acp.client.blocks"
local core = require "koine.core"
local ending = require "koine.protocol.acp.client.turn.ending"
local defer = require "koine.task.defer"
local events = require "koine.protocol.acp.client.turn.events"
local failure = require "koine.protocol.acp.client.failure"
local observe = require "koine.protocol.acp.client.turn.observe"
local options = require "koine.protocol.acp.client.options"
local permission = require "koine.protocol.acp.client.permission"
local queue = require "koine.task.queue"
local read = require "koine.protocol.acp.client.read"
local terminals = require "koine.protocol.acp.client.services.terminals"
local tools = require "koine.protocol.acp.client.turn.tools"
local wait = require "koine.task.wait"

local turn = {}

local WAITING_MAX = 1000      -- updates that the reader has not taken
local WAITING_BYTES = 4 << 20 -- of these, beyond which none is added

local methods = {}
local metatable = { __index = methods, __name = "koine.acp.turn", __call = function(self) return self:next() end,
  __close = function(self) self:close() end }

-- For the link and the session ---------------------------------------------------------------------------------------

local function is_full(self)
  return not self.left and (self.items:count() >= WAITING_MAX or self.waiting >= WAITING_BYTES)
end

--- Adds what the agent said, {update} or {asked = a tool call}. Waits while the reader has much to take.
function turn.push(self, item)
  while is_full(self) do wait.park(self.room) end
  self.heard = wait.now()
  if self.left or self.limit then return end
  local update = item.update
  item.size = read.size(update or item.asked)
  self.waiting = self.waiting + item.size
  if update and (update.sessionUpdate == "tool_call" or update.sessionUpdate == "tool_call_update") then
    self.seen:merge(update)
  end
  self.items:push(item)
  self.link.peer:wake(self.token)
end

--- The agent was heard, and will have been when the returned value is closed.
function turn.hears(self)
  self.heard = wait.now()
  return defer(function() self.heard = wait.now() end)
end

--- Enters a question for permission, which a cancel answers: what is known of its tool call. The clock of silence
-- stops until it is decided.
function turn.asks(self, pending, call)
  self.pending[pending], self.asked = true, self.asked + 1
  if self.span then observe.asks(self, pending) end
  pending.cancelled = self.cancelled_at ~= false
  turn.push(self, { asked = call })
  local seen = (self.left or self.limit) and tools.new() or self.seen -- what is not counted is not kept
  return seen:merge(call)
end

--- The question was decided; `reason` says why it was denied, nil where it was not.
function turn.decided(self, pending, id, reason)
  self.pending[pending], self.heard = nil, wait.now()
  if reason and not pending.cancelled then self.refused = self.refused + 1 end
  if id and reason then self.denied[id] = reason end
  observe.decided(pending)
  self.link.peer:wake(self.token)
end

-- The answer is there, or the error in its place.
local function over(self, reply, err)
  self.done, self.reply, self.problem = true, reply, err
  local session = self.session
  if session.turn == self then
    session.turn = false
    session.late:finish(self.cancelled_at or not reply or reply.stopReason == "cancelled")
    if session.state ~= "closed" then session.state = self.link:is_alive() and "idle" or "dead" end
  end
  self.link.peer:wake(self.token)
  wait.wake(self.room)
end

-- Waiting ------------------------------------------------------------------------------------------------------------

-- When the time of a turn is over, and which; nil for never.
local function deadline(self, from)
  local times = self.times
  if self.cancelled_at then return self.cancelled_at + times.stop, "stop" end
  local idle = not next(self.pending) and math.max(self.heard, from) + times.idle or math.huge
  local total = times.total and self.began + times.total or math.huge
  if total < idle then return total, "total" end
  if idle < math.huge then return idle, "idle" end
end

-- Time is over: the turn is cancelled, or the agent ended.
local function expire(self, which)
  if which == "stop" then
    self.late = self.late or failure.late("stop", "the agent did not stop its turn in time")
    self.link:kill()
    if not self.done then over(self, nil, self.late) end
  else
    self.late = failure.late(which, which == "idle" and "the agent was silent for too long"
      or "the turn took too long")
    self:cancel()
  end
end

-- Waits until there is something to take, or the turn is over: true, or nil, err where the caller was cancelled.
local function await(self, is_ready)
  local from = wait.now()
  while not is_ready() do
    local ok, err = self.link.peer:await(self.token, function()
      self.token.deadline = deadline(self, from)
      return is_ready()
    end)
    if err and not self.link.peer:is_open() and not self.done then
      over(self, nil, err) -- it was closed: its tasks tell nothing any more
    elseif err then
      return nil, err
    elseif not ok then
      local latest, which = deadline(self, from) -- the agent may have been heard meanwhile
      if latest and latest <= wait.now() then expire(self, which) end
    end
  end
  return true
end

local function release(held)
  local gone <close> = held -- luacheck: ignore gone
end

-- Gives the session to the next one. A turn that is not over goes on to its end, unheard.
local function leave(self)
  if self.left then return end
  self.left, self.items, self.waiting = true, queue.new(), 0
  wait.wake(self.room)
  release(self.held)
end

-- The end ------------------------------------------------------------------------------------------------------------

-- What the turn did: {id, name, kind, input, status, blocked, reason} of each tool call.
local function calls_of(self)
  local list = core.array {}
  for i, tool in ipairs(self.collector.tools.list) do
    local reason = self.denied[tool.id]
    local allowed = permission.is_allowed(self.session.settings.allowed_tools, tool.name, tool.kind)
    list[i] = { id = tool.id, name = tool.name, kind = tool.kind, input = tool.input, at = tool.at,
      status = tool.over and tool.status or "cancelled", blocked = reason ~= nil and tool.status ~= "completed",
      reason = reason or not allowed and "not_allowed" or nil }
  end
  return list
end

local function result_of(self)
  local session = self.session
  local cost = ending.cost(self.cost_before, session.cost_count > self.cost_count and session.cost_usd or nil)
  return { text = table.concat(self.outputs, "\n\n"), outputs = self.outputs, calls = calls_of(self),
    context = session.context, cost_usd = cost, warnings = core.array {}, reset = self.reset or nil,
    session_id = session.id }
end

-- Why a turn without a result ended.
local function reason_of(self)
  local problem = self.problem
  if self.late or self.limit then return self.late or self.limit end
  if problem and failure.is_end(problem) then return self.link:explain(problem) end
  if self.cancelled_at or problem.kind == "cancelled" or failure.is_cancelled(problem) then
    return failure.cancelled()
  end
  return self.link:explain(problem)
end

local function finish(self)
  if self.finished then return end
  self.finished = true
  self.collector:finish(self.cancelled_at and {} or self.denied)
  local result = result_of(self)
  if self.reply and not self.late and not self.limit and not self.cancelled_at then
    self.final = ending.judge(result, self.reply)
  else
    local err = reason_of(self)
    result.status = err.kind == "cancelled" and "cancelled" or "failed"
    result.usage = ending.usage(self.reply or {})
    err.partial, self.err = result, err
  end
  if self.span then observe.over(self, self.final or nil, self.err or nil) end
  leave(self)
end

-- For the user -------------------------------------------------------------------------------------------------------

local function take(self, item)
  self.waiting = self.waiting - item.size
  wait.wake(self.room)
  if self.limit then return end
  local problem
  if item.asked then
    problem = self.collector:asked(item.asked, item.size)
  else
    if self.options.on_update then self.options.on_update(item.update, self.session) end
    problem = self.collector:take(item.update, item.size)
  end
  if problem then
    self.limit = problem
    self:cancel()
  end
end

--- The next event (docs/sessions.md), or nil at the end of the turn, also where it failed. Raises what on_delta and
-- on_update raise.
function methods:next()
  while true do
    local event = self.told:pop()
    if event then return event end
    if self.finished or self.left then return nil end
    local item = self.items:pop()
    if item then
      take(self, item)
    elseif self.done then
      finish(self)
    else
      local ok, err = await(self, function() return self.done or self.items:count() > 0 end)
      if not ok then
        self.err = err
        self:close()
      end
    end
  end
end

--- Goes on to the end: the result; or nil, err: the error's `partial` is the result so far. kind cancelled after
-- cancel; timeout (code "idle", "total", or "stop": the agent was ended); connect where the agent ended; auth, server
-- and others as the agent answered; limit (code "output").
function methods:result()
  while self:next() do end -- luacheck: ignore
  if self.final then return self.final end
  return nil, self.err or failure.cancelled()
end

--- Asks the agent to stop, without waiting: whether the turn ran. Questions for permission that wait are answered.
function methods:cancel()
  if self.done or self.cancelled_at then return false end
  self.cancelled_at, self.session.state = wait.now(), "stopping"
  self.link:tell("session/cancel", { sessionId = self.session.id })
  for pending in next, self.pending do
    pending.cancelled = true
    wait.wake(pending)
  end
  self.link.peer:wake(self.token)
  return true
end

--- Cancels a turn that is not over, and lets go of it without waiting; the session's next turn waits for its end.
-- Returns nothing; any number of times.
function methods:close()
  if self.finished or self.left then return end
  if not self.done then
    self:cancel()
    self.session.stopping = self
  end
  self.err = self.err or failure.cancelled()
  if self.span then observe.over(self, nil, self.err) end
  leave(self)
end

-- Waits for the end of a turn that was let go of.
local function settle(session)
  local before = session.stopping
  if not before then return true end
  local ok, err = await(before, function() return before.done end)
  if not ok then return nil, err end
  session.stopping = false
  return true
end

local function new(session, opts, held)
  local self = setmetatable({ session = session, link = session.link, options = opts, held = held,
    times = options.times(opts.timeout, session.link.options.timeout), token = {}, room = {}, items = queue.new(),
    waiting = 0, told = queue.new(), outputs = core.array {}, pending = {}, denied = {}, began = wait.now(),
    heard = wait.now(), done = false, reply = false, problem = false, late = false, limit = false,
    cancelled_at = false, left = false, finished = false, final = false, err = false,
    span = false, asked = 0, refused = 0,
    cost_before = session.cost_usd or session.cost_base, cost_count = session.cost_count, reset = session.reset,
    collector = false, seen = tools.new() }, metatable)
  session.reset = false
  self.collector = events.new(function(event)
    if event.kind == "output" then self.outputs[#self.outputs + 1] = event.content end
    self.told:push(event)
  end, function(delta)
    if opts.on_delta then opts.on_delta(delta) end
  end, function(id) return terminals.text(self.link, id) end, session.link.options.output_max)
  return self
end

-- Begins: the turn, or nil, err.
local function begin(session, given, opts, held, revive)
  local ok, err = settle(session)
  if ok then ok, err = revive(session) end
  if not ok then return nil, err end
  local prompt, unfit = blocks.convert(given, session.link.capabilities)
  if not prompt then return nil, unfit end
  local self = new(session, opts, held)
  session.turn, session.state = self, "running"
  local parent, meta = opts.parent, nil
  if parent or session.settings.observer then
    self.span = observe.prompt(session, parent) or false
    meta = observe.meta(self.span, parent)
  end
  self.link.peer:spawn(function()
    local reply, problem = self.link.peer:request("session/prompt",
      { sessionId = session.id, prompt = prompt, _meta = meta }, { session = session.id })
    over(self, not problem and (read.object(reply) or {}), problem)
  end)
  self.link.peer:turn()
  return self
end

--- Begins a turn of a session: a turn, or nil, err. `held` is the session's gate, a value for <close>; revive(session)
-- → true, or nil, err sees that the agent is there. Raises an ArgumentError.
function turn.start(session, given, opts, held, revive)
  local gate <close> = defer(function() release(held) end)
  local self, err = begin(session, given, opts, held, revive)
  if not self then
    if opts.parent or session.settings.observer then observe.unsent(session, opts.parent, err) end
    return nil, err
  end
  gate:cancel()
  return self
end

return turn
