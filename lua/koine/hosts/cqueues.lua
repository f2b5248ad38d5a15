--- Koine under cqueues: whatever waits in a coroutine of a controller lets the controller go on.
-- A coroutine parks on a condition. As long as one of a controller is parked, one more coroutine, the pump, polls the
-- engine for all of them; it ends with the last, so that `controller:loop()` ends as it would without Koine. Elsewhere,
-- also in a coroutine within a coroutine of the controller, Koine blocks.
--
-- May call: wait; cqueues.

local condition = require "cqueues.condition"
local cqueues = require "cqueues"
local wait = require "koine.wait"

local host = {}

local pumps = setmetatable({}, { __mode = "k" })  -- controller → {count = how many are parked, changed = condition}

local function pump(self)
  local engine = wait.engine()
  while self.count > 0 do
    cqueues.poll(engine, self.changed)
    wait.pump(0)
  end
end

-- The controller's pump, started where there is none.
local function pump_of(controller)
  if pumps[controller] then return pumps[controller] end
  local self = { count = 0, changed = condition.new() }
  pumps[controller] = self
  controller:wrap(function()
    local ok, err = pcall(pump, self)
    pumps[controller] = nil
    if not ok then error(err, 0) end
  end)
  return self
end

-- Who parks may have begun something that the engine wants to be stepped for earlier, and who leaves may be the last:
-- the pump looks again.
local function enter(self, change)
  self.count = self.count + change
  self.changed:signal()
end

local function woken(waiter)
  waiter.over = true
  waiter.condition:signal()
end

local function park(token, seconds)
  local controller, own = cqueues.running()
  if not own or not coroutine.isyieldable() then return wait.block(token, seconds) end
  local waiter, self = { condition = condition.new(), over = false, woken = woken }, pump_of(controller)
  wait.register(token, waiter)
  enter(self, 1)
  cqueues.poll(waiter.condition, seconds)
  enter(self, -1)
  wait.forget(token, waiter)
  return waiter.over
end

--- From now on Koine parks in the controllers of cqueues.
function host.install() wait.set_host { park = park, wake = function() end } end

--- Back to plain Lua; when nobody waits any more.
function host.uninstall() wait.set_host(nil) end

return host
