--- The journal of a store on the disk: what changed, record by record, in one file that is also the lock. Each process
-- keeps the state in memory and reads what others appended since it looked; so no operation reads it all again.
-- The file: a head of 48 bytes (magic, how far it is known to be whole, a name that each new file gets), then frames:
-- bytes (4, lowest first), CRC-32, records of store/state/records.lua. A frame is on the disk before its operation
-- returns. A cut frame at the end is of an operation that did not return, and is overwritten; damage before it is an
-- error of kind "protocol". A file that has grown to several times its state is replaced in one step.

local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local interface = require "koine.store.interface"
local records = require "koine.store.state.records"
local states = require "koine.store.state"
local wait = require "koine.task.wait"

local journal = {}

local methods = {}
local metatable = { __index = methods }

local MAGIC = "koine store 1\n\0\0"
local MARK = #MAGIC                -- where eight bytes say how far the file is whole
local HEAD = 48                    -- bytes
local FRAME = "<I4 I4"             -- bytes of records, their CRC
local FRAME_HEAD = 8
local ALL = 1 << 40                -- bytes: more than there are
local SMALL = 256 << 10            -- bytes of a journal that is not worth replacing
local GROWN = 4                    -- times the size it began with
local DAMAGED = "damaged at byte %d; restore the whole directory from a copy"
local FIRST_PAUSE, PAUSE = 0.0005, 0.005 -- seconds between two tries for the lock, at most

--- The journal in a file that may not exist yet. `timeout`: seconds to wait for the lock; clock() → Unix seconds;
-- changed(name) as states have it, with nil where anything may be new.
function journal.new(path, timeout, clock, changed)
  return setmetatable({ path = path, timeout = timeout, clock = clock, changed = changed, state = false, busy = false,
    closed = false }, metatable)
end

local function failed(self, words)
  return errors.new { kind = "protocol", message = ("%s: %s"):format(self.path, words) }
end

-- The error of a journal that cannot be opened: its directory is away, or nothing may be written there.
local function unopened(err)
  local kind = err.code == "absent" and "connect" or err.code == "denied" and "permission"
  return kind and errors.new { kind = kind, code = err.code, message = err.message } or err
end

-- nil and the error of a lock that was not had, after which nothing was changed.
local function locked_out(self, retryable, words, ...)
  return nil, errors.new { kind = "timeout", code = "lock", retryable = retryable,
    message = ("%s: %s; nothing was changed"):format(self.path, words:format(...)) }
end

--- The lock; nil, err also where others hold it too long, where the store is closed meanwhile, and at once where an
-- operation of this process is under way (busy): nothing waits with the lock, so that one is further up the stack.
function methods:hold()
  local deadline, pause = wait.now() + self.timeout, FIRST_PAUSE
  while true do
    if self.closed then return nil, interface.closed_error() end
    if self.busy then return locked_out(self, false, "called during an operation, for example by a finalizer") end
    local lock, err = core.file_lock(self.path)
    if lock then return lock end
    if lock == nil then return nil, unopened(err) end
    if wait.now() >= deadline then
      return locked_out(self, true, "other processes held the lock for %g s", self.timeout)
    end
    local slept, cancelled = wait.sleep(pause * math.random())
    if not slept then return nil, cancelled end
    pause = math.min(pause * 2, PAUSE)
  end
end

