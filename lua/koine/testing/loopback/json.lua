--- JSON with a fixed key order, as the real wires write it ("type" first), on top of koine.core's writer.
-- Pure; raises only what core.encode raises.

local core = require "koine.core"

local json = { null = core.null, decode = core.decode }

local Object, Raw = {}, {}

--- An object whose keys are written in the given order: key, value, key, value… A nil value leaves its key out.
function json.object(...)
  local pairs_ = {}
  for i = 1, select("#", ...), 2 do
    local key, value = select(i, ...)
    if value ~= nil then
      pairs_[#pairs_ + 1] = { key, value }
    end
  end
  return setmetatable(pairs_, Object)
end

--- Appends one more key to an object made by `object`; a nil value is left out.
function json.put(object, key, value)
  if value ~= nil then
    object[#object + 1] = { key, value }
  end
end

--- Appends the fields of a table (nil for none) that the object lacks, sorted by name; returns the object.
function json.put_all(object, fields)
  local names, known = {}, {}
  for _, pair in ipairs(object) do
    known[pair[1]] = true
  end
  for name in pairs(fields or {}) do
    names[#names + 1] = not known[name] and name or nil
  end
  table.sort(names, core.before)
  for _, name in ipairs(names) do
    json.put(object, name, fields[name])
  end
  return object
end

--- A value that is JSON text already and goes out as it is.
function json.raw(text)
  return setmetatable({ text }, Raw)
end

--- Marks t as an array; returns t.
function json.array(t)
  return core.array(t)
end

--- True for a decoded JSON array, the empty one too.
function json.is_array(v)
  return type(v) == "table" and getmetatable(v) == core.array_mt
end

--- True for a decoded JSON object, the empty one too.
function json.is_object(v)
  return type(v) == "table" and getmetatable(v) ~= core.array_mt
end

local function write(out, v)
  local mt = type(v) == "table" and getmetatable(v)
  if mt == Raw then
    out[#out + 1] = v[1]
  elseif mt == Object then
    out[#out + 1] = "{"
    for i, pair in ipairs(v) do
      out[#out + 1] = (i > 1 and "," or "") .. core.encode(pair[1]) .. ":"
      write(out, pair[2])
    end
    out[#out + 1] = "}"
  elseif mt == core.array_mt then
    out[#out + 1] = "["
    for i, item in ipairs(v) do
      if i > 1 then
        out[#out + 1] = ","
      end
      write(out, item)
    end
    out[#out + 1] = "]"
  else
    out[#out + 1] = core.encode(v)
  end
end

--- JSON text of a value; objects made by `object` keep their order, plain tables are sorted by key.
function json.encode(v)
  local out = {}
  write(out, v)
  return table.concat(out)
end

return json
