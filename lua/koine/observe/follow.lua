--- Follows a log of records that grows, as koine.observe.jsonl writes it: what was added since one looked last. Reading
-- never waits. The log may not be there yet, may be cut, and may be renamed in favour of a new file, which is then read
-- from its beginning; what the old one got until then is read first. A file is known by the last bytes that were read
-- of it: times and ids, which are in no other log at that place.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local record_of = require "koine.observe.record"

local PIECE <const> = 1 << 20     -- bytes that are read at once
local LINE_MAX <const> = 64 << 20 -- bytes; a longer line is none
local KNOWN_BY <const> = 4096     -- bytes
local ABSENT <const> = 2          -- ENOENT

local methods = {}
local log_mt = { __index = methods, __name = "koine.observe.follow" }

local function failed(self, why)
  return errors.new { kind = "other", message = self.path .. ": " .. tostring(why) }
end

-- Opens the file at the path: true, false where there is none; nil, err.
local function begin(self)
  local file, why, code = io.open(self.path, "rb")
  if not file then
    if code == ABSENT then return false end
    return nil, errors.new { kind = "other", message = tostring(why) }
  end
  file:setvbuf "no"
  self.file, self.last, self.at, self.rest, self.skips = file, "", 0, {}, false
  return true
end

-- The next bytes of the open file; nil at its end; nil, why.
local function piece_of(self)
  local bytes, why = self.file:read(PIECE)
  if not bytes then return nil, why end
  self.at = self.at + #bytes
  self.last = #bytes < KNOWN_BY and (self.last .. bytes):sub(-KNOWN_BY) or bytes:sub(-KNOWN_BY)
  return bytes
end

-- Whether another file than the open one is at the path, or the open one was cut.
local function is_replaced(self)
  local file <close> = io.open(self.path, "rb")
  if not file then return false end
  if self.at == 0 then return file:read(1) ~= nil end -- to read it anew loses nothing
  if not file:seek("set", self.at - #self.last) then return false end
  return file:read(#self.last) ~= self.last
end

-- Adds the records of the lines that these bytes end: what begins a line is kept for the next ones.
local function take(self, bytes, records)
  if bytes == "" then return 0 end
  local broken, from = 0, 1
  while true do
    local stop = bytes:find("\n", from, true)
    if not stop then break end
    self.rest[#self.rest + 1] = bytes:sub(from, stop - 1)
    local line = table.concat(self.rest)
    local record = not self.skips and record_of(line)
    if record then records[#records + 1] = record
    elseif self.skips or line:find "%S" then broken = broken + 1 end
    self.rest, self.kept, self.skips, from = {}, 0, false, stop + 1
  end
  self.rest[#self.rest + 1] = from > 1 and bytes:sub(from) or bytes
  self.kept = self.kept + #self.rest[#self.rest]
  if self.kept > LINE_MAX then self.rest, self.kept, self.skips = {}, 0, true end
  return broken
end

-- Leaves a file that was replaced: 1 where it ended within a line, else 0.
local function leave(self)
  local broken = (self.skips or table.concat(self.rest):find "%S") and 1 or 0
  self.file:close()
  self.file, self.kept = nil, 0
  return broken
end

-- The next bytes of the log, "" where a file was left for the new one, nil at its end; how many lines were lost with
-- what was left; and the error where it cannot be read.
local function next_piece(self)
  if not self.file then
    local opened, err = begin(self)
    if not opened then return nil, 0, err end
  end
  local bytes, why = piece_of(self)
  if bytes or why or not is_replaced(self) then return bytes, 0, why and failed(self, why) end
  bytes, why = piece_of(self) -- what came before it was renamed
  if bytes or why then return bytes, 0, why and failed(self, why) end
  return "", leave(self)
end

--- The records that were added since the last call (an array), how many lines held none, and whether there may be more:
-- one call reads 1 MiB at most. nil, err where the file cannot be read; a file that is not there is no error. Raises an
-- ArgumentError when it was closed.
function methods:read()
  if self.closed then errors.argument("log", "a log that is open", "a closed one") end
  local bytes, broken, err = next_piece(self)
  if err then return nil, err end
  local records = {}
  if bytes then broken = broken + take(self, bytes, records) end
  return records, broken, bytes ~= nil
end

--- Whether there was a file at the path when it was looked for last.
function methods:is_there() return self.file ~= nil end

--- Closes the file. Any number of times.
function methods:close()
  if self.file then self.file:close() end
  self.file, self.closed = nil, true
end
log_mt.__close = methods.close

check.colons(methods, log_mt, "log")

--- Follows the log at a path (string): an object with read(), is_there(), close() and <close>. The file is opened when
-- it is there. Raises an ArgumentError.
return function(path)
  check.path(path, "path")
  return setmetatable({ path = path, kept = 0 }, log_mt)
end
