--- Tasks that belong to an object, and not to a caller: a connection's reader, for one. They go on while anybody waits
-- for the object, be it in plain Lua, in a task or in a host, and rest meanwhile as they are. They are those of a run
-- in a coroutine of its own. Of all who wait, one carries the run: it resumes the coroutine whenever a task is ready,
-- and waits in its place in between. When it leaves, another one carries on.

local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local scheduler = require "koine.task.scheduler"
local tasks = require "koine.task.scheduler.task"
local wait = require "koine.task.wait"

local LONGEST = 1 -- seconds after which a waiter looks whether the carrier still comes: its own run may rest

local ROUNDS_MAX = 10 -- in one turn, of tasks that have others go on
local PARK = {} -- what the coroutine yields while all of its tasks wait; any other yield is the user's

local status = coroutine.status

-- What stands for a task of the scheduler's while the run itself waits: its wait leaves the coroutine.
local seat = { depth = 0, yields = function() return true end, adopt = function() end, disown = function() end }

function seat.park(_, token, seconds) return coroutine.yield(PARK, token, seconds) end

local methods = {}
local metatable = { __index = methods, __name = "koine.shared_run", __close = function(self) self:close() end }

local function resume(self, ...)
  local before = wait.switch(seat)
  local results = table.pack(coroutine.resume(self.co, ...))
  wait.switch(before)
  return table.unpack(results, 1, results.n)
end

-- Ends the tasks; what their to-be-closed variables raise is dropped.
local function unwind(self)
  local before = wait.switch(seat)
  coroutine.close(self.co)
  wait.switch(before)
end

-- Handles what a resume returned. A yield of the user's own goes to the coroutine that resumed this one, where that is
-- possible.
local function settled(self, ok, mark, token, seconds, ...)
  if not ok then
    self.err, self.closed = mark, true
  elseif rawequal(mark, PARK) then
    self.token, self.seconds = token, seconds
  elseif status(self.co) == "suspended" then
    if coroutine.isyieldable() then return settled(self, resume(self, coroutine.yield(mark, token, seconds, ...))) end
    return settled(self, resume(self))
  end
end

--- Runs the tasks that are ready now, without waiting; nothing where one of them runs already, further up the stack.
function methods:turn()
  if self.closed or status(self.co) ~= "suspended" then return end
  local rounds = 0
  repeat
    settled(self, resume(self))
    rounds = rounds + 1
  until self.closed or status(self.co) ~= "suspended" or not self.run.first or rounds == ROUNDS_MAX
  if self.closed and status(self.co) == "suspended" then unwind(self) end
  if self.err then
    for token in next, self.waiting do self:wake(token) end
  end
end

-- Whether the caller is in one of the tasks, or in a run within one.
local function is_inside(self)
  local task = wait.task()
  while task and task.run do
    if task.run == self.run then return true end
    task = task.run.outer
  end
  return false
end

-- Whether a task could go on, and the carrier has not come.
local function is_stalled(self)
  local first = self.run.timers:first()
  return self.run.first ~= false or first ~= nil and first.at <= wait.now()
end

local function pass_on(self, token)
  if self.carrier ~= token then return end
  self.carrier = false
  local other = next(self.waiting)
  if other then self:wake(other) end
end

-- Runs the tasks, and waits until one of them can go on or the time is over: as wait.park.
local function carry(self, token, is_done, seconds)
  self.carrier, token.carries = token, true
  self:turn()
  if is_done() or self.closed then return true end
  seconds = math.min(seconds, self.seconds or math.huge)
  if not wait.suspends() then seconds = math.min(seconds, LONGEST) end
  return wait.park(self.token, seconds < math.huge and seconds or nil)
end

local function await_once(self, token, is_done, seconds)
  local suspends = wait.suspends()
  local carries = not self.carrier or self.carrier == token or not suspends or is_stalled(self)
  if carries and status(self.co) == "suspended" then
    return carry(self, token, is_done, seconds)
  elseif suspends then
    return wait.park(token, math.min(seconds, LONGEST))
  end
  return nil, errors.new { kind = "timeout", code = "lock", retryable = false,
    message = "this call waits for a task that cannot go on while it blocks the thread" }
end

--- Waits until is_done() returns true: true; false when the time of the monotonic clock is later than token.deadline
-- (nil: no limit; it may change meanwhile); nil, err where a host cancelled the caller, where the run was closed (kind
-- "cancelled"), and where a caller that blocks would wait for ever (kind "timeout", code "lock"). `token` is a table of
-- the waiter's own, which `wake` wakes; it gets the field `carries`. Raises what a task raised that ended the run.
function methods:await(token, is_done)
  local gone <close> = defer(function() -- luacheck: ignore gone
    self.waiting[token] = nil
    pass_on(self, token)
  end)
  if not is_inside(self) then self.waiting[token] = true end
  while not is_done() do
    if self.err then error(self.err, 0) end
    if self.closed then return nil, errors.new { kind = "cancelled", message = "closed while a call waited" } end
    local left = token.deadline and token.deadline - wait.now() or math.huge
    if left <= 0 then return false end
    token.carries = false
    local _, err = await_once(self, token, is_done, left)
    if err then return nil, err end
  end
  return true
end

--- Wakes a waiter.
function methods:wake(token)
  wait.wake(token)
  if token.carries then wait.wake(self.run) end
end

--- Starts f(…) as a task, which runs when somebody waits, or at the next turn: the task, with the methods of a task of
-- koine.run. A task that raises ends all. Raises an ArgumentError after close.
function methods:spawn(f, ...)
  if self.closed then core.raise_argument("task", "an open run", "a run that is closed") end
  return tasks.spawn(self.run, nil, 0, f, ...)
end

--- Ends all tasks: their to-be-closed variables run, and their errors are dropped. A task that calls this ends at its
-- next wait. Who waits is told. Any number of times.
function methods:close()
  if self.closed then return end
  self.closed = true
  if status(self.co) == "suspended" then unwind(self) end
  for token in next, self.waiting do self:wake(token) end
end

--- A run without tasks.
return function()
  local self = setmetatable({ co = false, run = false, carrier = false, waiting = {}, closed = false, err = false,
    token = false, seconds = false }, metatable)
  self.co = coroutine.create(function()
    scheduler.run(function()
      self.run = wait.task().run
      while true do wait.park(self) end -- so that the run does not end with its last task
    end)
  end)
  self:turn()
  return self
end
