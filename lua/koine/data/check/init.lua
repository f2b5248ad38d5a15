--- Checks of arguments. A checker is a function(value, path) → the value to keep; it raises an ArgumentError whose
-- field is `path` (nested: `timeout.idle`, `tools[2].name`). Checkers are made once, where a module is loaded:
--
--   local OPTIONS = check.options { model = check.required(check.name), steps = check.default(check.integer(1), 50) }
--   local kept = OPTIONS(given)
--
-- A checker made of others keeps a new table; the caller's is never changed. Checkers of single values are in
-- value.lua; those of tables, and what errors say of unknown names, are loaded when one is first asked for.

local check = require "koine.data.check.value"

-- Name of a function → the file beside this one that it is in.
local LATER = { nearest = "names", unknown = "names", list = "tables", map = "tables", required = "tables",
  default = "tables", record = "tables", options = "tables", colons = "tables" }

return setmetatable(check, { __index = function(_, name)
  local file = LATER[name]
  for each, f in next, file and require("koine.data.check." .. file) or {} do check[each] = f end
  return rawget(check, name)
end })
