--- Values of a message by their types: what has another type, and JSON's null, counts as absent.

local core = require "koine.core"

local read = {}

--- A string, or nil.
function read.text(value) if type(value) == "string" then return value end end

--- A number, or nil.
function read.number(value) if type(value) == "number" then return value end end

--- An object as a table, or nil.
function read.object(value)
  if type(value) == "table" and getmetatable(value) ~= core.array_mt then return value end
end

--- An array; an empty one for anything else.
function read.list(value)
  return type(value) == "table" and getmetatable(value) == core.array_mt and value or {}
end

--- A value that is neither absent nor null, or nil.
function read.any(value) if value ~= core.null then return value end end

--- The member of objects within objects: read.at(value, "a", "b") is value.a.b; nil where one is no object.
function read.at(value, ...)
  for i = 1, select("#", ...) do
    value = read.object(value)
    value = value and value[select(i, ...)]
  end
  return read.any(value)
end

local TABLE, MEMBER = 40, 16 -- bytes that these count besides what is in them

--- About how many bytes a value that was decoded takes.
function read.size(value)
  if type(value) == "string" then return #value end
  if type(value) ~= "table" then return 0 end
  local n, is_object = TABLE, getmetatable(value) ~= core.array_mt
  for name, member in next, value do n = n + MEMBER + (is_object and #name or 0) + read.size(member) end
  return n
end

return read
