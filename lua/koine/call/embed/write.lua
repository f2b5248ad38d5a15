--- Bodies of embedding requests: JSON objects whose members keep the order in which they are given, so that the same
-- request is the same bytes in every process: what is the same in each request first, then `extra`, the inputs last.

local core = require "koine.core"
local check = require "koine.data.check"

local write = {}

local JSON = {} -- metatable of {text = JSON text}

local function encode(value)
  return getmetatable(value) == JSON and value.text or core.encode(value)
end

--- A JSON object of `members`, an array of {name, value}; those without a value are left out. Values are what
-- core.encode takes, or what write.object and write.array made.
function write.object(members)
  local parts = {}
  for _, member in ipairs(members) do
    if member[2] ~= nil then parts[#parts + 1] = core.encode(member[1]) .. ":" .. encode(member[2]) end
  end
  return setmetatable({ text = "{" .. table.concat(parts, ",") .. "}" }, JSON)
end

--- A JSON array of what write.object made.
function write.array(objects)
  local parts = {}
  for i, object in ipairs(objects) do parts[i] = object.text end
  return setmetatable({ text = "[" .. table.concat(parts, ",") .. "]" }, JSON)
end

--- The body's text: `members` as for write.object, of which the last has the inputs; before that what the caller gave
-- as `extra`, sorted. A field of that which the body has already is left out, with a warning. ask: see init.lua.
function write.body(ask, members)
  local all, there = {}, {}
  for _, member in ipairs(members) do
    if member[2] ~= nil then there[member[1]] = true end
  end
  for i = 1, #members - 1 do all[i] = members[i] end
  for _, name in ipairs(check.names(ask.extra or {})) do
    if there[name] then
      ask.warn("extra_ignored", "extra." .. name, "the request has this field already: left out")
    else
      all[#all + 1] = { name, ask.extra[name] }
    end
  end
  all[#all + 1] = members[#members]
  return write.object(all).text
end

return write
