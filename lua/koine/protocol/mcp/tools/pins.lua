--- Pins: what the tools of servers were when they were first seen, in a file of the user's, so that a server that turns
-- later is noticed. A pin is the SHA-256 of a tool's name, description and schema. The file is JSON, of mode 0600:
--   {"format": "koine.mcp.pins", "version": 1, "servers": {SERVER: {TOOL: hex}}}
-- It is replaced in one step, under a lock that processes share. A file that cannot be read, or is no such file, is an
-- error: no tool passes unpinned.

local core = require "koine.core"
local description = require "koine.protocol.mcp.tools.description"
local errors = require "koine.data.errors"
local judge = require "koine.data.schema.judge"
local wait = require "koine.task.wait"

local pins = {}

local FORMAT, VERSION = "koine.mcp.pins", 1
local FILE_MAX = 16 << 20            -- bytes
local TOOLS_MAX = 10000              -- pins of a server; tools beyond are withheld
local NAME_MAX = 128                 -- bytes; a longer name is entered by its digest
local PATIENCE, PAUSE = 5, 0.005     -- seconds: for the lock, and between two tries for it at most

local FILE = { type = "object", required = { "format", "version", "servers" }, properties = {
  format = { const = FORMAT }, version = { const = VERSION },
  servers = { type = "object", additionalProperties = { type = "object", additionalProperties = { type = "string" } } },
} }

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.pins" }

local function hex(bytes)
  return (bytes:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

local function key_of(full) return #full <= NAME_MAX and full or "sha256:" .. hex(core.sha256(full)) end

-- What a tool is: of the entry that the server listed.
local function fingerprint(listed)
  return hex(core.sha256(core.encode { name = listed.name, description = description.words(listed),
    inputSchema = listed.inputSchema }))
end

local function failure(path, words, code)
  return nil, errors.new { kind = "other", code = code, retryable = false, message = path .. ": " .. words }
end

-- The file under a lock of ours, made where it is missing: or nil, err.
local function hold(path)
  local latest = wait.now() + PATIENCE
  while true do
    local lock, err = core.file_lock(path)
    if lock or lock == nil then return lock, err end
    if wait.now() >= latest then return failure(path, "others hold the lock of the pins", "locked") end
    local slept, interrupted = wait.sleep(PAUSE * (1 + math.random()) / 2)
    if not slept then return nil, interrupted end
  end
end

-- The pins of all servers; or nil, err.
local function read(path, lock)
  local text, err = lock:read(FILE_MAX)
  if not text then return nil, err end
  if text == "" then return {} end
  local value, unread = core.decode(text)
  if value == nil then return failure(path, "no pins: " .. unread.message, "bad_pins") end
  local fits, why = judge.validate(FILE, FILE, value, "", true)
  if not fits then return failure(path, "no pins: " .. why, "bad_pins") end
  return value.servers
end

local function write(lock, servers)
  return lock:write(core.encode { format = FORMAT, version = VERSION, servers = servers } .. "\n")
end

local function count(map)
  local n = 0
  for _ in next, map do n = n + 1 end
  return n
end

-- Compares the tools with the pins of their server, and enters those that have none: the full names of those that
-- differ, as a set with their fingerprints, and whether something was entered.
local function compare(known, tools)
  local changed, room, is_new = {}, TOOLS_MAX - count(known), false
  for _, listed in ipairs(tools) do
    local key, now = key_of(listed.name), fingerprint(listed)
    if known[key] == nil and room > 0 then
      known[key], room, is_new = now, room - 1, true
    elseif known[key] ~= now then
      changed[listed.name] = now
    end
  end
  return changed, is_new
end

--- Compares the tools that a server (its key, a string) lists (an array of entries with a name) with their pins, and
-- pins those that are seen for the first time: a table {full name = what it is now} of those that changed; or nil, err
-- where the file cannot be read or written, or others hold it for 5 seconds.
function methods:check(server, tools)
  local lock <close>, err = hold(self.path)
  if not lock then return nil, err end
  local servers
  servers, err = read(self.path, lock)
  if not servers then return nil, err end
  servers[server] = servers[server] or {}
  local changed, is_new = compare(servers[server], tools)
  if is_new then
    local written
    written, err = write(lock, servers)
    if not written then return nil, err end
  end
  self.changed[server] = changed
  return changed
end

--- Pins a tool as it was at the last check, so that it is withheld no longer: true, or nil, err: of kind not_found
-- where no tool of that full name was withheld then, and as `check`.
function methods:accept(server, full)
  local changed = self.changed[server] or {}
  if not changed[full] then
    return nil, errors.new { kind = "not_found", retryable = false,
      message = ("no tool %q of %s is withheld"):format(full, server) }
  end
  local lock <close>, err = hold(self.path)
  if not lock then return nil, err end
  local servers
  servers, err = read(self.path, lock)
  if not servers then return nil, err end
  servers[server] = servers[server] or {}
  servers[server][key_of(full)] = changed[full]
  local written
  written, err = write(lock, servers)
  if not written then return nil, err end
  changed[full] = nil
  return true
end

--- The pins in the file at `path` (a string), which the first check makes.
function pins.open(path) return setmetatable({ path = path, changed = {} }, metatable) end

return pins
