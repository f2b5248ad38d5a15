--- Tables as values: copies, comparison down to metatables, search. For specs that prove that nothing of theirs was
-- touched.

local deep = {}

--- A copy that shares no table with the original; metatables are shared.
function deep.copy(value)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, member in next, value do copy[deep.copy(key)] = deep.copy(member) end
  return setmetatable(copy, getmetatable(value))
end

--- nil when both are the same in types, values, keys and metatables; else the path of the first difference.
function deep.difference(a, b, path)
  path = path or "value"
  if math.type(a) ~= math.type(b) or type(a) ~= type(b) then return path end
  if type(a) ~= "table" then return a ~= b and path or nil end
  if getmetatable(a) ~= getmetatable(b) then return path .. " (metatable)" end
  for key, member in next, a do
    local where = deep.difference(member, b[key], path .. "." .. tostring(key))
    if where then return where end
  end
  for key in next, b do
    if a[key] == nil then return path .. "." .. tostring(key) end
  end
end

local function gather(value, look, seen, found)
  local kind = type(value)
  if kind == "string" then found[#found + 1] = value end
  if kind ~= "table" and kind ~= "userdata" or seen[value] then return end
  seen[value] = true
  local meta = getmetatable(value)
  if meta and meta.__tostring then found[#found + 1] = tostring(value) end
  for key, member in next, kind == "table" and value or look and look(value) or {} do
    gather(key, look, seen, found)
    gather(member, look, seen, found)
  end
end

--- All text within a value, as one string: its strings, keys, and the tostring of its objects, a NUL between any two.
-- `look` may turn a userdata into a table to search.
function deep.text(value, look)
  local found = {}
  gather(value, look, {}, found)
  return table.concat(found, "\0")
end

--- Whether the text is anywhere within a value.
function deep.shows(value, text) return deep.text(value):find(text, 1, true) ~= nil end

return deep
