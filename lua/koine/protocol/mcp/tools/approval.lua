--- Which calls of a server's tools a person is asked for, and what a tool's annotations are worth. Annotations are the
-- server's own words: they count only where the user trusts the server.

local approval = {}

-- What a hint says where it is missing, or not believed.
local DEFAULTS = { readOnlyHint = false, destructiveHint = true, idempotentHint = false, openWorldHint = true }

--- The words of the option; it may be a function, too.
approval.words = { "none", "writes", "all" }

--- The hints of a tool, all four of them: {readOnlyHint, destructiveHint, idempotentHint, openWorldHint}, booleans.
-- `annotations` is what the server said (any value), `trusted` whether it is believed.
function approval.hints(annotations, trusted)
  local hints = {}
  for hint, default in next, DEFAULTS do
    local said = nil
    if trusted and type(annotations) == "table" then said = annotations[hint] end
    if type(said) ~= "boolean" then said = default end
    hints[hint] = said
  end
  return hints
end

--- What a tool's needs_approval is: a boolean, or function(args) → boolean. `setting` is "none", "writes" (all but what
-- a trusted server marks readOnlyHint), "all", or function(tool, args) → boolean; `tool` is the koine.tool with its
-- field `mcp`.
function approval.needed(setting, tool, trusted)
  if type(setting) == "function" then
    return function(args) return setting(tool, args) end
  end
  if setting == "writes" then return not approval.hints(tool.mcp.annotations, trusted).readOnlyHint end
  return setting == "all"
end

return approval
