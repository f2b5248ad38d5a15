--- GitHub's hosts: where one logs in, where its API is, where Copilot answers, and which of those that an answer names
-- may be sent a token.

local errors = require "koine.data.errors"

local addresses = {}

local SERVICE = "githubcopilot.com" -- every plan's API host is under this one

local PUBLIC = { name = "github.com", login = "https://github.com", api = "https://api.github.com",
  chat = "https://api." .. SERVICE }

-- The host name in an authority ("name", "name:port", "[::1]:port"), in lower case; nil when it is not one.
local function name_of(authority)
  local name = authority:match "^(%[[%x:.]+%])$" or authority:match "^(%[[%x:.]+%]):%d+$"
    or authority:match "^([%w.-]+)$" or authority:match "^([%w.-]+):%d+$"
  return name and name:lower()
end

local function is_loopback(name)
  return name == "localhost" or name == "[::1]" or name:find "^127%.%d+%.%d+%.%d+$" ~= nil
end

-- True when `name` is `domain` or under it.
local function is_under(name, domain)
  return name == domain or name:sub(-#domain - 1) == "." .. domain
end

--- The addresses of a GitHub host: {name, login, api, chat = URLs, loopback = true for a host of tests}. `given` is
-- "github.com" (or nil), the host name of an enterprise ("example.ghe.com"), the https URL of either, or the URL of a
-- server on this machine, which then plays all parts. Raises an ArgumentError for anything else.
function addresses.of(given)
  given = given or PUBLIC.name
  local scheme, authority = given:match "^(https?)://([^/?#%c%s@\\]+)/?$"
  local name = name_of(authority or given)
  if name and scheme and is_loopback(name) then
    local url = scheme .. "://" .. authority
    return { name = authority:lower(), login = url, api = url, chat = url, loopback = true }
  end
  if not name or scheme == "http" or not name:find "^%w[%w-]*%.[%w.-]*%w$" or (authority or given):find ":" then
    errors.argument("github_host", "host name of GitHub, or its https:// URL", given)
  end
  if name == PUBLIC.name then return PUBLIC end
  return { name = name, login = "https://" .. name, api = "https://api." .. name,
    chat = "https://copilot-api." .. name }
end

--- True when a token may go to this URL because an answer named it: https under githubcopilot.com or the GitHub host.
function addresses.trusted(host, url)
  local scheme, authority = url:match "^(https?)://([^/?#%c%s@\\]+)/?$"
  local name = authority and name_of(authority)
  if not name then return false end
  if host.loopback and is_loopback(name) then return true end
  return scheme == "https" and (is_under(name, SERVICE) or is_under(name, host.name))
end

--- Where Copilot answers, as the exchange says: `named` (its endpoints.api, any value), else the proxy-ep in the token,
-- else the host's own. The URL, or nil and the URL that is not to be trusted.
function addresses.service(host, named, token)
  local url = type(named) == "string" and named ~= "" and named or nil
  if not url then
    local domain = token:match "proxy%-ep=proxy%.([^;%s]+)"
    if not domain then return host.chat end
    url = "https://api." .. domain
  end
  if not addresses.trusted(host, url) then return nil, url end
  return (url:gsub("/$", ""))
end

return addresses
