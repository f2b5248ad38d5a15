--- Nulls that stand for nothing: where a provider demands every property, a model writes null for an optional one that
-- it leaves out (rewrite/). Such a member is removed before a value is judged, unless the schema allows null there.
--
-- A place is what a schema says about one value: an array of schemas, those of references, allOf, anyOf and oneOf among
-- them; has_alternatives where one was among anyOf or oneOf, here or above. A reader that grows a value goes down from
-- place to place; `strip` goes through a whole value.

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
    for _, one in ipairs(s[key] or {}) do
      if key ~= "allOf" then place.has_alternatives = true end
      add(place, one, seen)
    end
  end
end

--- The place of the whole value of a schema.
function nulls.root(schema)
  local place = { root = schema }
  add(place, schema, {})
  return place
end

local NONE <const> = {}

-- The schemas of an array's first items, and that of the others.
local function tuple(s)
  if parts.has_tuple(s) then return s.items, s.additionalItems end
  return type(s.prefixItems) == "table" and s.prefixItems or NONE, s.items
end

-- Makes the place of the member `key`.
local function make_step(place, key)
  local made, seen = { root = place.root, has_alternatives = place.has_alternatives }, {}
  for _, s in ipairs(place) do
    local own, others = s.properties or NONE, s.additionalProperties
    if type(key) == "number" then own, others = tuple(s) end
    local part = own[key]
    if part == nil then part = others end
    add(made, part, seen)
  end
  return made
end

-- Whether a schema of the place speaks of that member by its name or index.
local function is_known(place, key)
  if not place.known then
    place.known = {}
    for _, s in ipairs(place) do
      for name in next, s.properties or NONE do place.known[name] = true end
      for i = 1, #tuple(s) do place.known[i] = true end
    end
  end
  return place.known[key]
end

--- The place of the member `key`, a name or an index, of a value at a place: the same table for members of which the
-- schemas say the same, not to be changed. So a value takes time for its own length, not for that times the schema's.
function nulls.step(place, key)
  local slot = is_known(place, key) and key or type(key) == "number" and 0 or NONE
  place.steps = place.steps or {}
  place.steps[slot] = place.steps[slot] or make_step(place, key)
  return place.steps[slot]
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
