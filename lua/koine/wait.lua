--- Waiting: how the caller sleeps until the engine has news.
-- park(token, seconds) suspends the caller until the token's turn comes or the time is over. In plain Lua the caller is
-- the pump: it steps the engine itself. A host (a scheduler, an event loop) installs its own park and a wake, and runs
-- `wait.pump` whenever the engine's descriptor is readable or its timeout is over. A token is the stream or request
-- userdata that waits, or a fresh table for a sleep, which nobody wakes. Waking early is harmless: every caller looks
-- again.
--
-- May call: koine.core, errors.

local core = require "koine.core"
local errors = require "koine.errors"

local wait = {}

local host -- {park = function(token, seconds), wake = function(token)}, or nil in plain Lua

--- Seconds of the monotonic clock, the one that deadlines are counted in.
wait.now = core.monotonic

--- Installs a host's halves of waiting: {park = function(token, seconds) → true when woken, false when the time is
-- over, or nil, err; wake = function(token)}. nil goes back to plain Lua. Raises an ArgumentError when one of them is
-- missing.
function wait.set_host(halves)
  if halves ~= nil then
    for _, name in ipairs { "park", "wake" } do
      if type(halves[name]) ~= "function" then errors.argument("host." .. name, "function", halves[name]) end
    end
  end
  host = halves
end

-- Steps the engine once, for at most `seconds` (nil = until something happens or a signal comes: Lua's own handler of
-- Ctrl-C then raises as soon as Lua code runs). Wakes the host's waiters, and returns whether `token` was among the
-- ready.
local function step(token, seconds)
  local ready, found, others = core.engine():step(seconds), false, {}
  for i = 1, #ready do
    local one = ready[i]
    ready[i] = nil -- the engine keeps this array: a stream in it could not be collected
    if one == token then
      found = true
    elseif host then
      others[#others + 1] = one
    end
  end
  for i = 1, #others do host.wake(others[i]) end -- who runs now may step the engine again
  return found
end

--- Steps the engine until the token is ready (true) or `seconds` are over (false; nil = no limit). Blocks the thread;
-- also what a host's park does where it cannot yield.
function wait.block(token, seconds)
  local deadline = seconds and wait.now() + seconds
  while true do
    local left = deadline and deadline - wait.now()
    if left and left <= 0 then return false end
    if step(token, left) then return true end
  end
end

--- Suspends the caller until the token is ready (true) or `seconds` are over (false; nil = no limit); nil, err
-- (CancelledError) when a host cancelled its task. Specs put their own function here.
function wait.park(token, seconds)
  if host then return host.park(token, seconds) end
  return wait.block(token, seconds)
end

--- Ends the park of whoever waits for the token, a table of one's own: in a host another coroutine may.
function wait.wake(token)
  if host then host.wake(token) end
end

--- Steps the engine for at most `seconds` (0 = what is ready now) and wakes every token that became ready: what a host
-- runs in its loop.
function wait.pump(seconds) step(nil, seconds) end

--- Sleeps for so many seconds: true, or nil, err when a host cancelled its task.
function wait.sleep(seconds)
  if seconds <= 0 then return true end
  local _, err = wait.park({}, seconds)
  if err then return nil, err end
  return true
end

return wait
