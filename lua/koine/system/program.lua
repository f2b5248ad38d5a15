--- Live programs: what is said to a program and what it says, line by line, while it runs. koine.process.open makes
-- them.
--
--   local p <close> = assert(process.open { "cat" })
--   assert(p:write "hello\n")
--   print(p:line())
--
-- The methods wait as all of Koine does: they yield under koine.run and in a host, and block elsewhere. One coroutine
-- reads at a time, others may write meanwhile. A method that waits also calls on_stderr.

local check = require "koine.data.check"
local defer = require "koine.task.defer"
local exclusive = require "koine.task.exclusive"
local wait = require "koine.task.wait"

local program = {}

local HURRIED_GRACE = 0.1 -- seconds that a close may hold up all other tasks

local methods = {}

-- Tells on_stderr what came. A line that comes while it runs is told when it returns.
local function tell(self)
  local on_stderr = self.on_stderr
  if not on_stderr or self.telling then return end
  local line = self.running:take_error_line()
  if not line then return end
  local _ <close> = defer(function() self.telling = false end)
  self.telling = true
  repeat
    on_stderr(line)
    line = self.running:take_error_line()
  until not line
end

-- One value, or nil, err: so that a line can be an argument among others.
local function value_or(result, err)
  if err == nil then return result end
  return nil, err
end

-- Calls poll(running) until it returns something else than false.
local function await(self, poll)
  while true do
    tell(self)
    local result, err = poll(self.running)
    if result ~= false then return value_or(result, err) end
    local _, cancelled = wait.park(self.running)
    if cancelled then return nil, cancelled end
  end
end

local function take_line(running) return running:take_line() end
local function room(running) return running:room() end
local function poll(running) return running:poll() end

-- The same for close, which drops the output that was not read.
local function poll_to_end(running)
  running:drop()
  return running:poll()
end

-- Waits for the end, and tells what came last.
local function await_end(self, look)
  local result, err = await(self, look)
  tell(self)
  return value_or(result, err)
end

local READER = { field = "program", expected = "one reader at a time",
  message = "program: already read by another coroutine" }

--- The next line of the program's output, without its LF and a CR before that; what is behind the last LF counts as
-- one; nil at the end. Output that is not asked for stops the program once the system's pipe is full. nil, err: of kind
-- limit (code "line") for a line longer than line_max, after which the program is ended; cancelled, when it was closed
-- or a host cancelled the caller; other, when its supervisor was killed. Raises an ArgumentError while another
-- coroutine waits for a line, and what on_stderr raises.
function methods:line()
  tell(self)
  local line, err = self.running:take_line()
  if line ~= false then return value_or(line, err) end
  local _ <close> = exclusive(self, READER)
  return await(self, take_line)
end

--- Queues the bytes, all of them, for the program's input, and waits while more than high_water bytes are queued:
-- true. nil, err: of kind other and code "closed" when the program reads no more or has ended, and after close_input;
-- cancelled, when the program was closed, or a host cancelled the caller: the bytes are queued all the same then.
-- Raises an ArgumentError, and what on_stderr raises.
function methods:write(bytes)
  local ok, err = self.running:put(check.string(bytes, "bytes"))
  if not ok then return nil, err end
  return await(self, room)
end

--- Ends the program's input behind what is queued: the program reads what was written, then an end of file. Returns
-- nothing, at once. Any number of times.
function methods:close_input() self.running:close_input() end

--- Begins the end, and returns nothing, at once: the program's input ends; what is left of the program and all that it
-- started gets SIGTERM after the grace period, and SIGKILL after another. What it still says can be read. Any number
-- of times; result waits for the end.
function methods:stop() self.running:finish() end

--- Waits until the program and all that it started are gone: what process.run returns, with an empty stdout; `stderr`
-- is the last stderr_max bytes, dropped.stderr counts those before. nil, err as process.run has it, and of kind
-- cancelled where the program was closed before its end. A program may never end if its output is not read. Raises
-- what on_stderr raises.
function methods:result()
  local ended = self.ended
  if ended then return value_or(ended.result, ended.err) end
  return await_end(self, poll)
end

-- Lets go of the program, which may be over or not. Whatever fails meanwhile, the core's close kills what is left.
local function let_go(self)
  if self.ended then return end
  local running <close> = self.running
  local result, err = running:poll()
  if result == false then -- where nothing else may wait for it
    running:stop()
    local latest = wait.now() + HURRIED_GRACE
    while result == false and wait.now() < latest do
      wait.block(running, latest - wait.now())
      result, err = poll_to_end(running)
    end
  end
  if result ~= false then self.ended = { result = result, err = err } end
  running:close()
  wait.wake(running)
end

-- Made with the program, so that closing it takes no memory.
local closing_mt = { __close = function(closing) let_go(closing.program) end }

--- Ends the program as stop does, and waits for that; output that was not read is dropped. Whoever waits for more gets
-- nil at its end, or an error of kind cancelled. Returns nothing; any number of times. Also what a variable with
-- <close> does. Where it cannot suspend its caller, and would hold up others for that long (in a task that is
-- cancelled, or in a function that C called under koine.run or in a host), SIGTERM comes at once and SIGKILL a tenth of
-- a second later. Raises what on_stderr raises, when the program is gone.
function methods:close()
  if self.ended then return end
  local _ <close> = self.closing
  self.running:finish()
  if wait.alone() or wait.suspends() then await_end(self, poll_to_end) end
end

local metatable = { __index = methods, __name = "koine.program", __close = function(self) self:close() end }

function metatable.__tostring(self) return tostring(self.running) end

local function started(running) return running:started() end

--- Waits until the program runs: the program of the userdata that core.program made, with the methods above; or nil,
-- err when it could not be started. `on_stderr` is called with each line of standard error, or nil. A task that is
-- cancelled takes the programs along that it opened.
function program.begin(running, on_stderr)
  local gone <close> = defer(function() running:close() end)
  local self = setmetatable({ running = running, on_stderr = on_stderr, busy = false, ended = false, closing = false,
    telling = true }, metatable) -- on_stderr may want the program, which its caller has not got yet
  self.closing = setmetatable({ program = self }, closing_mt)
  local ok, err = await(self, started)
  if not ok then return nil, err end
  self.telling = false
  gone:cancel()
  wait.adopt(self)
  return self
end

return program
