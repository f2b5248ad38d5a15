--- Logins to MCP servers over HTTP: OAuth 2.1 as the protocol wants it. koine.mcp.login makes a source of tokens, which
-- koine.mcp.connect asks for each request.
--
--   local source = assert(koine.mcp.login { url = "https://example.com/mcp", tokens = "tokens.json" })
--   local client = assert(koine.mcp.connect { name = "example", url = "https://example.com/mcp", token = source })
--
-- A source belongs to one server. It keeps its tokens, refreshes them before they end, and has a person log in where
-- nothing else helps; of several callers one does that, and the others wait for it. Errors: kind auth (the login was
-- refused, or what the servers say of themselves is not good), timeout, connect, protocol, server, and other for the
-- file. No token is in an error.

local address = require "koine.protocol.mcp.login.address"
local call = require "koine.protocol.mcp.login.call"
local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local flow = require "koine.protocol.mcp.login.flow"
local kept = require "koine.protocol.mcp.login.kept"
local metadata = require "koine.protocol.mcp.login.metadata"
local register = require "koine.protocol.mcp.login.register"
local single_flight = require "koine.task.single_flight"
local tokens = require "koine.protocol.mcp.login.tokens"
local transport = require "koine.net.transport"

local login = {}

local TIMEOUT = 300  -- seconds that a person has
local AROUND = 120   -- seconds that the questions around that may take, for those who wait
local STEPS = 2      -- logins for the same scope, which the server then still finds too small
local UNKNOWN_CLIENT = "invalid_client" -- a registration that the server has forgotten
local YOUNG = 60     -- seconds; a token of a login that is refused earlier is no reason for another one

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.login" }

-- Says where to log in.
local function print_url(url) io.stderr:write("Log in here: ", url, "\n") end

-- Members of the options that the server does not settle.
local OWN = { client_id = check.nonempty, client_secret = check.secret(check.key),
  client_metadata_url = register.metadata_url, client_name = check.default(check.name, "Koine"),
  issuer = check.nonempty, scope = check.nonempty,
  redirect_port = check.integer(1, 65535), on_url = check.default(check.func, function() return print_url end),
  tokens = check.credential_path, timeout = check.default(check.time_limit, TIMEOUT) }

-- All members.
local MEMBERS = { url = check.required(check.exact_url), proxy = check.text, ca_file = check.path,
  transport = transport.option }
for name, checker in next, OWN do MEMBERS[name] = checker end

local HINTS = { token_path = "tokens", path = "tokens", scopes = "scope" }
local OPTIONS = check.options(MEMBERS, { hints = HINTS })
local OWN_OPTIONS = check.options(OWN, { hints = HINTS })

-- Entries -------------------------------------------------------------------------------------------------------------

local function is_fresh(entry) return entry.access_token and (not entry.expires or core.wall() < entry.expires) end

-- The client of an entry, with the secret that is the user's own to keep; nil where it is not the one that the user
-- wants now.
local function client_of(self, entry)
  local options, client = self.options, entry.client
  if not options.client_id then return client end
  if client.id ~= options.client_id then return nil end
  return { id = client.id, method = client.method, redirect_uri = client.redirect_uri, secret = options.client_secret }
end

-- Whether an entry is of the authorisation server and client that the user wants.
local function is_wanted(self, entry)
  local issuer = self.options.issuer
  return client_of(self, entry) ~= nil and (not issuer or entry.issuer == issuer)
end

-- The newest entry that there is; false for none; or nil, err.
local function newest(self)
  local entry, err = self.kept:find(self.options.url)
  if entry == nil then return nil, err end
  if not entry or not is_wanted(self, entry) then return false end
  return entry
end

-- Keeps an entry: true, or nil, err. A secret that the user gave stays with the user.
local function keep(self, entry)
  if self.options.client_id then
    local client = entry.client
    entry.client = { id = client.id, method = client.method, redirect_uri = client.redirect_uri }
  end
  self.entry = entry
  return self.kept:change(function(data)
    data.tokens[kept.key(entry.issuer, entry.resource)] = entry
    return true
  end)
