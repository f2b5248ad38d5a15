--- Pins: what the tools of servers were when they were first seen, in a file of the user's, so that a server that turns
-- later is noticed. A pin is the SHA-256 of a tool's name, description and schema. The file is JSON, of mode 0600:
--   {"format": "koine.mcp.pins", "version": 1, "servers": {SERVER: {TOOL: hex}}}
-- A file that cannot be read, or is no such file, is an error: no tool passes unpinned.

local core = require "koine.core"
local description = require "koine.protocol.mcp.tools.description"
local errors = require "koine.data.errors"
local kept_file = require "koine.protocol.mcp.kept_file"

local pins = {}

local FORMAT, VERSION = "koine.mcp.pins", 1
local TOOLS_MAX = 10000              -- pins of a server; tools beyond are withheld
local NAME_MAX = 128                 -- bytes; a longer name is entered by its digest

local SCHEMA = { type = "object", required = { "format", "version", "servers" }, properties = {
  format = { const = FORMAT }, version = { const = VERSION },
  servers = { type = "object", additionalProperties = { type = "object", additionalProperties = { type = "string" } } },
} }

local FILE = { format = FORMAT, version = VERSION, schema = SCHEMA, max = 16 << 20, what = "pins", no = "no pins",
  bad = "bad_pins", patience = 5, pause = 0.005, empty = function() return { servers = {} } end }

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

local function count(map)
  local n = 0
  for _ in next, map do n = n + 1 end
  return n
end

-- Compares the tools with the pins of their server, and enters those that have none: the full names of those that
-- differ, as a set with their fingerprints.
local function compare(known, tools)
  local changed, room = {}, TOOLS_MAX - count(known)
  for _, listed in ipairs(tools) do
    local key, now = key_of(listed.name), fingerprint(listed)
    if known[key] == nil and room > 0 then
      known[key], room = now, room - 1
    elseif known[key] ~= now then
      changed[listed.name] = now
    end
  end
  return changed
end

--- Compares the tools that a server (its key, a string) lists (an array of entries with a name) with their pins, and
-- pins those that are seen for the first time: a table {full name = what it is now} of those that changed; or nil, err
-- where the file cannot be read or written, or others hold it for 5 seconds.
function methods:check(server, tools)
  local changed, err = self.file:change(function(data)
    local known = data.servers[server] or {}
    data.servers[server] = known
    return compare(known, tools)
  end)
  if not changed then return nil, err end
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
  local ok, err = self.file:change(function(data)
    data.servers[server] = data.servers[server] or {}
    data.servers[server][key_of(full)] = changed[full]
    return true
  end)
  if not ok then return nil, err end
  changed[full] = nil
  return true
end

--- The pins in the file at `path` (a string), which the first check makes.
function pins.open(path) return setmetatable({ file = kept_file(path, FILE), changed = {} }, metatable) end

return pins
