--- What the items of the stores' contract share: handles, names of their own, time, and checks that need no test
-- framework: a failed check raises its words.

local core = require "koine.core"
local errors = require "koine.data.errors"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local kit = {}
local metatable = { __index = kit, __name = "koine.testing.store_contract" }

local made = 0

--- A kit for one item. `spec` holds open, pass, restart, unit, value_max; `seed` begins its random numbers.
function kit.new(spec, item, seed)
  made = made + 1
  local own = ("contract:%x%x:%d:%s:"):format(math.floor(core.wall() * 1e6), math.random(1 << 30), made, item)
  return setmetatable({ spec = spec, own = own, handles = {}, unit = spec.unit, seed = seed or 1 }, metatable)
end

--- Opens the store anew: another machine.
function kit:open()
  local store, err = self.spec.open()
  if not store then error("open: " .. tostring(err), 0) end
  self.handles[#self.handles + 1] = store
  return store
end

--- Several machines.
function kit:machines(n)
  local list = {}
  for i = 1, n do list[i] = self:open() end
  return list
end

--- Closes what was opened.
function kit:close()
  for _, store in ipairs(self.handles) do store:close() end
  self.handles = {}
end

--- A name that no other item uses; all of an item begin with kit.own.
function kit:name(short) return self.own .. short end

--- Lets so many units of time pass for the engine.
function kit:pass(units)
  local seconds = units * self.unit
  if self.spec.pass then self.spec.pass(seconds) else wait.sleep(seconds) end
end

--- Ends the engine and starts it again; the handles from before are gone. Returns a new one.
function kit:restart()
  self:close()
  self.spec.restart()
  return self:open()
end

--- Runs each function as a task; raises what they raise.
function kit.together(list)
  return scheduler.run(function() return scheduler.gather(table.unpack(list)) end)
end

-- Checks --------------------------------------------------------------------------------------------------------------

-- A value in words, short.
local function shown(value)
  if errors.is_error(value) then return ("%s (%s)"):format(tostring(value), value.kind) end
  if type(value) ~= "string" then return tostring(value) end
  return #value > 60 and ("%q… (%d bytes)"):format(value:sub(1, 40), #value) or ("%q"):format(value)
end

--- Fails unless `held` is true; the words as string.format has them.
function kit.check(held, words, ...)
  if not held then error(words:format(...), 0) end
  return held
end

--- Fails unless both are equal.
function kit.equal(expected, got, what)
  if not rawequal(expected, got) and expected ~= got then
    error(("%s: %s expected, got %s"):format(what, shown(expected), shown(got)), 0)
  end
end

--- Fails where a call gave an error: returns the values (nil, false … included).
function kit.fine(what, ...)
  local first, err = ...
  if first == nil and err ~= nil then error(("%s: %s"):format(what, shown(err)), 0) end
  return ...
end

--- Fails unless the first value is true or a value that counts as such; returns the values.
function kit.done(what, ...)
  local first, err = ...
  if not first then error(("%s: success expected, got %s, %s"):format(what, shown(first), shown(err)), 0) end
  return ...
end

--- Fails unless the values are nil and one of Koine's errors of the kind.
function kit.fails(kind, what, ...)
  local first, err = ...
  if first ~= nil or not errors.is_error(err) then
    error(("%s: nil and an error of kind %s expected, got %s, %s"):format(what, kind, shown(first), shown(err)), 0)
  end
  kit.equal(kind, err.kind, what .. ": kind")
  return err
end

--- Fails unless f(…) raises an ArgumentError that names the field.
function kit.refused(field, what, f, ...)
  local ok, err = pcall(f, ...)
  if ok then error(("%s: an ArgumentError for %s expected, nothing was raised"):format(what, field), 0) end
  if not errors.is_error(err) or err.class ~= "ArgumentError" then
    error(("%s: an ArgumentError for %s expected, got %s"):format(what, field, shown(err)), 0)
  end
  kit.equal(field, err.field, what .. ": field")
end

-- Steps that many items take
-- -------------------------------------------------------------------------------------------

--- Puts a value: its version.
function kit:put(store, short, value, options)
  return self.done("put", store:put(self:name(short), value, options))
end

--- Fails unless the value is so.
function kit:holds(store, short, value)
  local got = self.fine("get", store:get(self:name(short)))
  self.equal(value, got, "value of " .. short)
end

--- Pushes items: the sequence of the last one.
function kit:push(store, short, ...)
  local seq
  for _, item in ipairs { ... } do seq = self.done("push", store:push(self:name(short), item)) end
  return seq
end

--- Claims a queue of this item for `units` of time: queue, fence, items, or nothing.
function kit:claim(store, owner, units, prefix)
  return self.fine("claim", store:claim(owner, units * self.unit, { queues = self:name(prefix or "") }))
end

--- Fails unless the items are these, in order.
function kit.items(expected, items, what)
  local got = {}
  for i, item in ipairs(items) do got[i] = item.item end
  kit.equal(table.concat(expected, "|"), table.concat(got, "|"), what or "items")
end

return kit
