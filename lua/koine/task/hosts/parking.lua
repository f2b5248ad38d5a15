--- Coroutines that are parked, for hosts that resume them themselves. Waking only says who is next: nobody is resumed
-- but by `run`, so a wake within the pump, or by a coroutine that runs, nests nothing.

local core = require "koine.core"
local errors = require "koine.data.errors"
local timers = require "koine.task.timers"
local wait = require "koine.task.wait"

local parking = {}
parking.__index = parking

--- Nobody is parked. `count` is how many are parked or ready, `current` the coroutine that `run` resumed; `changed` is
-- called whenever the host's patience may have become another.
function parking.new(changed)
  return setmetatable({ count = 0, changed = changed or function() end, timers = timers.new(), waiting = {}, queue = {},
    first = 1, last = 0 }, parking)
end

-- Takes a waiter ({lot, co, token, timer}) from those that are parked: wait.lua holds it no faster than its token.
local function leave(waiter)
  local lot = waiter.lot
  lot.waiting[waiter] = nil
  if waiter.timer then lot.timers:cancel(waiter.timer) end
  waiter.timer = nil
end

-- Puts a waiter behind those that are ready; the rest is what it is resumed with.
local function ready(waiter, ...)
  local lot = waiter.lot
  leave(waiter)
  waiter.args = table.pack(...)
  lot.last = lot.last + 1
  lot.queue[lot.last] = waiter
  lot.changed()
end

local waiter_mt = { __index = {} }

function waiter_mt.__index:woken() ready(self, true) end

-- Its coroutine was closed, or resumed by somebody else, while it was parked.
function waiter_mt:__close()
  if self.args or self.gone then return end
  self.gone = true
  leave(self)
  wait.forget(self.token, self)
  self.lot.count = self.lot.count - 1
  self.lot.changed()
end

--- What a host's park does in a coroutine that can yield. Raises an ArgumentError when somebody else resumes it.
function parking:park(token, seconds)
  local waiter <close> = setmetatable({ lot = self, co = coroutine.running(), token = token }, waiter_mt)
  if seconds then waiter.timer = self.timers:add { at = wait.now() + seconds, task = waiter } end
  self.count, self.waiting[waiter] = self.count + 1, true
  wait.register(token, waiter)
  self.changed()
  coroutine.yield(self)
  if waiter.args then return waiter.args[1] end
  waiter_mt.__close(waiter) -- raising may leave it open
  core.raise(errors.new { kind = "argument", field = "coroutine", expected = "a coroutine that only the host resumes",
    message = "coroutine: resumed by other code than the host while it waited" })
end

--- Has f(…) run as a coroutine.
function parking:start(f, ...)
  self.count = self.count + 1
  ready({ lot = self, co = coroutine.create(f) }, ...)
end

--- For uninstalling: raises an ArgumentError while anybody is parked or ready, who would never be resumed.
function parking:check_empty()
  if self.count == 0 then return end
  local many = self.count == 1 and "1 coroutine is" or self.count .. " coroutines are"
  core.raise(errors.new { kind = "argument", field = "uninstall", expected = "no waiting coroutine",
    message = ("uninstall: %s still waiting"):format(many) })
end

--- How long the host may sleep: the least of the seconds given (nil: for ever), of those until somebody's time is over,
-- and of 0 when somebody is ready.
function parking:patience(seconds)
  if self.first <= self.last then return 0 end
  local next_up = self.timers:first()
  local left = next_up and math.max(0, next_up.at - wait.now())
  return left and (not seconds or left < seconds) and left or seconds
end

-- Closes a coroutine that raised, and raises its error with the traceback: in the text, or in the field `traceback`.
local function fail(co, err)
  local trace, where = debug.traceback(co), core.where(co)
  coroutine.close(co)
  if errors.is_error(err) and not err.traceback then err.traceback, err.where = trace, err.where or where end
  error(type(err) == "string" and err .. "\n" .. trace or err, 0)
end

--- Resumes, in order, everybody who is ready now. Raises what one of them raises; the others stay ready.
function parking:run()
  self.timers:expire(ready)
  for i = self.first, self.last do
    local waiter = self.queue[i]
    self.queue[i], self.first, self.count = nil, i + 1, self.count - 1
    if coroutine.status(waiter.co) == "suspended" then
      self.current = waiter.co
      local ok, err = coroutine.resume(waiter.co, table.unpack(waiter.args, 1, waiter.args.n))
      self.current = nil
      if not ok then fail(waiter.co, err) end
    end
  end
end

return parking
