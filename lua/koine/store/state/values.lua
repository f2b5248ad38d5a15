--- Values with versions: what they are at a given time. Time is an argument everywhere; a value whose ttl is over
-- counts as absent. Versions count up over all keys, so that a key that was deleted never has an old one again.

local names = require "koine.store.state.names"

local values = {}

local methods = {}
local metatable = { __index = methods }

local SPARE = 64 -- changes that are not worth a sweep

--- No values. `leases` (state/leases.lua) knows the fences.
function values.new(leases)
  return setmetatable({ leases = leases, entries = {}, count = 0, version = 0, names = names.new(), changes = 0 },
    metatable)
end

local function live(self, key, now)
  local entry = self.entries[key]
  if entry and (not entry.ends or entry.ends > now) then return entry end
end

--- The value and its version; nil, nil where there is none.
function methods:get(key, now)
  local entry = live(self, key, now)
  if not entry then return nil, nil end
  return entry.value, entry.version
end

--- Whether the version there is (nil: none) is the one that if_version asks for.
function values.fits(wanted, current)
  if wanted == nil then return true end
  if wanted == "absent" then return current == nil end
  return wanted == current
end

local fits = values.fits

-- Enters a value in place of the one there is. The name comes first: where memory is short behind it, it is one without
-- a value, which no list has.
local function enter(self, key, value, version, ends)
  local entry, is_new = { value = value, version = version, ends = ends }, not self.entries[key]
  if is_new then self.names:add(key) end
  self.entries[key] = entry
  if is_new then self.count = self.count + 1 end
  self.changes = self.changes + 1
end

--- As the interface has it; third result: the version of the entry that was replaced, expired ones too.
function methods:put(key, value, options, now)
  local entry, before = live(self, key, now), self.entries[key]
  local current, fence = entry and entry.version, options.fence
  if not fits(options.if_version, current) or fence and self.leases:fence(fence[1]) ~= fence[2] then
    return false, current
  end
  local version = ("%d"):format(self.version + 1)
  enter(self, key, value, version, options.ttl and now + options.ttl or nil)
  self.version = self.version + 1
  return version, nil, before and before.version
end

--- Takes an entry out, where there is one.
function methods:remove(key)
  if not self.entries[key] then return end
  self.names:remove(key)
  self.entries[key], self.count, self.changes = nil, self.count - 1, self.changes + 1
end

--- Enters what another process has put: a value, its version (integer) and the end of its ttl, infinite for none.
function methods:set(key, value, version, ends)
  enter(self, key, value, ("%d"):format(version), ends < math.huge and ends or nil)
  self.version = math.max(self.version, version)
end

--- True and the version of the entry that is gone (nil: there was none); false where the version is another one.
function methods:delete(key, options, now)
  local entry, before = live(self, key, now), self.entries[key]
  if entry and not fits(options.if_version, entry.version) then return false end
  self:remove(key)
  return true, before and before.version
end

--- A page of the names, as the interface has it.
function methods:list(prefix, options, now)
  local page, limit = {}, options.limit
  for name in self.names:each(prefix, options.after) do
    if live(self, name, now) then
      if #page == limit then return page, page[limit] end
      page[#page + 1] = name
    end
  end
  return page, nil
end

--- Whether there were enough changes that looking for values whose time is over costs little.
function methods:is_dusty() return self.changes > self.count + SPARE end

--- Drops the values whose time is over: an array of {key, version}.
function methods:sweep(now)
  local gone = {}
  for key, entry in pairs(self.entries) do
    if not live(self, key, now) then gone[#gone + 1] = { key, entry.version } end
  end
  for _, one in ipairs(gone) do self:remove(one[1]) end
  self.changes = 0
  return gone
end

return values
