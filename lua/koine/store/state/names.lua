--- A set of names in the order of their bytes: a change costs little, and a look after changes puts the new ones in
-- their places, all at once. A name that was taken out stays in the array, dead, until there are many. Where memory is
-- short, a call changes nothing.

local before = require("koine.core").before

local names = {}

local methods = {}
local metatable = { __index = methods }

local SPARE = 64 -- dead names that are not worth a new array

--- An empty set.
function names.new() return setmetatable({ sorted = {}, fresh = {}, dead = {}, dead_count = 0 }, metatable) end

--- Adds a name; one that is in the set already stays there once.
function methods:add(name)
  if self.dead[name] then
    self.dead[name], self.dead_count = nil, self.dead_count - 1
  else
    self.fresh[#self.fresh + 1] = name
  end
end

--- Takes out a name that is in the set.
function methods:remove(name)
  self.dead[name] = true
  self.dead_count = self.dead_count + 1
end

-- Makes one sorted array of the old names and the new ones, without the dead.
local function merge(self)
  local old, fresh, dead, merged, i = self.sorted, self.fresh, self.dead, {}, 1
  table.sort(fresh, before)
  local function take(name)
    if not dead[name] and merged[#merged] ~= name then merged[#merged + 1] = name end
  end
  for _, name in ipairs(fresh) do
    while old[i] and before(old[i], name) do
      take(old[i])
      i = i + 1
    end
    take(name)
  end
  for j = i, #old do take(old[j]) end
  self.sorted, self.fresh, self.dead, self.dead_count = merged, {}, {}, 0
end

-- The place of the first name that is not before `name`, or with `behind` of the first behind it.
local function place(sorted, name, behind)
  local low, high = 1, #sorted + 1
  while low < high do
    local middle = (low + high) // 2
    if before(sorted[middle], name) or behind and sorted[middle] == name then low = middle + 1 else high = middle end
  end
  return low
end

--- For a generic for: the names that begin with `prefix`, and come behind `after` (nil: all), in order. The set may not
-- change meanwhile.
function methods:each(prefix, after)
  if self.fresh[1] or self.dead_count > #self.sorted // 2 + SPARE then merge(self) end
  local sorted, dead = self.sorted, self.dead
  local i = after and not before(after, prefix) and place(sorted, after, true) or place(sorted, prefix)
  return function()
    while dead[sorted[i]] do i = i + 1 end
    local name = sorted[i]
    i = i + 1
    if name and name:sub(1, #prefix) == prefix then return name end
  end
end

return names
