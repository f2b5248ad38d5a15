--- Calls a function when a block is left in any way: its end, return, break, an error, the closing of its coroutine.
--
--   local file_gone <close> = defer(function() os.remove(path) end)

local methods = {}

-- Calls f once, also where code calls __close itself.
local function close(self, raised)
  local f = self.f
  self.f = false
  if f then f(raised) end
end

local metatable = { __index = methods, __close = close }

--- Closing it calls nothing from now on.
function methods:cancel() self.f = false end

--- A value for a variable with <close>: closing it calls f(raised), with the error that is on its way, nil for none.
-- Has a method cancel(). Make it before the change that it undoes: where memory is short for it, nothing has
-- changed yet.
return function(f) return setmetatable({ f = f }, metatable) end
