--- Coroutines that are parked, for hosts that resume them themselves. Waking only notes which is next, and
-- `run` alone resumes: a wake within the pump, or by a coroutine that runs, does not nest. Waking takes no memory, so
-- that no coroutine is lost where memory ends.

local core = require "koine.core"
local errors = require "koine.data.errors"
local queue = require "koine.task.queue"
local timers = require "koine.task.timers"
local wait = require "koine.task.wait"

local pool = {}
pool.__index = pool

--- An empty pool. `count` is how many coroutines are parked or ready, `current` the coroutine that `run` resumed;
-- `changed` is called whenever the host's longest wait may have changed.
function pool.new(changed)
  return setmetatable({ count = 0, current = false, changed = changed or function() end, timers = timers.new(),
    waiting = {}, ready = queue.line() }, pool)
end

local methods = {}
local waiter_mt = { __index = methods }

-- A waiter, with all its fields from the start. `args` are what its coroutine begins with, false when it has begun;
-- `answer` is what its park returns, `over` that the wait has ended: it stands in line, or its coroutine goes on.
local function new_waiter(self, co, token, args)
  return setmetatable({ pool = self, co = co, token = token, args = args, timer = false, answer = false, over = false,
    following = false, order = 0, after = false, before = false }, waiter_mt)
end

-- Takes a waiter from those that are parked: wait.lua keeps it only as long as its token.
local function leave(waiter)
  local owner = waiter.pool
  owner.waiting[waiter] = nil
  if waiter.timer then owner.timers:cancel(waiter.timer) end
  waiter.timer = false
  if waiter.token then wait.forget(waiter.token, waiter) end
end

-- Puts a waiter behind those that are ready; `woken` is what its park returns. After a lack of memory the caller calls
-- it again.
local function ready(waiter, woken)
  local owner = waiter.pool
  if not waiter.over then
    owner.ready:push(waiter)
    waiter.answer, waiter.over = woken, true
  end
  owner.changed()
  leave(waiter)
end

--- The token was woken.
function methods:woken() ready(self, true) end

-- Its coroutine was closed while it was parked, or resumed by other code than `run`.
function waiter_mt:__close()
  local parked, owner = not self.over, self.pool
  if parked then self.over, owner.count = true, owner.count - 1 end
  leave(self)
  if parked then owner.changed() end
end

--- Parks a host's coroutine that can yield. Raises an ArgumentError when other code resumes it.
function pool:park(token, seconds)
  local waiter <close> = new_waiter(self, coroutine.running(), token, false)
  self.count = self.count + 1
  self.waiting[waiter] = true
  if seconds then waiter.timer = self.timers:add { at = wait.now() + seconds, task = waiter } end
  wait.register(token, waiter)
  self.changed()
  coroutine.yield(self)
  if waiter.over then return waiter.answer end
  waiter_mt.__close(waiter) -- raising may leave it open
  core.raise(errors.new { kind = "argument", field = "coroutine", expected = "a coroutine that only the host resumes",
    message = "coroutine: resumed by other code than the host while it waited" })
end

--- Has f(…) run as a coroutine.
function pool:start(f, ...)
  local waiter = new_waiter(self, coroutine.create(f), false, table.pack(...))
  self.count = self.count + 1
  ready(waiter, true)
end

--- For uninstalling: raises an ArgumentError while a coroutine is parked or ready: the host would never resume it.
function pool:check_empty()
  if self.count == 0 then return end
  local many = self.count == 1 and "1 coroutine is" or self.count .. " coroutines are"
  core.raise(errors.new { kind = "argument", field = "uninstall", expected = "no waiting coroutine",
    message = ("uninstall: %s still waiting"):format(many) })
end

--- How long the host may sleep: the least of the seconds given (nil: for ever), of those until the next wait is
-- over, and of 0 when a coroutine is ready.
function pool:max_wait(seconds)
  if self.ready:count() > 0 then return 0 end
  local next_up = self.timers:first()
  local left = next_up and math.max(0, next_up.at - wait.now())
  return left and (not seconds or left < seconds) and left or seconds
end

-- Closes a coroutine that raised, and raises its error with the traceback: in the text, or in the field `traceback`.
-- Where memory is short for that, without.
local function fail(co, err)
  local traced, trace = pcall(core.traceback, co)
  local found, where = pcall(core.where, co)
  coroutine.close(co)
  if not (traced and found) then error(err, 0) end
  if errors.is_error(err) and not err.traceback then err.traceback, err.where = trace, err.where or where end
  error(type(err) == "string" and err .. "\n" .. trace or err, 0)
end

-- Begins the coroutine of a waiter, or lets it go on. Raises what it raises.
local function resume(self, waiter)
  local co, args = waiter.co, waiter.args
  local ok, err
  self.current = co
  if args then ok, err = coroutine.resume(co, table.unpack(args, 1, args.n)) else ok, err = coroutine.resume(co) end
  self.current = false
  if not ok then fail(co, err) end
end

--- Resumes, in order, all coroutines that are ready now. Raises what one of them raises; the others stay ready.
function pool:run()
  self.timers:expire(ready)
  for _ = 1, self.ready:count() do
    local waiter = self.ready:pop()
    if not waiter then return end -- one that was resumed has run the others
    self.count = self.count - 1
    if coroutine.status(waiter.co) == "suspended" then resume(self, waiter) end
  end
end

return pool
