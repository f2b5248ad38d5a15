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
  return nil, errors.new { kind = "other", message = self.path .. ": " .. tostring(why) }
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
  local size = file:seek "end"
  if not size or size < self.at then return size ~= nil end
  if self.at == 0 then return size > 0 end -- to read it anew loses nothing
  file:seek("set", self.at - #self.last)
  return file:read(#self.last) ~= self.last
end

-- Adds the records of the lines that these bytes end: what begins a line is kept for the next ones.
local function take(self, bytes, records)
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
  self.kept = (self.kept or 0) + #self.rest[#self.rest]
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

--- The records that were added since the last call, an array, and how many lines held none. The array is empty when
-- there is nothing new; one call reads about 1 MiB, so that more may be there. nil, err where the file cannot be read;
-- a file that is not there is no error. Raises an ArgumentError when it was closed.
function methods:read()
  if self.closed then errors.argument("log", "a log that is open", "a closed one") end
  local records, broken = {}, 0
  while not records[1] do
    if not self.file then
      local opened, err = begin(self)
      if opened == nil then return nil, err end
      if not opened then break end
    end
    local bytes, why = piece_of(self)
    if why then return failed(self, why) end
    if bytes then broken = broken + take(self, bytes, records)
    elseif not is_replaced(self) then break
    else
      bytes, why = piece_of(self) -- what came before it was renamed
      if why then return failed(self, why) end
      if bytes then broken = broken + take(self, bytes, records) else broken = broken + leave(self) end
    end
  end
  return records, broken
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
