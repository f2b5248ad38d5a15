--- One schema of several: what references stand for put in their place, the schemas of allOf merged. Schemas are merged
-- where they say nothing different about the same thing; a schema that cannot be is refused. The context `c` is
-- node.lua's.

local core = require "koine.core"
local parts = require "koine.data.schema.parts"
local records = require "koine.data.records"

local gather = {}

local SCHEMAS_MAX = 20000 -- that references may put in place, so that some that double each other come to an end

--- Why a reference is refused that leads back to where it stands.
gather.RECURSIVE = "$ref leads back to itself"

-- The keywords that say nothing about values: the first one counts.
local ANNOTATIONS = { title = true, description = true, default = true, examples = true, deprecated = true,
  readOnly = true, writeOnly = true, ["$schema"] = true, ["$id"] = true, ["$comment"] = true, ["$defs"] = true,
  definitions = true, propertyOrdering = true }

--- True for a keyword that says nothing about values.
function gather.is_annotation(name) return ANNOTATIONS[name] or name:sub(1, 2) == "x-" end

local function copy(s)
  local made = {}
  for name, value in next, s do made[name] = value end
  return made
end

-- Both lists, each name once.
local function joined(a, b)
  local made, seen = core.array {}, {}
  for _, list in ipairs { a, b } do
    for _, name in ipairs(list) do
      if not seen[name] then made[#made + 1], seen[name] = name, true end
    end
  end
  return made
end

-- Adds what `from` says to `into`, a copy; refuses `keyword` where they differ.
local function merge(c, into, from, path, keyword)
  local order = joined(parts.order(into), parts.order(from))
  for name, value in next, from do
    local there = into[name]
    if there == nil then
      into[name] = value
    elseif name == "properties" then
      local both = copy(there)
      for property, s in next, value do
        if both[property] ~= nil and not records.equal(both[property], s) then c:refuse(path, keyword) end
        both[property] = s
      end
      into.properties = both
    elseif name == "required" then
      into.required = joined(there, value)
    elseif not gather.is_annotation(name) and not records.equal(there, value) then
      c:refuse(path, keyword)
    end
  end
  into.propertyOrdering = #order > 1 and order or nil
end

--- Finds a reference's target in the root schema: a table, true or false. Refuses a reference to nowhere, to another
-- document, or to an anchor.
function gather.target(c, reference, path)
  local target
  if type(reference) == "string" and parts.is_local(reference) then target = parts.resolve(c.root, reference) end
  if target == nil then c:refuse(path, "$ref") end
  return target
end

-- Puts the target of made["$ref"] in place.
local function follow(c, made, path, opened)
  local target = gather.target(c, made["$ref"], path)
  made["$ref"] = nil
  c.inlined = c.inlined + 1
  if c.open[target] then c:refuse(path, "$ref", gather.RECURSIVE) end
  if type(target) ~= "table" or c.inlined > SCHEMAS_MAX then c:refuse(path, "$ref") end
  c.open[target] = true
  opened[#opened + 1] = target
  merge(c, made, target, path, "$ref")
end

--- A new schema that says the same as `s`: without $ref when `inline`, without allOf when `flat`. What is put in place
-- is in c.open then, and in the array `opened`. Only the top is new: what lies in it is the caller's.
function gather.one(c, s, path, inline, flat, opened)
  local made = copy(s)
  while made["$ref"] and inline or made.allOf and flat do
    local all = made.allOf
    local only = flat and all and #all == 1 and type(all[1]) == "table" and all[1]["$ref"]
    if made["$ref"] and inline then
      follow(c, made, path, opened)
    elseif only and not inline and not made["$ref"] then
      made.allOf = nil -- how some libraries write a reference with a description
      merge(c, made, all[1], path, "allOf")
    else
      made.allOf = nil
      for i, one in ipairs(all) do
        if type(one) ~= "table" then c:refuse(path, "allOf") end
        merge(c, made, gather.one(c, one, ("%s.allOf[%d]"):format(path, i), true, true, opened), path, "allOf")
      end
    end
  end
  return made
end

return gather
