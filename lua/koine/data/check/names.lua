--- What errors say of unknown names: a part of init.lua.

local check = require "koine.data.check.value"
local core = require "koine.core"
local errors = require "koine.data.errors"

local names = {}

-- The number of edits (insert, delete, replace) that make `b` of `a`.
local function distance(a, b)
  local previous = {}
  for j = 0, #b do previous[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local replace = previous[j - 1] + (a:byte(i) == b:byte(j) and 0 or 1)
      row[j] = math.min(previous[j] + 1, row[j - 1] + 1, replace)
    end
    previous = row
  end
  return previous[#b]
end

--- The one of `known` (a table keyed by name) that `name` was most likely meant to be, or nil when none is near: few
-- edits away, or contained in it (api_key: key).
function names.nearest(name, known)
  local best, least = nil, math.max(2, #name // 3) + 1
  for candidate in pairs(known) do
    local edits = name:find(candidate, 1, true) and 1 or distance(name, candidate)
    if edits < least or edits == least and best and core.before(candidate, best) then
      best, least = candidate, edits
    end
  end
  return best
end

--- Raises the ArgumentError for an unknown name. `what` is what it should have been ("option", "provider"),
-- `known` a table keyed by the known ones, `field` the name's place in full where it stands in a table of its own: the
-- known ones, few then, are told where none is near. `hints` (nil: none) says for names that are usual elsewhere what
-- is meant here.
function names.unknown(what, name, known, field, hints)
  local near = hints and hints[name]
  if not near and type(name) == "string" then near = names.nearest(name, known) end
  local hint = near and ("; did you mean %s?"):format(near:find "^[%w_/.-]+$" and '"' .. near .. '"' or near)
  core.raise(errors.new { kind = "argument", field = field or tostring(name), expected = near or "known " .. what,
    message = ("%s: unknown %s%s"):format(field or tostring(name), what,
      hint or field and "; one of " .. table.concat(check.names(known), ", ") or "") })
end

return names
