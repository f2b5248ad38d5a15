--- Where a Redis server is, out of a URL:
--   redis://[[user]:password@]host[:port][/db]      rediss:// for TLS
--   unix://[[user]:password@]/path/of/socket[?db=n]
-- A user and a password may be spelt with percent signs. No error shows the URL: it may hold a password.

local check = require "koine.data.check"

local PORT = 6379
local DATABASE_MAX = 1 << 20

local EXPECTED = "URL: redis://, rediss:// or unix://, as in redis://user:password@host:6379/0"

local UNESCAPED = "a name or password with / ? or # (%2F %3F %23 in a URL)"

local function decoded(text)
  return (text:gsub("%%(%x%x)", function(byte) return string.char(tonumber(byte, 16)) end))
end

-- user, password and the rest of what is behind the scheme.
local function split_credentials(rest)
  local credentials, behind = rest:match "^([^/?#]*)@(.*)$"
  if not credentials then return nil, nil, rest end
  local user, password = credentials:match "^([^:]*):(.*)$"
  if not user then user, password = "", credentials end
  return user ~= "" and decoded(user) or nil, password ~= "" and decoded(password) or nil, behind
end

local function database(text)
  local n = text:find "^%d%d?%d?%d?%d?%d?%d?$" and math.tointeger(tonumber(text))
  return n and n <= DATABASE_MAX and n or nil
end

-- Host, port and database of "host:port/db"; nil and why where it is another text.
local function network(address, rest)
  local place, db = rest:match "^([^/?#]*)/?([^?#]*)$"
  if not place then return nil, "a query or fragment" end
  local host, port = place:match "^%[([%x:.]+)%]:?(%d*)$"
  if not host then host, port = place:match "^([%w._-]+):?(%d*)$" end
  if not host then return nil, "a host or port that is none" end
  address.host, address.port = host, port == "" and PORT or math.tointeger(tonumber(port))
  address.db = db ~= "" and database(db) or nil
  if not address.port or address.port < 1 or address.port > 65535 then return nil, "a port that is none" end
  if db ~= "" and not address.db then return nil, "a database that is no number" end
  address.where = ("%s:%d"):format(host, address.port)
  return address
end

local function unix(address, rest)
  local path, query = rest:match "^(/[^?#]*)%??([^#]*)$"
  if not path then return nil, "a socket without its whole path" end
  local db = query:match "^db=(%d+)$"
  address.path, address.db = decoded(path), db and database(db) or nil
  if query ~= "" and not address.db then return nil, "a query that is not db=NUMBER" end
  address.where = address.path
  return address
end

--- The checker of a URL: {host, port | path, tls, user, password, db, where (for errors)}.
return check.secret(check.that(EXPECTED, function(url)
  if type(url) ~= "string" then return nil end
  if url:find "[%c ]" then return nil, "one with a space or control character" end
  local scheme, rest = url:match "^(%l+)://(.*)$"
  if scheme ~= "redis" and scheme ~= "rediss" and scheme ~= "unix" then return nil, "no scheme, or another one" end
  local address = { tls = scheme == "rediss" }
  address.user, address.password, rest = split_credentials(rest)
  if scheme ~= "unix" and rest:find("@", 1, true) then return nil, UNESCAPED end
  return (scheme == "unix" and unix or network)(address, rest)
end))
