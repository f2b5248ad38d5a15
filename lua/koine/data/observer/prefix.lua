--- Whether a request begins as the one before it in the same conversation did. What a provider has in its cache is such
-- a beginning: tools, then the system prompt, then messages; behind the first difference it reads anew. Requests are
-- the bodies that go out. Nothing here fails.

local core = require "koine.core"

local prefix = {}

local KEPT_MAX = 16          -- conversations whose last request is kept, of one observer
local BODY_MAX = 1 << 20     -- bytes of a request that is kept; of larger ones nothing is said

-- The parts of bodies that caches go by, in the order in which models read them. Lists of messages may grow.
local PARTS = { "model", "tools", "toolConfig", "system", "instructions", "systemInstruction" }
local GROWING = { "messages", "input", "contents" }

local MARKS = { cache_control = true, cachePoint = true } -- where a cache shall end: no part of what is read

-- An array without the elements that are marks alone.
local function without_marks(list)
  local kept = {}
  for _, one in ipairs(list) do
    local name = type(one) == "table" and next(one) or nil
    if not MARKS[name] or next(one, name) ~= nil then kept[#kept + 1] = one end
  end
  return kept
end

local compare

local function compare_lists(before, now, path, may_grow)
  before, now = without_marks(before), without_marks(now)
  for i = 1, math.max(#before, may_grow and 0 or #now) do
    local inner = ("%s[%d]"):format(path, i)
    if before[i] == nil or now[i] == nil then return inner end
    local found = compare(before[i], now[i], inner, may_grow and i == #before)
    if found then return found end
  end
end

-- The names of the members of two objects, sorted.
local function names_of(a, b)
  local names, seen = {}, {}
  for _, value in ipairs { a, b } do
    for name in next, value do
      if not seen[name] and not MARKS[name] then seen[name], names[#names + 1] = true, name end
    end
  end
  table.sort(names, core.before)
  return names
end

local function is_list(value) return value[1] ~= nil or getmetatable(value) == core.array_mt end

-- The path of the first difference between two values, nil for none. Where `may_grow`, the lists in the second one may
-- go on behind those of the first.
function compare(before, now, path, may_grow)
  if type(before) ~= "table" or type(now) ~= "table" then return before ~= now and path or nil end
  if is_list(before) ~= is_list(now) and next(before) and next(now) then return path end
  if is_list(before) or is_list(now) then return compare_lists(before, now, path, may_grow) end
  for _, name in ipairs(names_of(before, now)) do
    local inner = path .. "." .. name
    if before[name] == nil or now[name] == nil then return inner end
    local found = compare(before[name], now[name], inner, may_grow)
    if found then return found end
  end
end

-- The same of two bodies, texts.
local function difference(before, now)
  before, now = core.decode(before), core.decode(now)
  if type(before) ~= "table" or type(now) ~= "table" then return nil end
  for _, list in ipairs { PARTS, GROWING } do
    for _, name in ipairs(list) do
      if before[name] ~= now[name] then
        if before[name] == nil or now[name] == nil then return name end
        local found = compare(before[name], now[name], name, list == GROWING)
        if found then return found end
      end
    end
  end
end

--- The path of the first place where a body (JSON text) does not go on as the one before it under this key (a string)
-- began: messages[3].content[1].text, say, counted from 1. nil where it does, and for the first one. `turns` (a table)
-- has what is kept of the last conversations.
function prefix.changed(turns, key, body)
  local before = turns[key]
  for i, name in ipairs(turns) do
    if name == key then table.remove(turns, i) break end
  end
  turns[key] = #body <= BODY_MAX and body or nil
  if turns[key] then turns[#turns + 1] = key end
  if #turns > KEPT_MAX then turns[table.remove(turns, 1)] = nil end
  return before and turns[key] and difference(before, body) or nil
end

return prefix
