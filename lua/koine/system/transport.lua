--- The option `transport` of what talks to a program line by line: an object that may stand in the program's place. One
-- method is asked for:
--   transport:program(call, start) → a live program, with <close>, the methods line, write, stop, result and close, and
--                                    the field `ended` of those that koine.process.open makes; or nil, err: it cannot
--                                    be started. It may have a method hide(secret), which gets what no copy of a line
--                                    may show
-- It is called once for each start. `call` is {argv = array of strings, secrets = array of strings, on_stderr =
-- function(line), or nil}, which it must not change. start(on_stderr) starts the program, which tells each line of its
-- standard error to that function (nil: to nobody): a live program, or nil, err as koine.process.open has it.

local check = require "koine.data.check"

local transport = {}

--- Checks the option: an object with a method program. Raises an ArgumentError.
transport.option = check.method("program", "object with a method program")

--- The program of a call, which `chosen` (nil: nothing) may stand in for: a live program, or nil, err.
function transport.open(chosen, call, start)
  if not chosen then return start(call.on_stderr) end
  return chosen:program(call, start)
end

return transport
