--- Koine under cqueues: a wait in a coroutine of a controller lets the controller go on.
-- A coroutine parks on a condition. As long as one of a controller is parked, one more coroutine, the pump, polls the
-- engine for all of them; it ends with the last, so that `controller:loop()` ends as it would without Koine. Elsewhere,
-- also in a coroutine within a coroutine of the controller, Koine blocks.

local condition = require "cqueues.condition"
local cqueues = require "cqueues"
local wait = require "koine.task.wait"

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

-- Has the pump look again: a coroutine that parks may have begun work for which the engine needs an earlier step, and
-- one that leaves may be the last.
local function enter(self, change)
  self.count = self.count + change
  self.changed:signal()
end

local waiter_mt = { __index = {} }

function waiter_mt.__index:woken()
  self.over = true
  self.condition:signal()
  wait.forget(self.token, self)
end

-- Its time is over, it was woken, or its coroutine was closed.
function waiter_mt:__close()
  wait.forget(self.token, self)
  enter(self.pump, -1)
end

-- Whether park can yield here, and the controller.
local function suspends()
  local controller, own = cqueues.running()
  return own == true and coroutine.isyieldable(), controller
end

local function park(token, seconds)
  local can, controller = suspends()
  if not can then return wait.block(token, seconds) end
  local waiter <close> = setmetatable({ pump = pump_of(controller), token = token, condition = condition.new(),
    over = false }, waiter_mt)
  enter(waiter.pump, 1)
  wait.register(token, waiter)
  cqueues.poll(waiter.condition, seconds)
  return waiter.over
end

local halves = { park = park, wake = function() end, suspends = suspends }
local installed = false

--- From now on Koine parks in the controllers of cqueues. Raises an ArgumentError while another host is installed.
function host.install()
  wait.set_host(halves)
  installed = true
end

--- Back to plain Lua. A coroutine that waits goes on when its wait ends, and blocks from then on.
function host.uninstall()
  if installed then wait.set_host(nil) end
  installed = false
end

return host
