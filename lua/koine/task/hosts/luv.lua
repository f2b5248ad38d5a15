--- Koine under luv: a coroutine that waits yields, and a callback of libuv's loop resumes it.
-- A poll handle watches the engine's descriptor, a timer the next moment at which the engine or a parked coroutine
-- wants to run; they keep the loop alive only while a coroutine is parked. An error in a coroutine that is resumed here
-- goes where errors of callbacks go. Koine yields in every coroutine: your own generators want koine.run around them.

local errors = require "koine.data.errors"
local pools = require "koine.task.pool"
local uv = require "luv"
local wait = require "koine.task.wait"

local LONGEST = 1e9 -- seconds that a timer of libuv's is set to: it counts milliseconds in an integer

local host = {}

local pool         -- who is parked, while installed
local poll, timer -- stopped and kept, not closed: luv may crash when the state closes before uv has closed them
local pump, pumping

local function arm()
  if not pool or pumping then return end
  local seconds = pool:max_wait(wait.engine():timeout())
  uv.update_time()
  if seconds then timer:start(math.ceil(math.min(seconds, LONGEST) * 1000), 0, pump) else timer:stop() end
  if pool.count > 0 then poll:ref() else poll:unref() end
end

local function step()
  wait.pump(0)
  pool:run()
end

function pump()
  pumping = true
  local ok, err = pcall(step)
  pumping = false
  arm()
  if not ok then error(tostring(err) .. (errors.is_error(err) and err.traceback and "\n" .. err.traceback or ""), 0) end
end

local function park(token, seconds)
  if not coroutine.isyieldable() then return wait.block(token, seconds) end
  return pool:park(token, seconds)
end

local halves = { park = park, wake = function() end }

--- From now on Koine parks in libuv's default loop, which the program runs. Raises an ArgumentError while another host
-- is installed.
function host.install()
  poll, timer = poll or uv.new_poll(wait.engine():pollfd()), timer or uv.new_timer()
  wait.set_host(halves)
  if pool then return end
  pool = pools.new(arm)
  timer:unref()
  poll:start("r", pump)
  poll:unref()
end

--- Back to plain Lua. Raises an ArgumentError while a coroutine waits.
function host.uninstall()
  if not pool then return end
  pool:check_empty()
  wait.set_host(nil)
  poll:stop()
  timer:stop()
  pool = nil
end

return host
