--- Options of the constructors of some rows only (row.options).

local check = require "koine.data.check"

-- A row's `options` names those of these that it takes, …
local SPECIAL = { name = check.name, auth = check.one_of { "bearer", "x-api-key", "api-key", "x-goog-api-key", "none" },
  api = check.name }

-- … and says of others which kind of value they have: NAME = one of these words.
local KINDS = {
  name = check.name, path = check.credential_path, url = check.url, ["function"] = check.func,
  table = check.table, number = check.number(),
  secret = check.key, key = check.key_source,
  credentials = check.secret(check.either("table or function", check.table, check.func)),
  header = check.that("non-empty string without control characters", function(value)
    if type(value) == "string" and value:find "%S" and not value:find "%c" then return value end
  end),
}

--- The checkers of what a row's `options` names: {name → checker}. They are names, and NAME = kind (a word of KINDS).
return function(special)
  local known = {}
  for key, value in next, special do
    if type(key) == "string" then known[key] = KINDS[value] else known[value] = SPECIAL[value] end
  end
  return known
end
