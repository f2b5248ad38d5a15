--- Those who wait for something new in a store, within one Lua state.

local defer = require "koine.task.defer"
local interface = require "koine.store.interface"
local wait = require "koine.task.wait"

local watchers = {}

local methods = {}
local metatable = { __index = methods }

--- Nobody waits.
function watchers.new() return setmetatable({ waiting = {}, due = {} }, metatable) end

--- Notes that a name changed (nil: anything may have), for those whose prefix it begins with; `tell` wakes them.
function methods:note(name)
  for token in pairs(self.waiting) do
    if not token.woken and (not name or name:sub(1, #token.prefix) == token.prefix) then
      self.due[#self.due + 1] = token
      token.woken = true
    end
  end
end

--- Wakes those for whom something was noted. A host may resume them at once, and they may call the store: so not before
-- its change is complete.
function methods:tell()
  while self.due[1] do wait.wake(table.remove(self.due)) end
end

--- Wakes all: those whose store was closed find out.
function methods:close()
  for token in pairs(self.waiting) do self.due[#self.due + 1] = token end
  self:tell()
end

--- Waits until a name with the prefix changed: true; false after so many seconds; nil, err where a host cancelled it,
-- and where the engine was closed, whose field `open` is false then.
-- `look()` (nil: none) is called before each wait: it returns for how many seconds at most to wait before it is called
-- again, or nil, err, which ends the wait.
function methods:wait(prefix, seconds, engine, look)
  local token, deadline = { prefix = prefix, woken = false }, wait.now() + seconds
  local gone <close> = defer(function() self.waiting[token] = nil end) -- luacheck: ignore gone
  self.waiting[token] = true
  while true do
    local pause, err
    if look then
      pause, err = look()
      if err then return nil, err end
    end
    if token.woken then return true end
    local left = deadline - wait.now()
    if not engine.open then return nil, interface.closed_error() end
    if left <= 0 then return false end
    local _, cancelled = wait.park(token, math.min(left, pause or left))
    if cancelled then return nil, cancelled end
  end
end

return watchers
