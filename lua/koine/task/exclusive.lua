--- Holds an object for one user at a time: a second one, further up the stack or in another coroutine, is refused.

local core = require "koine.core"
local errors = require "koine.data.errors"

local guard_mt = { __close = function(guard) guard.object.busy = false end }

--- A value for a variable with <close>: until it is closed the object, a table that gets the field `busy`, is in use.
-- Raises an ArgumentError when it is in use already: `what` is {field, expected, message} of that error.
return function(object, what)
  if object.busy then
    core.raise(errors.new { kind = "argument", field = what.field, expected = what.expected, message = what.message })
  end
  local guard = setmetatable({ object = object }, guard_mt)
  object.busy = true
  return guard
end
