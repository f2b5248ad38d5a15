--- A host in fifty lines: runs functions as coroutines on one thread, with park, wake and the pump.

local wait = require "koine.task.wait"

local toy_host = {}

local function resume(self, co, ...)
  self.current = co
  local ok, token, seconds = coroutine.resume(co, ...)
  self.current = nil
  if not ok then error(token, 0) end
  if coroutine.status(co) == "dead" then
    self.running = self.running - 1
    return
  end
  self.parked[token] = { co = co, deadline = seconds and wait.now() + seconds }
end

-- Resumes whoever was woken or whose time is over; true when there was one.
local function turn(self)
  local due = self.woken
  self.woken = {}
  for token, waiter in pairs(self.parked) do
    if waiter.deadline and waiter.deadline <= wait.now() then due[#due + 1] = { token, false } end
  end
  for _, item in ipairs(due) do
    local waiter = self.parked[item[1]]
    self.parked[item[1]] = nil
    if waiter then resume(self, waiter.co, item[2]) end
  end
  return #due > 0
end

-- Seconds until the next deadline, nil when there is none.
local function max_wait(self)
  local nearest
  for _, waiter in pairs(self.parked) do
    if waiter.deadline and (not nearest or waiter.deadline < nearest) then nearest = waiter.deadline end
  end
  return nearest and math.max(nearest - wait.now(), 0)
end

--- Runs the functions to their ends, all at once. Raises what one of them raises.
function toy_host.run(functions)
  local self = { parked = {}, woken = {}, running = #functions }
  wait.set_host {
    park = function(token, seconds)
      if coroutine.running() ~= self.current then return wait.block(token, seconds) end
      return coroutine.yield(token, seconds)
    end,
    wake = function(token) self.woken[#self.woken + 1] = { token, true } end,
  }
  local ok, err = pcall(function()
    for _, f in ipairs(functions) do resume(self, coroutine.create(f)) end
    while self.running > 0 do
      if not turn(self) then wait.pump(max_wait(self)) end
    end
  end)
  wait.set_host(nil)
  if not ok then error(err, 0) end
end

return toy_host
