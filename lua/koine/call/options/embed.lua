--- The options of embed: see init.lua.

local check = require "koine.data.check"
local options = require "koine.call.options"

local EMBED = { model = check.name, dimensions = check.integer(1), extra = check.table, title = check.name,
  purpose = check.one_of { "query", "document", "similarity", "classification", "clustering", "code_query" },
  truncate = check.that('false, "end" or "start"', function(value)
    if value == false or value == "end" or value == "start" then return value end
  end),
  as = check.one_of { "table", "packed" }, normalize = check.boolean, prefix = check.string,
  truncate_client = check.boolean, batch = check.integer(1), parallel = check.integer(1, 64) }
for name in next, options.kept do EMBED[name] = true end
EMBED.keep_raw = nil

--- Checks the options of embed (nil: none) and returns its settings: they inherit from the adapter's, but for model and
-- extra, which are false where they are not given. Raises an ArgumentError naming the first bad one.
return function(given, settings)
  local own = setmetatable({ model = false, extra = false }, settings.inherited)
  return options.take(own, given or {}, EMBED, options.of_call, "chat, stream, open and object, not of embed")
end
