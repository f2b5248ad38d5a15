--- Checkers of tables, of their members and of their methods: a part of init.lua.

local check = require "koine.data.check.value"
local core = require "koine.core"
local errors = require "koine.data.errors"

local tables = {}

--- An array whose members fit `item`; `expected` (nil: "array") names it in errors.
function tables.list(item, expected)
  return check.that(expected or "array", function(value, path)
    if type(value) ~= "table" then return nil end
    if not check.is_list(value) then return nil, "a table with holes or other keys" end
    local kept = core.array {}
    for i, member in ipairs(value) do kept[i] = item(member, path .. "[" .. i .. "]") end
    return kept
  end)
end

--- A table {name = value} with strings as names, whose values fit `item`.
function tables.map(item, expected)
  return check.that(expected or "table", function(value, path)
    if type(value) ~= "table" then return nil end
    local kept = {}
    for name in next, value do
      if type(name) ~= "string" then return nil, "a table with other keys than names" end
    end
    for _, name in ipairs(check.names(value)) do kept[name] = item(value[name], path .. "." .. name) end
    return kept
  end)
end

-- Checkers that are asked for members that are absent, too.
local asked = setmetatable({}, { __mode = "k" })

local function always(c, checker)
  asked[checker] = true
  return check.like(c, checker)
end

--- A member that has to be there.
function tables.required(c) return always(c, function(value, path) return c(value, path) end) end

--- A member that is `value` where it is absent; of a function what it returns, each time. The default is checked too,
-- which makes a new table of an empty one.
function tables.default(c, value)
  return always(c, function(given, path)
    if given == nil then
      given = value
      if type(value) == "function" then given = value() end
    end
    return c(given, path)
  end)
end

-- The names of members: those of an array first, the others sorted.
local function in_order(first, members)
  local names, placed = {}, {}
  for i, name in ipairs(first) do names[i], placed[name] = name, true end
  for _, name in ipairs(check.names(members)) do
    if not placed[name] then names[#names + 1] = name end
  end
  return names
end

local function before(a, b) return core.before(tostring(a), tostring(b)) end

-- A function(value, prefix) → a new table with the members of `value`, inherited ones too; `prefix` stands before the
-- name of a member in errors. It looks for unknown names first, then asks the members, those of the
-- array `first` before the others.
local function keeper(members, what, hints, first)
  local names = in_order(first or {}, members)
  return function(value, prefix)
    local kept, unknown = {}, nil
    for name in next, value do
      if not members[name] and (unknown == nil or before(name, unknown)) then unknown = name end
    end
    if unknown ~= nil then check.unknown(what, unknown, members, prefix and prefix .. tostring(unknown), hints) end
    for i = 1, #names do
      local name = names[i]
      local c, given = members[name], value[name]
      if given ~= nil or asked[c] then kept[name] = c(given, prefix and prefix .. name or name) end
    end
    return kept
  end
end

--- A table of named members: {name = checker}. Members may be absent unless they are check.required. Raises for an
-- unknown name with the nearest one. `expected` (nil: "table") names the table in errors.
function tables.record(members, expected)
  local keep = keeper(members, "field")
  return check.that(expected or "table", function(value, path)
    if type(value) == "table" then return keep(value, path .. ".") end
  end)
end

--- The options of a function: a record whose members are called by their names alone in errors, as "options" it is
-- called itself when it is no table. A second argument stands before the names of members. `settings` (nil: none) may
-- have other words: what = what a member is ("option"), path, expected = what the table is ("options", "table"), hints
-- as for check.unknown; first = array of the members that are asked before the others.
function tables.options(members, settings)
  settings = settings or {}
  local keep = keeper(members, settings.what or "option", settings.hints, settings.first)
  local path, expected = settings.path or "options", settings.expected or "table"
  return function(given, prefix)
    if type(given) ~= "table" then check.refuse(path, expected, given) end
    return keep(given, prefix)
  end
end

--- Makes the methods of a table refuse to be called without an object of this metatable before them: by a dot in place
-- of the colon. `name` is the object's in errors ("agent").
function tables.colons(methods, metatable, name)
  for method, f in next, methods do
    methods[method] = function(self, ...)
      if getmetatable(self) == metatable then return f(self, ...) end
      core.raise(errors.new { kind = "argument", field = name, expected = name,
        message = ("%s: %s:%s(…) with a colon expected, got %s in front"):format(name, name, method,
          errors.describe(self)) })
    end
  end
end

return tables
