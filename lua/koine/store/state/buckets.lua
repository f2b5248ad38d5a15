--- Token buckets. Time is an argument; where it goes back, nothing is gained meanwhile.

local most = require("koine.store.check").TOKENS_MAX

local buckets = {}

local methods = {}
local metatable = { __index = methods }

local SPARE = 64   -- new buckets that are not worth a sweep
local TICKS = 1000 -- per second: waits are rounded up to so much, so that who waits so long is not a hair too early

--- No buckets.
function buckets.new() return setmetatable({ entries = {}, count = 0, made = 0 }, metatable) end

-- Drops those that are as good as new.
local function sweep(self, now)
  for key, bucket in pairs(self.entries) do
    if bucket.blocked <= now and bucket.tokens + (now - bucket.time) * bucket.per >= bucket.capacity then
      self.entries[key], self.count = nil, self.count - 1
    end
  end
  self.made = 0
end

-- What a bucket holds now: tokens, and the end of its block.
local function level(self, key, options, now)
  local bucket = self.entries[key]
  if not bucket then return options.capacity, now end
  local gained = math.max(0, now - bucket.time) * options.per
  return math.min(options.capacity, math.max(bucket.tokens, -most) + gained), bucket.blocked
end

--- Enters what another process has taken.
function methods:set(key, tokens, time, blocked, capacity, per)
  local bucket = { tokens = tokens, time = time, blocked = blocked, capacity = capacity, per = per }
  local is_new = not self.entries[key]
  if is_new and self.made > self.count // 2 + SPARE then sweep(self, time) end
  self.entries[key] = bucket
  if is_new then self.count, self.made = self.count + 1, self.made + 1 end
end

--- As the interface has it, of an amount. A take that is refused changes nothing but the block.
function methods:take(key, amount, options, now)
  local tokens, blocked = level(self, key, options, now)
  blocked = options.block > 0 and math.max(blocked, now + options.block) or blocked
  local wait = options.force and 0 or math.max(blocked - now, (amount - tokens) / options.per)
  if wait > 0 and options.block == 0 then return math.ceil(wait * TICKS) / TICKS end
  if wait <= 0 then tokens = math.max(-most, math.min(options.capacity, tokens - amount)) end
  self:set(key, tokens, now, blocked, options.capacity, options.per)
  return wait > 0 and math.ceil(wait * TICKS) / TICKS or 0
end

return buckets
