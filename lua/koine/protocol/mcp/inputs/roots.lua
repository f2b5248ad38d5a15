--- Roots: the directories that a server may look at, as the user listed them. Servers are told; nothing is enforced.

local check = require "koine.data.check"
local core = require "koine.core"

local roots = {}

local URI = check.that('URI that begins with "file://"', function(value)
  if type(value) == "string" and value:find "^file://[^%s%c]*$" then return value end
end)

--- The checker of the option: an array of {uri = "file://…", name = nil | string}.
roots.check = check.list(check.record({ uri = check.required(URI), name = check.string }, "table with a uri"),
  "array of roots")

--- The answer to `roots/list`: a new table.
function roots.answer(list)
  local copy = {}
  for i, root in ipairs(list) do copy[i] = { uri = root.uri, name = root.name } end
  return { roots = core.array(copy) }
end

return roots
