--- What a server says of who lets people in, and what that authorisation server says of itself (RFC 9728, RFC 8414,
-- OpenID Connect Discovery). All of it is a stranger's word: every address is judged before it is asked, and names have
-- to be exactly those that were asked for.

local address = require "koine.protocol.mcp.login.address"
local call = require "koine.protocol.mcp.login.call"

local metadata = {}

local RESOURCE, SERVER, OPENID = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration"

local function refused(...) return nil, call.failure("auth", (...):format(select(2, ...)), "metadata") end

-- A URL as errors show it: what is behind its path may be a credential.
local function shown(url) return (url:gsub("[?#].*$", "")) end

-- The first document that one of the URLs has: the object, and its URL as errors show it; or nil, err. Another URL is
-- asked where a server says that there is none at one.
local function first(login, urls)
  for _, url in ipairs(urls) do
    local problem = address.problem(url, login.server)
    if problem then return refused("the address of metadata %s: %s", problem, shown(url)) end
    local answer, err = call.send(login.options, { method = "GET", url = url })
    if not answer then return nil, err end
    if answer.status == 200 then
      if not answer.object then return refused("no metadata at %s, but something else", shown(url)) end
      return answer.object, shown(url)
    elseif answer.status < 400 or answer.status >= 500 then
      return refused("%d in place of metadata at %s", answer.status, shown(url))
    end
  end
  for i, url in ipairs(urls) do urls[i] = shown(url) end
  return refused("no metadata at %s", table.concat(urls, ", "))
end

--- Whether an array of a document (a value of any type) has a string: true, false, or nil where it is no array.
function metadata.has(list, wanted)
  if type(list) ~= "table" then return nil end
  for _, item in ipairs(list) do
    if item == wanted then return true end
  end
  return false
end

local has = metadata.has

-- The texts of an array, with a space between them; nil for none.
local function words(list)
  if type(list) ~= "table" then return nil end
  local texts = {}
  for _, item in ipairs(list) do
    if type(item) == "string" and item:find "^[\x21-\x7E]+$" and not item:find '["\\]' then texts[#texts + 1] = item end
  end
  return texts[1] and table.concat(texts, " ")
end

--- What the server says of itself: {resource (its identifier), issuer, scope (or nil)}; or nil, err. `asked` is the
-- challenge of its refusal (a table).
function metadata.resource(login, asked)
  local server = login.server
  local root = server.origin .. RESOURCE
  local urls = { asked.resource_metadata or root .. address.path(server) .. server.query }
  if not asked.resource_metadata and urls[1] ~= root then urls[2] = root end
  local found, url = first(login, urls)
  if not found then return nil, url end
  if type(found.resource) ~= "string" or not address.covers(found.resource, server) then
    return refused("the metadata at %s is of another server", url)
  end
  local issuers = type(found.authorization_servers) == "table" and found.authorization_servers or {}
  local wanted = login.options.issuer
  local issuer = not wanted and issuers[1] or has(issuers, wanted) and wanted or nil
  if type(issuer) ~= "string" then
    return refused("the metadata at %s names %s authorisation server", url, wanted and "another" or "no")
  end
  return { resource = found.resource, issuer = issuer, scope = words(found.scopes_supported) }
end

-- Where the metadata of an issuer may be, in the order in which they are asked; nil for one that is no issuer.
local function places(issuer)
  local parts = address.parse(issuer)
  if not parts or parts.query ~= "" then return nil end
  local origin, path = parts.origin, address.path(parts)
  if path == "" then return { origin .. SERVER, origin .. OPENID } end
  return { origin .. SERVER .. path, origin .. OPENID .. path, origin .. path .. OPENID }
end

-- What is wrong with the endpoint of that name; nil for nothing, and where it is missing and may be.
local function endpoint_problem(login, found, name, is_optional)
  local url = found[name]
  if url == nil and is_optional then return nil end
  local problem = address.problem(url, login.server)
  return problem and name .. " " .. problem
end

local function problem_of(login, found, issuer)
  if found.issuer ~= issuer then return "is of another issuer" end
  local problem = endpoint_problem(login, found, "authorization_endpoint")
    or endpoint_problem(login, found, "token_endpoint") or endpoint_problem(login, found, "registration_endpoint", true)
  if problem then return "is of no use: " .. problem end
  if not has(found.code_challenge_methods_supported, "S256") then return "does not promise PKCE with S256" end
  if has(found.response_types_supported, "code") == false then return "has no authorisation codes" end
end

--- What an issuer says of itself: its metadata as it came, with an `issuer` that is exactly that one, endpoints that
-- may be asked, and PKCE; or nil, err.
function metadata.issuer(login, issuer)
  local urls = places(issuer)
  if not urls then return refused("the server names an issuer that is no URL") end
  local found, url = first(login, urls)
  if not found then return nil, url end
  local problem = problem_of(login, found, issuer)
  if problem then return refused("the metadata at %s %s", url, problem) end
  found.scope = words(found.scopes_supported)
  return found
end

return metadata
