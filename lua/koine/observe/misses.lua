--- Misses of providers' caches: a call whose provider had cached tokens for the call before it, and found none of them.
-- The reason stands in the requests, where their content was captured: a cache holds what requests have in common from
-- their beginnings on.

local misses = {}

local PARTS <const> = { "tools", "system", "messages" } -- in the order in which caches hold them

local function is_list(value) return value[1] ~= nil end

local function keys_of(a, b)
  local keys = {}
  for key in pairs(a) do keys[#keys + 1] = key end
  for key in pairs(b) do
    if a[key] == nil then keys[#keys + 1] = key end
  end
  table.sort(keys, function(x, y) return tostring(x) < tostring(y) end)
  return keys
end

local difference

-- The same for two tables. Of arrays, `b` may go on where `a` ends, where `grows` says so.
local function table_difference(a, b, path, grows)
  if is_list(a) and is_list(b) then
    for i = 1, math.max(#a, grows and 0 or #b) do
      local found = difference(a[i], b[i], ("%s[%d]"):format(path, i - 1))
      if found then return found end
    end
    return nil
  end
  for _, key in ipairs(keys_of(a, b)) do
    local found = difference(a[key], b[key], ("%s.%s"):format(path, tostring(key)))
    if found then return found end
  end
end

-- The path of the first difference between two values of JSON; nil where they are equal.
function difference(a, b, path, grows)
  if type(a) == "table" and type(b) == "table" then return table_difference(a, b, path, grows) end
  return a ~= b and path or nil
end

-- Where the content of a call first differs from that of the call before; nil where it does not, or is not known.
local function path_of(before, now)
  local a, b = before.start.content, now.start.content
  if type(a) ~= "table" or type(b) ~= "table" then return nil end
  for _, name in ipairs(PARTS) do
    local found = difference(a[name], b[name], name, name == "messages")
    if found then return found end
  end
end

local function count(usage, name) return type(usage[name]) == "number" and usage[name] or 0 end

local function missed(before, now)
  local a, b = before.finish.usage, now.finish.usage
  if type(a) ~= "table" or type(b) ~= "table" or b.cache_read_tokens ~= 0 then return false end
  return count(a, "cache_read_tokens") + count(a, "cache_creation_tokens") > 0
end

-- What the calls have in common that can share a cache: a string; nil where there is no call before.
local function line_of(node)
  local start = node.start
  local of = start.conversation or node.parent
  if not of or not node.finish then return nil end
  return ("%s %s %s"):format(tostring(of), tostring(start.provider), tostring(start.model))
end

--- Adds a point `cache_miss` to the chats (nodes of a tree, an array, in the order of their times) that missed the
-- cache, unless they have one: {v, type, phase, trace, parent, time, path = where the request first differs from the
-- one before, nil where it does not, or content was not captured}.
function misses.mark(chats)
  local last = {}
  for _, node in ipairs(chats) do
    local line = node.start and line_of(node)
    local before = line and last[line]
    if before and missed(before, node) then
      local told = false
      for _, point in ipairs(node.points) do told = told or point.type == "cache_miss" end
      if not told then
        table.insert(node.points, { v = 1, type = "cache_miss", phase = "point", trace = node.trace, parent = node.id,
          time = node.time, path = path_of(before, node) })
      end
    end
    if line then last[line] = node end
  end
end

return misses