end

-- Refreshing ----------------------------------------------------------------------------------------------------------

-- Refreshes an entry of the file's data; `refused` is the token that is of no use. As `refresh`.
local function refresh_in(self, data, entry, endpoint, refused)
  local now = data.tokens[kept.key(entry.issuer, entry.resource)]
  if not now then return false end
  if is_fresh(now) and now.access_token ~= refused then return now end -- another process was quicker
  if not now.refresh_token then return false end
  local made, err = tokens.refresh(self, endpoint, client_of(self, now) or now.client, now.resource, now.refresh_token)
  if not made and not err.refused then return nil, err end
  if err and err.code == UNKNOWN_CLIENT then data.clients[entry.issuer] = nil end
  made = made or {}
  now.access_token, now.refresh_token, now.expires = made.access_token, made.refresh_token, made.expires
  now.scope, now.endpoint = made.scope or now.scope, endpoint
  return made.access_token ~= nil and now
end

-- A fresh entry in place of that one; false where the server refuses that, or there is no way; or nil, err.
local function refresh(self, entry, endpoint)
  local refused = entry.access_token
  local now, err = self.kept:change(function(data) return refresh_in(self, data, entry, endpoint, refused) end)
  if now == nil then return nil, err end
  self.entry = now
  return now
end

-- The token to send now; false for none; or nil, err.
local function current(self)
  local entry, err = self.entry, nil
  if not entry then entry, err = newest(self) end
  if not entry then return entry, err end
  self.entry = entry
  if is_fresh(entry) then return entry.access_token end
  if not entry.refresh_token then return false end
  entry, err = refresh(self, entry, entry.endpoint)
  if not entry then return entry, err end
  return entry.access_token
end

-- Logging in ----------------------------------------------------------------------------------------------------------

-- Counts a login for more scope: nil, or the error of one too many.
local function count_step(self, scope)
  local n = (self.steps[scope] or 0) + 1
  if n > STEPS then
    return call.failure("permission", "the server finds the scope too small that it asked for", "insufficient_scope",
      403)
  end
  self.steps = { [scope] = n }
end

-- Lets the next login register anew. What goes wrong with that is told by that one.
local function forget_client(self, issuer)
  self.kept:change(function(data)
    data.clients[issuer] = nil
    return true
  end)
end

-- Has a person log in: a token, or nil, err. `entry` is what there was of this server and issuer, or nil.
local function begin(self, asked, resource, meta, entry)
  local scope = flow.scope(self.options, asked, resource, meta, entry and entry.asked)
  if asked.error == "insufficient_scope" then
    local err = count_step(self, scope or "")
    if err then return nil, err end
  end
  local ok, err = self.kept:change(function() return true end) -- that there is a place for what comes
  if not ok then return nil, err end
  local made
  made, err = flow.login(self, resource, meta, scope)
  if not made then
    if err.code == UNKNOWN_CLIENT then forget_client(self, meta.issuer) end
    return nil, err
  end
  ok, err = keep(self, made)
  if not ok then return nil, err end
  return made.access_token
end

-- A token in place of the one that was refused (nil: none was sent): a token, or nil, err.
local function renew(self, asked, refused)
  local entry, err = newest(self)
  if entry == nil then return nil, err end
  entry = entry or nil
  if entry and is_fresh(entry) and entry.access_token ~= refused then
    self.entry = entry
    return entry.access_token
  end
  local resource, meta
  resource, err = metadata.resource(self, asked)
  if not resource then return nil, err end
  meta, err = metadata.issuer(self, resource.issuer)
  if not meta then return nil, err end
  if entry and (entry.issuer ~= meta.issuer or entry.resource ~= resource.resource) then entry = nil end
  if entry and asked.error ~= "insufficient_scope" then
    local again
    again, err = refresh(self, entry, meta.token_endpoint)
    if again == nil then return nil, err end
    if again then return again.access_token end
    if refused and refused == self.given and core.wall() - entry.at < YOUNG then
      return nil, call.failure("auth", "the server refuses the token of a login that was just made", "new_token", 401)
    end
  end
  local token
  token, err = begin(self, asked, resource, meta, entry)
  self.given = token
  return token, err
