--- Addresses that a login may ask: https, or http on this machine; and none on a private network where the server
-- itself is public, so that a stranger's metadata cannot point us at what only we can reach. Names are judged as they
-- are written: what a name server says of them is not looked at.

local address = {}

local URL_MAX = 4096 -- bytes
local PORTS = { http = "80", https = "443" }
-- Ends of names that no public server has.
local LOCAL_NAMES = { "%.local$", "%.internal$", "%.lan$", "%.intranet$", "%.home%.arpa$", "%.localhost$" }

--- The parts of an http:// or https:// URL without a user or a fragment: {scheme, host (lower case, without brackets),
-- port, origin (as a URL begins with it), path ("" for none), query (with its "?", or "")}; nil for anything else.
function address.parse(url)
  if type(url) ~= "string" or #url > URL_MAX or url:find '[^\x21-\x7E]' or url:find '[#\\"<>^`{|}]' then return nil end
  local scheme, authority, path, query = url:match "^([Hh][Tt][Tt][Pp][Ss]?)://([^/?]+)([^?]*)(.*)$"
  if not scheme then return nil end
  local host, port = authority:match "^%[([%x:.]+)%]:?(%d*)$"
  if not host then host, port = authority:match "^([%w._-]+):?(%d*)$" end
  if not host then return nil end
  scheme = scheme:lower()
  return { scheme = scheme, host = (host:lower():gsub("%.$", "")), port = port ~= "" and port or PORTS[scheme],
    origin = scheme .. "://" .. authority:lower(), path = path, query = query }
end

-- The four numbers of an address of IPv4; nil for a name. What only looks like one is false.
local function quad(host)
  local last = host:match "[^.]+$" or ""
  if not last:find "^%d+$" and not last:find "^0x%x*$" then return nil end
  local numbers = { host:match "^(%d+)%.(%d+)%.(%d+)%.(%d+)$" }
  for i = 1, 4 do
    local text = numbers[i]
    if not text or #text > 3 or text:find "^0." or tonumber(text) > 255 then return false end
    numbers[i] = math.tointeger(tonumber(text))
  end
  return numbers
end

--- Whether a host is this machine.
function address.is_loopback(host)
  if host == "localhost" or host == "::1" or host:find "%.localhost$" then return true end
  local numbers = quad(host)
  return numbers and numbers[1] == 127 or false
end

--- Whether a host is none of the public Internet's, as far as its name tells.
function address.is_private(host)
  if address.is_loopback(host) then return true end
  if host:find ":" then return not host:find "^[23]%x%x%x:" end
  local numbers = quad(host)
  if numbers == false then return true end
  if numbers then
    local a, b = numbers[1], numbers[2]
    return a == 0 or a == 10 or a >= 224 or a == 172 and b >= 16 and b <= 31 or a == 192 and b == 168
      or a == 169 and b == 254 or a == 100 and b >= 64 and b <= 127
  end
  for _, pattern in ipairs(LOCAL_NAMES) do
    if host:find(pattern) then return true end
  end
  return not host:find(".", 1, true)
end

--- What is wrong with a URL that a login is told to ask, in words behind its name; nil for nothing. `server` (parts) is
-- the MCP server's, nil to judge that one itself.
function address.problem(url, server)
  local parts = address.parse(url)
  if not parts then return "is no http:// or https:// URL" end
  local is_safe = parts.scheme == "https" or address.is_loopback(parts.host)
  if not is_safe then return "is neither https nor on this machine" end
  if server and address.is_private(parts.host) and not address.is_private(server.host) then
    return "is on a private network, and the server is not"
  end
end

-- A path without a slash at its end.
local function bare(path) return (path:gsub("/$", "")) end

--- Whether a resource's identifier (a URL) is that of the server at `server` (parts): the same, or one that its path is
-- below.
function address.covers(resource, server)
  local parts = address.parse(resource)
  if not parts then return false end
  if parts.scheme ~= server.scheme or parts.host ~= server.host or parts.port ~= server.port then return false end
  if parts.query ~= "" and parts.query ~= server.query then return false end
  local above, below = bare(parts.path), bare(server.path)
  return below == above or below:sub(1, #above + 1) == above .. "/"
end

--- The path of parts without a slash at its end.
function address.path(parts) return bare(parts.path) end

return address
