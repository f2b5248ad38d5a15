--- Nulls that stand for nothing: where a provider demands every property, a model writes null for an optional one that
-- it leaves out (rewrite/). Such a member is removed before a value is judged, unless the schema allows null there.
--
-- A place is what a schema says about one value: an array of schemas, those of references, allOf, anyOf and oneOf among
-- them. A reader that grows a value goes down from place to place; `strip` goes through a whole value.

local core = require "koine.core"
local judge = require "koine.data.schema.judge"
local parts = require "koine.data.schema.parts"

local nulls = {}

local function add(place, s, seen)
  if type(s) ~= "table" or seen[s] then return end
  seen[s] = true
  place[#place + 1] = s
  if type(s["$ref"]) == "string" then add(place, parts.resolve(place.root, s["$ref"]), seen) end
  for _, key in ipairs { "allOf", "anyOf", "oneOf" } do
    for _, one in ipairs(s[key] or {}) do add(place, one, seen) end
  end
end

--- The place of the whole value of a schema.
function nulls.root(schema)
  local place = { root = schema }
  add(place, schema, {})
  return place
end

--- The place of the member `key`, a name or an index, of a value at a place.
function nulls.step(place, key)
  local made, seen = { root = place.root }, {}
  for _, s in ipairs(place) do
    if type(key) == "number" then
      local first = (s.prefixItems or {})[key]
      if first == nil then first = s.items end
      add(made, first, seen)
    else
      local own = (s.properties or {})[key]
      if own == nil then own = s.additionalProperties end
      add(made, own, seen)
    end
  end
  return made
end

-- The set of the names that a schema requires, made once a place.
local function required(place, s)
  place.required = place.required or {}
  local set = place.required[s]
  if not set then
    set = {}
    for _, name in ipairs(s.required or {}) do set[name] = true end
    place.required[s] = set
  end
  return set
end

--- Whether null as the member `name` of an object at a place stands for nothing: the property is optional, and its
-- schema does not allow null.
function nulls.is_none(place, name)
  local known = false
  for _, s in ipairs(place) do
    local own = (s.properties or {})[name]
    if own ~= nil then
      if required(place, s)[name] or judge.validate(place.root, own, core.null, "") then return false end
      known = true
    end
  end
  return known
end

local function strip(place, value)
  if #place == 0 or type(value) ~= "table" then return end
  if parts.is_array(value) then
    for i, item in ipairs(value) do
      if type(item) == "table" then strip(nulls.step(place, i), item) end
    end
    return
  end
  for name, member in next, value do
    if member == core.null then
      if nulls.is_none(place, name) then value[name] = nil end
    elseif type(member) == "table" then
      strip(nulls.step(place, name), member)
    end
  end
end

--- Removes such members from a decoded value, in place, and returns it.
function nulls.strip(schema, value)
  strip(nulls.root(schema), value)
  return value
end

return nulls
