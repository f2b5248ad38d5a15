--- Waiting: how the caller sleeps until the engine has news.
-- park(token, seconds) suspends the caller until the token is woken or the time is over. The caller
-- decides how: a task of koine.run yields to its scheduler; with a host installed (an event loop, a game) the host's
-- own park suspends; any other caller (plain Lua, a user's own coroutine within a task) steps the engine and blocks.
-- A token is the userdata that waits for the engine (a stream, a request, a process), or a table of the caller's, which
-- only `wake` wakes. Waking early is harmless: every caller looks again.
-- The engine keeps its news until they are asked for; `pump` hands them to their waiters, whichever caller stepped.

local core = require "koine.core"
local errors = require "koine.data.errors"

local wait = {}

local SIGNAL = 1 -- seconds; a signal just before the engine sleeps does not wake it: Lua hears of it after so long

local host       -- {park = function(token, seconds), wake = function(token), suspends = function() or nil}, or nil
local task       -- the task of a scheduler that runs now, or nil
-- token → the first task that waits for it. Where several do, they are a ring of `after` and `before`, which one alone
-- has as false. A run that is dropped takes its tasks along: mostly they alone hold their tokens.
local parked = setmetatable({}, { __mode = "k" })
local registered = 0 -- how many waiters came so far; each has its number in `order`
local blocked = setmetatable({}, { __mode = "k" }) -- token → whether it was woken since a caller blocked on it
-- token → true where it became ready while nobody was parked: somebody may pump between a caller's look and its park.
local early = setmetatable({}, { __mode = "k" })
local handed = false -- the token that a host was told of, and has not returned from

--- Seconds of the monotonic clock, the one that deadlines are counted in.
wait.now = core.monotonic

--- The engine of this Lua state: pollfd() (a descriptor that is readable when there is work), events() ("r"), timeout()
-- (seconds until it must be stepped though the descriptor is silent, or nil), step(seconds, opts). Host loops watch the
-- descriptor and the timeout, and call `pump`.
function wait.engine() return core.engine() end

--- Installs a host's halves of waiting: {park = function(token, seconds) → true when woken, false when the time is
-- over, or nil, err; wake = function(token)}, and, where park suspends in some coroutines only, suspends = function() →
-- whether it would in the one that runs. nil goes back to plain Lua. The host's loop runs `pump` whenever the engine's
-- descriptor is readable or its timeout is over. Raises an ArgumentError when a half is missing, and while another host
-- is installed.
function wait.set_host(halves)
  if halves ~= nil then
    if type(halves) ~= "table" then errors.argument("host", "table", halves) end
    for _, name in ipairs { "park", "wake" } do
      if type(halves[name]) ~= "function" then errors.argument("host." .. name, "function", halves[name]) end
    end
    local suspends = halves.suspends
    if suspends ~= nil and type(suspends) ~= "function" then errors.argument("host.suspends", "function", suspends) end
    if host and not rawequal(host, halves) then
      core.raise_argument("host", "one host at a time (uninstall the other first)", "a second host")
    end
  end
  host = halves
end

--- Wakes all that wait for the token when it begins; a host may resume them at once, and waiters that come meanwhile
-- are not woken. Raises where memory is short; the others then wait on, and another call wakes them.
function wait.wake(token)
  local waiter = parked[token]
  if waiter then
    local last = registered
    repeat
      waiter:woken()
      waiter = parked[token]
    until not waiter or waiter.order > last
  end
  if blocked[token] == false then blocked[token] = true end
  if host then
    handed = token
    host.wake(token)
    handed = false
  end
end

--- Steps the engine for at most `seconds` (0: what is ready now; nil: until something happens or a signal comes: Lua's
-- own handler of Ctrl-C then raises as soon as Lua code runs), and wakes every token that became ready: what a host
-- runs in its loop. `opts` is engine:step's: {budget_ms = n} bounds the work, for hosts that draw frames.
-- Raises what a waiter raises that a host runs in its wake; the others who wait for that token, and the tokens behind
-- it, come with the next pump.
function wait.pump(seconds, opts)
  local engine = core.engine()
  core.turn(engine, seconds, opts)
  local token, again = core.ready(engine)
  while token do
    if not parked[token] then early[token] = true end
    -- A coroutine that runs now may pump, and gets the same token again, and so does the next pump where this one
    -- raises. A host that was told of it is not told twice.
    if not again or token ~= handed or parked[token] or blocked[token] == false then wait.wake(token)
    else handed = false end
    token, again = core.ready(engine, token)
  end
end

