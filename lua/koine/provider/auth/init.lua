--- How a row authenticates, by its `auth`: with a key in a header, with none, or by a login module, auth/NAME.lua; the
-- functions of these are listed in credentials.lua.

local auth = {}

--- How a key is sent, by the row's `auth`: the header, and the text before the key.
auth.ways = {
  bearer = { "authorization", "Bearer " },
  ["x-api-key"] = { "x-api-key", "" },
  ["api-key"] = { "api-key", "" },
  ["x-goog-api-key"] = { "x-goog-api-key", "" },
}

--- The login module of a row, or nil when it uses a key or none.
function auth.module(row)
  if auth.ways[row.auth] or row.auth == "none" then return nil end
  return require("koine.provider.auth." .. row.auth)
end

return auth