-- A state without contents; nothing is heard of what it is filled with. `garbage` are the files that this journal says
-- are of no use, but for those of this process's own operations.
local function begin(self)
  self.garbage, self.is_loaded = {}, false
  self.state = states.new(function(name) if self.is_loaded then self.changed(name) end end, function(kind, number)
    self.garbage[#self.garbage + 1] = { kind, number }
  end)
end

local function frame(bytes) return string.pack(FRAME, #bytes, core.crc32(bytes)) .. bytes end

-- A new journal of the state: head and one frame for each part of the records.
local function whole(self)
  local name = ("%016x%s"):format(math.floor(core.wall() * 1e6), core.random_hex(4))
  local parts, batch, size = {}, {}, 0
  local function flush()
    parts[#parts + 1] = frame(table.concat(batch))
    batch, size = {}, 0
  end
  records.each(self.state, function(bytes)
    batch[#batch + 1], size = bytes, size + #bytes
    if size > 1 << 16 then flush() end
  end)
  if batch[1] then flush() end
  local body = table.concat(parts)
  return MAGIC .. string.pack("<I8", HEAD + #body) .. name .. body
end

-- Replaces the file by a new one of the same state.
local function replace(self, lock)
  local bytes = whole(self)
  local done, err = lock:write(bytes)
  if not done then return nil, err end
  self.head, self.offset, self.began, self.garbage = bytes:sub(MARK + 9, HEAD), #bytes, #bytes, {}
  return true
end

-- Applies the frames in `bytes`, which begin with the last byte that this process has read: true, or nil, err.
local function apply(self, bytes, sound)
  local at = 2
  while at + FRAME_HEAD <= #bytes + 1 do
    local size, crc = string.unpack(FRAME, bytes, at)
    local first, last = at + FRAME_HEAD, at + FRAME_HEAD + size - 1
    if size == 0 or last > #bytes then break end
    local part = bytes:sub(first, last)
    if core.crc32(part) ~= crc then break end
    local done, err = records.apply(self.state, part)
    if not done then return nil, failed(self, tostring(err)) end
    at = last + 1
  end
  self.offset = self.offset + at - 2
  if self.offset < sound then return nil, failed(self, DAMAGED:format(self.offset)) end
  return true
end

-- The error of a file without the byte up to which it was read. Nothing may be written behind its end then: what others
-- would find before that is no record.
local function cut(self) return failed(self, ("cut below byte %d, up to which it was read"):format(self.offset)) end

--- Reads what others have appended; true, or nil, err. The state is then the one of the file.
function methods:catch_up(lock)
  local head, err = lock:read_from(0, HEAD)
  if not head then return nil, err end
  if head == "" then
    if self.head then return nil, cut(self) end
    begin(self)
    self.is_loaded = true
    return replace(self, lock)
  end
  if #head < HEAD or head:sub(1, MARK) ~= MAGIC then return nil, failed(self, "this is no journal of a store") end
  local sound, name = string.unpack("<I8", head, MARK + 1), head:sub(MARK + 9)
  if not self.state or self.head ~= name then
    begin(self)
    self.head, self.offset = name, HEAD
  end
  local bytes
  bytes, err = lock:read_from(self.offset - 1, ALL)
  if not bytes then return nil, err end
  if bytes == "" then return nil, cut(self) end
  local unsure <close> = defer(function() self.state = false end)
  local loading = not self.is_loaded
  if #bytes > 1 or loading then
    local done
    done, err = apply(self, bytes, sound)
    if not done then return nil, err end
  end
  unsure:cancel()
  if loading then
    self.began, self.is_loaded = sound, true
    self.changed(nil) -- all may be new to those who watch
  end
  return true
end

--- The time of the engine's clock, which never goes back: the state says how far it is ahead of the machine's.
function methods:now()
  local state, wall = self.state, self.clock()
  if wall + state.skew < state.time then state.skew = state.time - wall end
  return wall + state.skew
end

--- Appends records (an array of strings) of what has changed in the state at `now`: true, or nil, err: then the state
-- is not the journal's any more.
function methods:append(lock, list, now)
  self.state.time = now
  table.insert(list, 1, records.pack("t", now, self.state.skew))
  local bytes = frame(table.concat(list))
  local done, err = lock:append(MARK, self.offset, bytes)
  if not done then return nil, err end
  self.offset = self.offset + #bytes
  return true
end

--- Whether the journal has grown so much that it should be replaced.
function methods:is_long() return self.offset > SMALL and self.offset > GROWN * self.began end

--- Replaces the journal by a shorter one: true, or nil, err and the old one, which is then left to grow on.
function methods:shorten(lock)
  local done, err = replace(self, lock)
  if not done then self.began = self.offset end
  return done, err
end

--- Whether the file has changed since the last call, as far as can be seen without the lock.
function methods:is_new()
  local stamp = core.file_stamp(self.path)
  local new = stamp ~= self.stamp
  self.stamp = stamp
  return new
end

return journal
