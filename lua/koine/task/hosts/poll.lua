--- Koine with a loop of its own, for programs that have descriptors but no event loop: plain select(2), by luasocket.
--
--   poll.install()
--   poll.spawn(function() print(assert(claude:chat "Hello."):text()) end)
--   poll.spawn(function() poll.await(listener, "r") … end)   sockets of luasocket's, objects with getfd() and dirty()
--   poll.run()
--
-- Koine yields in the coroutines that were spawned here, and blocks elsewhere. The program
-- resumes those that yield by themselves.

local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local pools = require "koine.task.pool"
local socket = require "socket"
local wait = require "koine.task.wait"

local MOST = socket._SETSIZE or 1024 -- descriptors from this one on are beyond select
local WAIT_MAX = 1 -- seconds: select goes on sleeping when a signal comes; Ctrl-C is answered between two

local poll = {}

local pool, watched -- while installed; for "r" and "w": object → token of the coroutine that waits for it

local engine = { getfd = function() return wait.engine():pollfd() end, dirty = function() return false end }

-- Raises before install.
local function check_installed()
  if not pool then core.raise_argument("poll", "an installed host (call poll.install first)", "none") end
end

local function suspends() return coroutine.running() == pool.current and coroutine.isyieldable() end

local function park(token, seconds)
  if suspends() then return pool:park(token, seconds) end
  return wait.block(token, seconds)
end

local halves = { park = park, wake = function() end, suspends = suspends }

--- From now on Koine parks in the coroutines of `spawn`. Raises an ArgumentError while another host is installed.
function poll.install()
  wait.set_host(halves)
  if not pool then pool, watched = pools.new(), { r = {}, w = {} } end
end

--- Back to plain Lua. Raises an ArgumentError while a coroutine waits.
function poll.uninstall()
  if not pool then return end
  pool:check_empty()
  wait.set_host(nil)
  pool, watched = nil, nil
end

--- Has f(…) run as a coroutine, from the next step on. Raises an ArgumentError before install.
function poll.spawn(f, ...)
  check_installed()
  if type(f) ~= "function" then errors.argument("f", "function", f) end
  pool:start(f, ...)
end

-- Raises where select cannot watch the object, which would stop the whole loop.
local function check(field, object)
  local fd = math.tointeger(object:getfd())
  if not fd or fd < 0 or fd >= MOST then
    errors.argument(field, ("open, with a descriptor below %d"):format(MOST), fd)
  end
end

--- Suspends the coroutine, one that was spawned or a task of a koine.run there, until the object can be read ("r") or
-- written ("w"): true, or false when `seconds` (nil: no limit) are over. One coroutine for an object and a mode. Raises
-- an ArgumentError elsewhere, for an object that is closed, and for a descriptor (the object's or the engine's) that
-- select cannot watch.
function poll.await(object, mode, seconds)
  check_installed()
  local waiting, task = watched[mode] or errors.argument("mode", '"r" or "w"', mode), wait.task()
  if not (task and task:yields() or coroutine.running() == pool.current) then
    core.raise_argument("await", "a call inside a coroutine of spawn", "one outside")
  end
  check("object", object)
  check("engine", engine)
  local token, forget <close> = {}, defer(function() waiting[object] = nil end) -- luacheck: ignore forget
  waiting[object] = token
  return wait.park(token, seconds)
end

local function objects(waiting, first)
  local list = { first }
  for object in next, waiting do list[#list + 1] = object end
  return list
end

-- Sleeps until the engine or a descriptor has work, at most so long; wakes the coroutines that waited for a descriptor.
local function sleep(seconds)
  local readable, writable = socket.select(objects(watched.r, engine), objects(watched.w),
    math.min(WAIT_MAX, seconds or WAIT_MAX, wait.engine():timeout() or WAIT_MAX))
  for _, object in ipairs(readable) do
    if not rawequal(object, engine) then wait.wake(watched.r[object]) end
  end
  for _, object in ipairs(writable) do wait.wake(watched.w[object]) end
end

--- One turn: sleeps at most so long (nil: until there is work) and runs every coroutine that can go on. Raises what one
-- of them raises; the others can still go on. Raises an ArgumentError before install.
function poll.step(seconds)
  check_installed()
  seconds = pool:max_wait(seconds)
  if next(watched.r) or next(watched.w) then
    sleep(seconds)
    seconds = 0
  end
  wait.pump(seconds)
  pool:run()
end

--- Runs every coroutine to its end.
function poll.run()
  while pool and pool.count > 0 do poll.step() end -- the last one may uninstall
end

return poll
