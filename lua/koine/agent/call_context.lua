--- What the function of a tool hears of the call that it answers.

local core = require "koine.core"
local records = require "koine.data.records"

--- ctx.call of a call (a tool_use block, or one of a run's): {id, name, arguments_json}. The last is the model's own
-- text where it says the same as `arguments` (a table), and nil where somebody edited them.
return function(call, arguments)
  local own, read = call.arguments_json, nil
  if type(own) == "string" then read = core.decode(own) end
  local is_own = type(read) == "table" and records.equal(read, arguments)
  return { id = call.id, name = call.name, arguments_json = is_own and own or nil }
end