end

-- What the server says when it refuses, as a table that can be relied on.
local function challenge_of(asked)
  local kept_of = {}
  for _, name in ipairs { "error", "scope", "resource_metadata" } do
    if type(asked[name]) == "string" then kept_of[name] = asked[name] end
  end
  return kept_of
end

--- A token for a request: a string, or nil for none that is known; or nil, err. `asked` (nil: the server was not asked
-- yet) is the challenge with which it refused: then another token is got, from a person if need be; `refused` is the
-- one that was sent (nil: none). What koine.mcp.connect calls. Waits.
function methods:token(asked, refused)
  if not asked and self.entry and is_fresh(self.entry) then return self.entry.access_token end
  local token, err, is_mine
  repeat -- what others asked for may not be what this one needs
    token, err = single_flight(self, function()
      is_mine = true
      if not asked then return current(self) end
      return renew(self, challenge_of(asked), refused)
    end, self.options.timeout + AROUND)
  until is_mine or err or not asked or token and token ~= refused
  return token or nil, err
end

--- Makes sure of a token, from a person if need be: true, or nil, err. Waits.
function methods:login()
  local token, err = self:token()
  if err then return nil, err end
  if not token then token, err = self:token {} end
  if not token then return nil, err end
  return true
end

--- Whether there is a token, or a way to one without a person, as far as it is known: true, false, or nil, err where
-- the file cannot be read.
function methods:is_logged_in()
  local entry, err = newest(self)
  if entry == nil then return nil, err end
  return entry and (is_fresh(entry) or entry.refresh_token ~= nil) or false
end

--- Forgets the tokens of this server, in the file too, and the client that was registered for them unless others have
-- tokens of the same issuer: true, or nil, err. The authorisation server is not told.
function methods:logout()
  self.entry, self.given, self.steps = false, nil, {}
  return self.kept:change(function(data)
    local gone, left = {}, {}
    for key, entry in next, data.tokens do
      local is_ours = entry.url == self.options.url
      if is_ours then data.tokens[key] = nil end
      (is_ours and gone or left)[entry.issuer] = true
    end
    for issuer in next, gone do
      if not left[issuer] then data.clients[issuer] = nil end
    end
    return true
  end)
end

check.colons(methods, metatable, "login")

function metatable.__tostring(self)
  return ("%s (%s%s)"):format(metatable.__name, self.server.origin, self.server.path)
end

--- The checker of a source of tokens: returns it, or raises an ArgumentError.
login.source = check.that("login (koine.mcp.login)", function(value)
  if type(value) == "table" and getmetatable(value) == metatable then return value end
end)

--- The checker of the options of a login to a server that is known otherwise, all but url, proxy, ca_file and
-- transport: returns them, or raises an ArgumentError.
login.own_options = check.that("table", function(value, path)
  if type(value) == "table" then return OWN_OPTIONS(value, path .. ".") end
end)

--- Returns the seconds that a login of this source may take with all that is around it.
function login.longest(source) return source.options.timeout + AROUND end

-- Refuses options that do not go together.
local function check_client(options)
  if options.client_secret and not (options.client_id and options.issuer) then
    errors.argument("issuer", "client_id and issuer, whose the client_secret is", nil)
  end
end

--- A source of tokens for the server at a URL; or nil, err, where the file of tokens is of no use. Nothing is asked
-- yet. Options: docs/mcp.md. Raises an ArgumentError.
function login.new(given)
  local options = OPTIONS(given)
  check_client(options)
  local problem = address.problem(options.url)
  if problem then check.refuse("url", "https:// URL, or one on this machine", options.url) end
  local self = setmetatable({ options = options, server = address.parse(options.url),
    kept = kept.open(options.tokens), entry = false, given = nil, steps = {}, flight = nil }, metatable)
  local found, err = self.kept:find(options.url)
  if found == nil then return nil, err end
  return self
end

return login
