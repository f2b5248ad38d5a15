--- Calls a function at the end of a block, however that comes: its end, return, break, an error, the closing of its
-- coroutine.
--
--   local file_gone <close> = defer(function() os.remove(path) end)

local methods = {}

-- Once, also where it is closed by hand.
local function close(self, raised)
  local f = self.f
  self.f = false
  if f then f(raised) end
end

local metatable = { __index = methods, __close = close }

--- From now on nothing is called.
function methods:cancel() self.f = false end

--- A value for a variable with <close>: closing it calls f(raised), with the error that is on its way, nil for none.
-- Has a method cancel(). Make it before what it undoes: where memory is short for it, there is nothing to undo then.
return function(f) return setmetatable({ f = f }, metatable) end
