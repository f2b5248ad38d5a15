--- Helpers of the specs of logins: an MCP server and an authorisation server in one, on loopback, in the spec's own
-- process; and a person with a browser.

local core = require "koine.core"
local http = require "koine.net.http"
local http_server = require "koine.net.http_server"
local koine = require "koine"
local percent = require("koine.data.text").percent
local pkce = require "koine.protocol.mcp.login.pkce"
local served = require "spec.lua.net.served"

local kit = {}

-- Where things are; changed by fields of the same names.
local PATHS = { mcp = "/mcp", resource = "/.well-known/oauth-protected-resource/mcp",
  issuer = "/.well-known/oauth-authorization-server", authorize = "/authorize", token = "/token",
  register = "/register" }

local methods = {}
local metatable = { __index = methods }

local function json(status, value, headers) return served.answer(status, core.encode(value), nil, headers) end

local answers = {}

-- Refuses a request to the MCP server.
local function refuse(status, fields)
  local parts = {}
  for name, value in pairs(fields or {}) do parts[#parts + 1] = ('%s="%s"'):format(name, value) end
  table.sort(parts)
  return json(status, { error = "no" }, { { "www-authenticate", "Bearer " .. table.concat(parts, ", ") } })
end

function answers:mcp(request)
  local token = (request.headers.authorization or ""):match "^Bearer (.+)$"
  local known = token and self.valid[token]
  if not known then return refuse(401, self.challenged) end
  for scope in (self.needed or ""):gmatch "%S+" do
    if not (" " .. known.scope .. " "):find(" " .. scope .. " ", 1, true) then
      return refuse(403, { error = "insufficient_scope", scope = scope })
    end
  end
  local message = core.decode(request.body)
  if not message.id then return served.answer(202, "") end
  local result = { resultType = "complete", content = core.array { { type = "text", text = token } } }
  if message.method == "server/discover" then
    result = { resultType = "complete", supportedVersions = core.array { "2026-07-28" }, capabilities = {} }
  end
  return json(200, { jsonrpc = "2.0", id = message.id, result = result })
end

-- Fields, with those of `also` over them; core.null takes one away.
local function with(fields, also)
  for name, value in pairs(also or {}) do fields[name] = value ~= core.null and value or nil end
  return fields
end

function answers:resource()
  return json(200, with({ resource = self.url .. "/mcp",
    authorization_servers = core.array { self.url .. (self.issuer_path or "") } }, self.resource_fields))
end

function answers:issuer()
  return json(200, with({ issuer = self.url .. (self.issuer_path or ""),
    authorization_endpoint = self.url .. "/authorize", token_endpoint = self.url .. "/token",
    registration_endpoint = self.url .. "/register", response_types_supported = core.array { "code" },
    code_challenge_methods_supported = core.array { "S256" } }, self.issuer_fields))
end

function answers:register(request)
  self.registered = core.decode(request.body)
  return json(201, with({ client_id = "client-" .. self:count "client",
    redirect_uris = self.registered.redirect_uris }, self.register_fields))
end

-- Sends the browser to where it comes back.
function answers:authorize(request)
  local query = request.query
  self.authorized = query
  local code, parts = "code-" .. self:count "code", {}
  self.codes[code] = { challenge = query.code_challenge, scope = query.scope or "", redirect_uri = query.redirect_uri }
  for name, value in pairs(with({ code = code, state = query.state }, self.redirect_fields)) do
    parts[#parts + 1] = name .. "=" .. percent(value)
  end
  return served.answer(302, "", nil, { { "location", query.redirect_uri .. "?" .. table.concat(parts, "&") } })
end

-- Makes a token, which is good for as long as `valid` has it.
local function issue(self, scope)
  local n = self:count "token"
  local access, refresh = "access-token-" .. n, "refresh-token-" .. n
  self.valid[access], self.refreshable[refresh] = { scope = scope }, { scope = scope }
  return json(200, with({ access_token = access, token_type = "Bearer", expires_in = 3600, refresh_token = refresh,
    scope = scope }, self.token_fields))
end

function answers:token(request)
  local form = http_server.parse_query(request.body)
  form.authorization = request.headers.authorization
  self.asked[#self.asked + 1] = form
  if self.token_answer then return self.token_answer(form) end
  if form.grant_type == "refresh_token" then
    local known = self.refreshable[form.refresh_token]
    if not known then return json(400, { error = "invalid_grant" }) end
    self.refreshable[form.refresh_token] = nil
    return issue(self, known.scope)
  end
  local known = self.codes[form.code]
  self.codes[form.code] = nil
  local is_good = known and known.redirect_uri == form.redirect_uri
    and pkce.challenge(form.code_verifier) == known.challenge
  if not is_good then return json(400, { error = "invalid_grant" }) end
  return issue(self, known.scope)
end

--- The MCP server takes none of its tokens any more; true: the authorisation server refreshes none.
function methods:forget(with_refresh)
  self.valid = {}
  if with_refresh then self.refreshable = {} end
end

--- Counts what is called so: the number so far, this one included.
function methods:count(name)
  self.counts[name] = (self.counts[name] or 0) + 1
  return self.counts[name]
end

--- The paths of metadata that were asked so far, an array.
function methods:seen()
  local paths = {}
  for _, path in ipairs(self.log) do
    if path:find("well-known", 1, true) or path == self.paths.resource then paths[#paths + 1] = path end
  end
  return paths
end

--- The answer to a GET.
function kit.get(url)
  return assert(http.send { method = "GET", url = url, headers = {}, timeouts = { total = 10 } })
end

--- A person: opens the URL as a browser does that follows what it is sent to. What on_url gets.
function methods:visit(url)
  local there = kit.get(url).headers.location
  self.page = there and kit.get(there)
end

--- A login there, or nil, err; `opts` (nil: none) goes over its options.
function methods:login(opts)
  local all = { url = self.url .. "/mcp", timeout = 10, on_url = function(url)
    self:count "visit"
    self:visit(url)
  end }
  for name, value in pairs(opts or {}) do all[name] = value end
  return koine.mcp.login(all)
end

--- A client with the tokens of a login, or nil, err.
function methods:connect(source)
  return koine.mcp.connect { name = "s", url = self.url .. "/mcp", token = source }
end

--- Runs f(server) beside a server with these fields: paths over PATHS, challenged (parameters of a 401), needed
-- (scopes), resource_fields, issuer_fields, register_fields, redirect_fields, token_fields, issuer_path,
-- token_answer(form) → the bytes of an answer.
function kit.run(fields, f)
  local self = setmetatable({ counts = {}, codes = {}, valid = {}, refreshable = {}, asked = {}, log = {},
    challenged = {} }, metatable)
  for name, value in pairs(fields) do self[name] = value end
  self.paths = with({}, PATHS)
  for name, path in pairs(fields.paths or {}) do self.paths[name] = path end
  served.run(function(conn, request)
    self.log[#self.log + 1] = request.path
    for name, path in pairs(self.paths) do
      if path == request.path then return conn:send(answers[name](self, request)) end
    end
    conn:send(json(404, { error = "not here" }))
  end, function(url)
    self.url = url
    f(self)
  end)
end

--- A part of a URL without its percent signs.
function kit.unescape(part) return http_server.parse_query("x=" .. part).x end

kit.json = json

return kit
