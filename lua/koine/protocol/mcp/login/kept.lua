--- What logins leave behind: tokens by issuer and resource, and the clients that were registered, by issuer. In a file
-- of the user's, of mode 0600, that processes share; or, without one, in memory. The file is JSON:
--   {"format": "koine.mcp.login", "version": 1, "clients": {ISSUER: {…}}, "tokens": {ISSUER RESOURCE: {…}}}
-- A file that cannot be read, or is no such file, is an error.

local kept_file = require "koine.protocol.mcp.kept_file"

local kept = {}

local FORMAT, VERSION = "koine.mcp.login", 1

local TEXT, TIME = { type = "string" }, { type = "number" }
local CLIENT = { type = "object", required = { "id", "method", "redirect_uri" },
  properties = { id = TEXT, secret = TEXT, method = TEXT, redirect_uri = TEXT, expires = TIME } }
local ENTRY = { type = "object", required = { "issuer", "resource", "url", "endpoint", "client", "at" },
  properties = { issuer = TEXT, resource = TEXT, url = TEXT, endpoint = TEXT, client = CLIENT, at = TIME,
    access_token = TEXT, refresh_token = TEXT, expires = TIME, scope = TEXT, asked = TEXT } }
local SCHEMA = { type = "object", required = { "format", "version", "clients", "tokens" }, properties = {
  format = { const = FORMAT }, version = { const = VERSION },
  clients = { type = "object", additionalProperties = CLIENT },
  tokens = { type = "object", additionalProperties = ENTRY },
} }

local function empty() return { clients = {}, tokens = {} } end

-- Under the lock others may refresh, which takes its time.
local FILE = { format = FORMAT, version = VERSION, schema = SCHEMA, max = 4 << 20, what = "tokens",
  no = "no tokens of MCP servers", bad = "bad_tokens", is_secret = true, patience = 40, pause = 0.02, empty = empty }

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.kept" }

-- All data as they are; or nil, err.
local function read(self)
  if not self.file then return self.data end
  return self.file:read()
end

--- The entry of the server at that URL that was made last: {issuer, resource, url, endpoint (for tokens), client, at
-- (Unix seconds of the login), access_token, refresh_token, expires (Unix seconds), scope, asked (the scope that was
-- asked for)}, of which the last five may be missing; false for none; or nil, err.
function methods:find(url)
  local data, err = read(self)
  if not data then return nil, err end
  local found = false
  for _, entry in next, data.tokens do
    if entry.url == url and (not found or entry.at > found.at) then found = entry end
  end
  return found
end

--- The client that was registered with an issuer; false for none; or nil, err.
function methods:client(issuer)
  local data, err = read(self)
  if not data then return nil, err end
  return data.clients[issuer] or false
end

--- Changes the data while nobody else can: f(data) returns a value (not nil), or nil, err; it may wait. What it changed
-- is kept in both cases. Returns what f returned; or nil, err, where the file cannot be read or written, or others hold
-- it for 40 seconds.
function methods:change(f)
  if not self.file then return f(self.data) end
  return self.file:change(f)
end

--- The key of an entry.
function kept.key(issuer, resource) return issuer .. " " .. resource end

--- What is kept in the file at `path`, which the first change makes; nil: in memory.
function kept.open(path)
  return setmetatable({ file = path and kept_file(path, FILE), data = empty() }, metatable)
end

return kept
