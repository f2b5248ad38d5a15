--- This process's own standard input and output, taken for a protocol: lines in, bytes out, as a live program has
-- them.
--
--   local wire <close> = assert(standard.open())
--   for line in wire.line, wire do assert(wire:write(line .. "\n")) end
--
-- While it is open, `print` and io.write, and whatever C code or a child prints, go to standard error, and io.read
-- finds the end of its input. One coroutine reads at a time, others may write meanwhile.

local core = require "koine.core"
local check = require "koine.data.check"
local exclusive = require "koine.task.exclusive"
local wait = require "koine.task.wait"

local standard = {}

local taken = false -- this process has one pair

local methods = {}
local metatable = { __index = methods, __name = "koine.standard", __close = function(self) self:close() end }

function metatable.__tostring(self) return tostring(self.pair) end

-- Calls poll(pair) until it returns something else than false.
local function await(self, poll)
  while true do
    local result, err = poll(self.pair)
    if result ~= false then
      if err == nil or result then return result end
      return nil, err
    end
    local _, cancelled = wait.park(self.pair)
    if cancelled then return nil, cancelled end
  end
end

local function take_line(pair) return pair:take_line() end

local function room(pair)
  local has_room, err = pair:room()
  if has_room == nil then return nil, err end
  return has_room
end

-- Whether all is written.
local function is_written(pair)
  local has_room, waiting = pair:room()
  if has_room == nil then return nil, waiting end
  return waiting == 0
end

local READER = { field = "standard input", expected = "one reader at a time",
  message = "standard input: already read by another coroutine" }

--- The next line, without its LF and a CR before that; what is behind the last LF counts as one; nil at the end. nil,
-- err: of kind limit (code "line") for a line longer than line_max; cancelled, when it was closed or a host cancelled
-- the caller; other. Raises an ArgumentError while another coroutine waits for a line.
function methods:line()
  local _ <close> = exclusive(self, READER)
  return await(self, take_line)
end

--- Queues the bytes, and waits while more than high_water bytes are queued: true. nil, err: of kind other (code
-- "closed" where the other side reads no more), and cancelled. Raises an ArgumentError.
function methods:write(bytes)
  local ok, err = self.pair:put(check.string(bytes, "bytes"))
  if not ok then return nil, err end
  return await(self, room)
end

--- Waits until all is written, for at most `seconds`: true, false when the time is over, or nil, err. Raises an
-- ArgumentError.
function methods:flush(seconds)
  local deadline = wait.now() + check.seconds(seconds, "seconds")
  while true do
    local written, err = is_written(self.pair)
    if written ~= false then return written, err end
    local left = deadline - wait.now()
    if left <= 0 then return false end
    local _, cancelled = wait.park(self.pair, left)
    if cancelled then return nil, cancelled end
  end
end

--- Puts the descriptors back; what was not written is dropped, who waits gets an error of kind cancelled. Returns
-- nothing; any number of times.
function methods:close()
  if self.closed then return end
  self.closed, taken = true, false
  self.pair:close()
  wait.wake(self.pair)
end

local OPTIONS = check.options { high_water = check.integer(1), line_max = check.integer(1) }

--- Takes them: an object with the methods above, or nil, err where one of them is closed. Options:
--   high_water  bytes that may wait to be written before `write` waits, 262144
--   line_max    bytes of a line, 33554432
-- Raises an ArgumentError, also while they are taken already.
function standard.open(opts)
  local options = OPTIONS(opts or {})
  if taken then core.raise_argument("standard input", "one user at a time", "a second one") end
  local pair, err = core.standard(options)
  if not pair then return nil, err end
  taken = true
  io.stdout:setvbuf "line" -- strays are seen when they are printed
  return setmetatable({ pair = pair, busy = false, closed = false }, metatable)
end

return standard
