--- The order in which the names of options, fields and members are looked at.

local core = require "koine.core"

local function before(a, b) return core.before(tostring(a), tostring(b)) end

--- The keys of a table, an array sorted as text, so that of several faults an error always names the same one.
return function(of)
  local list = {}
  for name in next, of do list[#list + 1] = name end
  table.sort(list, before)
  return list
end
