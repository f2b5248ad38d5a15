--- What logins leave behind: tokens by issuer and resource, and the clients that were registered, by issuer. In a file
-- of the user's, of mode 0600, that processes share; or, without one, in memory. The file is JSON:
--   {"format": "koine.mcp.login", "version": 1, "clients": {ISSUER: {…}}, "tokens": {ISSUER RESOURCE: {…}}}
-- It is replaced in one step, under a lock. A file that cannot be read, or is no such file, is an error.

local core = require "koine.core"
local errors = require "koine.data.errors"
local judge = require "koine.data.schema.judge"
local wait = require "koine.task.wait"

local kept = {}

local FORMAT, VERSION = "koine.mcp.login", 1
local FILE_MAX = 4 << 20           -- bytes
local PATIENCE, PAUSE = 40, 0.02   -- seconds: for the lock, under which others may refresh; between two tries at most

local TEXT, TIME = { type = "string" }, { type = "number" }
local CLIENT = { type = "object", required = { "id", "method", "redirect_uri" },
  properties = { id = TEXT, secret = TEXT, method = TEXT, redirect_uri = TEXT, expires = TIME } }
local ENTRY = { type = "object", required = { "issuer", "resource", "url", "endpoint", "client", "at" },
  properties = { issuer = TEXT, resource = TEXT, url = TEXT, endpoint = TEXT, client = CLIENT, at = TIME,
    access_token = TEXT, refresh_token = TEXT, expires = TIME, scope = TEXT, asked = TEXT } }
local FILE = { type = "object", required = { "format", "version", "clients", "tokens" }, properties = {
  format = { const = FORMAT }, version = { const = VERSION },
  clients = { type = "object", additionalProperties = CLIENT },
  tokens = { type = "object", additionalProperties = ENTRY },
} }

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.kept" }

local function failure(path, words, code)
  return nil, errors.new { kind = "other", code = code, retryable = false, message = path .. ": " .. words }
end

-- The data in a text; or nil, err, which does not show it.
local function parse(path, text)
  if text == "" then return { clients = {}, tokens = {} } end
  local value = core.decode(text)
  if value == nil or not judge.validate(FILE, FILE, value, "", true) then
    return failure(path, "no tokens of MCP servers", "bad_tokens")
  end
  return value
end

-- The file under a lock of ours, made where it is missing: or nil, err.
local function hold(path)
  local latest = wait.now() + PATIENCE
  while true do
    local lock, err = core.file_lock(path)
    if lock or lock == nil then return lock, err end
    if wait.now() >= latest then return failure(path, "others hold the lock of the tokens", "locked") end
    local slept, interrupted = wait.sleep(PAUSE * (1 + math.random()) / 2)
    if not slept then return nil, interrupted end
  end
end

-- All data as they are; or nil, err.
local function read(self)
  if not self.path then return self.data end
  local text, err = core.file_read(self.path, FILE_MAX)
  if text then return parse(self.path, text) end
  if err.code == "absent" then return parse(self.path, "") end
  return nil, err
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
  if not self.path then return f(self.data) end
  local lock <close>, err = hold(self.path)
  if not lock then return nil, err end
  local text, data
  text, err = lock:read(FILE_MAX)
  if not text then return nil, err end
  data, err = parse(self.path, text)
  if not data then return nil, err end
  local value, failed = f(data)
  data.format, data.version = FORMAT, VERSION
  local after = core.encode(data) .. "\n"
  if after ~= text then
    local written
    written, err = lock:write(after)
    if not written then return nil, err end
  end
  return value, failed
end

--- The key of an entry.
function kept.key(issuer, resource) return issuer .. " " .. resource end

--- What is kept in the file at `path`, which the first change makes; nil: in memory.
function kept.open(path)
  return setmetatable({ path = path, data = { clients = {}, tokens = {} } }, metatable)
end

return kept
