--- What a server said that stays true for a while: its lists, and resources that were read. Kept as JSON, so that every
-- caller gets tables of its own; of bounded size.

local core = require "koine.core"
local wait = require "koine.task.wait"

local BYTES_MAX = 16 << 20 -- of all texts together

local methods = {}
local metatable = { __index = methods }

--- What is kept under the key, decoded: nil for nothing that is fresh.
function methods:get(key)
  local entry = self.entries[key]
  if not entry then return nil end
  if wait.now() < entry.latest then return core.decode(entry.text) end
  self:drop(key)
end

--- Keeps a value (JSON can say it) for so many seconds; nothing where these are 0, or there is no room.
function methods:put(key, value, seconds)
  self:drop(key)
  if seconds <= 0 then return end
  local text = core.encode(value)
  if self.bytes + #text > BYTES_MAX then return end
  self.entries[key], self.bytes = { text = text, latest = wait.now() + seconds }, self.bytes + #text
end

--- Forgets what is kept under the key; returns nothing.
function methods:drop(key)
  local entry = self.entries[key]
  if not entry then return end
  self.entries[key], self.bytes = nil, self.bytes - #entry.text
end

--- Forgets all whose key begins with the text; returns nothing.
function methods:drop_all(prefix)
  for key in next, self.entries do
    if key:sub(1, #prefix) == prefix then self:drop(key) end
  end
end

--- An empty cache.
return function() return setmetatable({ entries = {}, bytes = 0 }, metatable) end