--- Steps the engine until the token is woken (true) or `seconds` are over (false; nil = no limit). Blocks the thread;
-- also what a host's park does where it cannot yield.
function wait.block(token, seconds)
  if seconds and seconds < 0 then seconds = 0 end -- to the engine less than 0 means no limit
  local deadline = seconds and wait.now() + seconds
  local left = seconds
  blocked[token] = false
  if early[token] then
    early[token], blocked[token] = nil, nil
    return true
  end
  repeat
    wait.pump(left and left < SIGNAL and left or SIGNAL)
    if blocked[token] ~= false then -- nil: a finalizer, or a host, has blocked on it meanwhile
      early[token], blocked[token] = nil, nil
      return true
    end
    left = deadline and deadline - wait.now()
  until left and left <= 0
  blocked[token] = nil
  return false
end

-- Returns what a host's park returned; the news of the token that came meanwhile were its.
local function parked_by_host(token, ...)
  early[token] = nil
  return ...
end

-- Suspends the caller, as wait.park says.
local function park(token, seconds)
  if early[token] and not (task and task.cancelled) then
    early[token] = nil
    return true
  end
  if task then
    if task:yields() then return task:park(token, seconds) end
  elseif host then
    blocked[token] = nil
    return parked_by_host(token, host.park(token, seconds))
  end
  return wait.block(token, seconds)
end

--- Suspends the caller until the token is woken (true) or `seconds` are over (false; nil = no limit); nil, err
-- (CancelledError) when a host cancelled it. Specs put their own function here.
wait.park = park

-- The same for users: raises an ArgumentError at their line.
local function checked(f)
  return function(token, seconds)
    if not token then errors.argument("token", "table, or what waits for the engine", token) end
    if seconds ~= nil and (type(seconds) ~= "number" or seconds ~= seconds) then
      errors.argument("seconds", "number", seconds)
    end
    return f(token, seconds)
  end
end

--- The functions koine.park, koine.block and koine.wake: park, block and wake with their arguments checked. `token` is
-- any table of the caller's own, `seconds` a number or nil (no limit). Raise an ArgumentError for others.
wait.public = { park = checked(function(...) return wait.park(...) end), block = checked(wait.block),
  wake = checked(function(token)
    if type(token) == "userdata" and not parked[token] then early[token] = true end -- one that engine:step gave
    return wait.wake(token)
  end) }

--- Whether park would suspend the caller, and let others go on, rather than block.
function wait.suspends()
  if task then return task:yields() end
  if not host then return false end
  return (host.suspends or coroutine.isyieldable)() and true or false
end

--- Whether a park here would stop the whole program: no task runs, and there is no host.
function wait.alone() return not task and not host end

--- Whether a park here for the token would step the engine and do nothing else, and nobody waits for it already (a
-- finalizer may interrupt one who does): then the core may step the engine by itself for a while.
function wait.only_steps(token)
  return not task and not host and wait.park == park and not parked[token] and blocked[token] == nil
end

--- Sleeps for so many seconds: true, or nil, err when a host cancelled the caller. 0 lets the others run where there
-- are others. Raises an ArgumentError unless it is a number.
function wait.sleep(seconds)
  if type(seconds) ~= "number" or seconds ~= seconds then errors.argument("seconds", "number", seconds) end
  if seconds <= 0 and not task and not host then return true end
  local _, err = wait.park({}, math.max(seconds, 0))
  if err then return nil, err end
  return true
end

-- For schedulers ----------------------------------------------------------------------------------------------------

--- Makes `new` (nil: none) the task that runs, and returns the one before. A task has yields() (whether it runs in its
-- own coroutine), park(token, seconds), woken() (as a waiter has it), adopt(closable), disown(closable).
function wait.switch(new)
  local before = task
  task = new
  return before
end

--- The task that runs, or nil.
function wait.task() return task end

--- Registers a waiter behind those that wait for the token already. Waking calls its method woken(), which first makes
-- sure that it will run and then takes it back by `forget`: in this order a lack of memory does not lose it.
function wait.register(token, waiter)
  local first = parked[token]
  registered = registered + 1
  waiter.order = registered
  if not first then
    parked[token] = waiter
    return
  end
  local last = first.before or first
  waiter.after, waiter.before = first, last
  last.after, first.before = waiter, waiter
end

--- Takes a waiter back; what is not registered stays as it is.
function wait.forget(token, waiter)
  local after, before = waiter.after, waiter.before
  if parked[token] == waiter then parked[token] = after or nil end
  if not after then return end
  if after == before then
    after.after, after.before = false, false
  else
    after.before, before.after = before, after
  end
  waiter.after, waiter.before = false, false
end

--- Tells the task that runs, if there is one, that it opened something with a method `close`: cancelling the task
-- closes it.
function wait.adopt(closable)
  if task then task:adopt(closable) end
end

--- Tells it that something it opened belongs to an object that it may only use: cancelling the task leaves it open.
function wait.disown(closable)
  if task then task:disown(closable) end
end

return wait
