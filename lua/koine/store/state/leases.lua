--- Leases, and fences that only grow. Time is an argument everywhere. A lease that ended keeps its fence.

local leases = {}

local methods = {}
local metatable = { __index = methods }

--- No leases.
function leases.new() return setmetatable({ entries = {} }, metatable) end

--- The newest fence of a key; nil where there was none.
function methods:fence(key)
  local entry = self.entries[key]
  return entry and entry.fence
end

--- When the lease that lives now ends; nil where there is none.
function methods:ends(key, now)
  local entry = self.entries[key]
  return entry and entry.ends > now and entry.ends or nil
end

--- Enters what another process has leased, or given back.
function methods:set(key, owner, fence, ends) self.entries[key] = { owner = owner, fence = fence, ends = ends } end

--- As the interface has it.
function methods:lease(key, owner, ttl, now)
  local entry = self.entries[key]
  if not entry then
    entry = { fence = 0, ends = now, owner = "" }
    self.entries[key] = entry
  end
  if entry.ends <= now then
    entry.fence, entry.owner = entry.fence + 1, owner
  elseif entry.owner ~= owner then
    return false, entry.ends - now
  end
  entry.ends = now + ttl
  return entry.fence
end

--- As the interface has it; second result: whether a lease ended.
function methods:release(key, owner, now)
  if not self:ends(key, now) then return true, false end
  if self.entries[key].owner ~= owner then return nil, false end
  self:finish(key, now)
  return true, true
end

--- Ends the lease, if there is one.
function methods:finish(key, now)
  local entry = self.entries[key]
  if entry and entry.ends > now then entry.ends = now end
end

return leases
