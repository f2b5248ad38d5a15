--- Checks of arguments that many modules share, and the ArgumentErrors that they raise.

local core = require "koine.core"
local errors = require "koine.data.errors"

local check = {}

--- Raises the ArgumentError for a value that may be a credential: only its type is shown.
function check.refuse(field, expected, value)
  core.raise_argument(field, expected, value == nil and "nothing" or "a " .. type(value))
end

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

--- The one of `names` (a table keyed by name) that `name` was most likely meant to be, or nil when none is near: few
-- edits away, or contained in it (api_key: key).
function check.nearest(name, names)
  local best, least = nil, math.max(2, #name // 3) + 1
  for candidate in pairs(names) do
    local edits = name:find(candidate, 1, true) and 1 or distance(name, candidate)
    if edits < least or (edits == least and best and candidate < best) then best, least = candidate, edits end
  end
  return best
end

local function all_of(names)
  local list = {}
  for name in next, names do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, ", ")
end

--- Raises the ArgumentError for a name that nobody knows. `what` is what it should have been ("option", "provider"),
-- `names` a table keyed by the known ones, `field` the name's place in full where it stands in a table of its own: the
-- known ones, few then, are told where none is near. `hints` (nil: none) says for names that are usual elsewhere what
-- is meant here.
function check.unknown(what, name, names, field, hints)
  local near = hints and hints[name]
  if not near and type(name) == "string" then near = check.nearest(name, names) end
  local hint = near and ("; did you mean %s?"):format(near:find "^[%w_/.-]+$" and '"' .. near .. '"' or near)
  core.raise(errors.new { kind = "argument", field = field or tostring(name), expected = near or "known " .. what,
    message = ("%s: unknown %s%s"):format(field or tostring(name), what,
      hint or field and "; one of " .. all_of(names) or "") })
end

--- Makes the methods of a table refuse to be called without an object of this metatable before them: by a dot in place
-- of the colon. `name` is the object's in errors ("agent").
function check.colons(methods, metatable, name)
  for method, f in next, methods do
    methods[method] = function(self, ...)
      if getmetatable(self) == metatable then return f(self, ...) end
      core.raise(errors.new { kind = "argument", field = name, expected = name,
        message = ("%s: %s:%s(…) with a colon expected, got %s in front"):format(name, name, method,
          errors.describe(self)) })
    end
  end
end

--- Whether `err`, which pcall caught, is Lua's own when no memory is left. Whoever takes an error for an answer raises
-- this one again.
function check.is_memory(err) return err == "not enough memory" end

--- Returns what can be asked as an adapter can: a table or userdata with a method chat. Raises an ArgumentError at
-- `path` for anything else.
function check.adapter(value, path)
  local ok, chat = pcall(function() return value.chat end)
  if check.is_memory(chat) then error(chat, 0) end
  if not ok or type(chat) ~= "function" then check.refuse(path, "adapter", value) end
  return value
end

--- Says what is wrong with a credential, in words that do not show it; nil when it is fit for a header.
function check.key_problem(key)
  if type(key) ~= "string" then return "a " .. type(key) end
  if key == "" then return "an empty string" end
  if key:find "%c" then return "one with control characters" end
  if key:find "^%s" or key:find "%s$" then return "one with white space around it" end
end

--- What an ArgumentError about a credential says was expected.
check.KEY_EXPECTED = "string without control characters or white space around it"

--- Raises the ArgumentError for a bad credential.
function check.key(key)
  local problem = check.key_problem(key)
  if problem then core.raise_argument("key", check.KEY_EXPECTED, problem) end
end

return check
