--- The arithmetic of koine.pricing, without its checks: counts of tokens times prices.

local records = require "koine.data.records"

local MILLION = 1000000
local cost_mt = getmetatable(records.usage_cost {}) -- numbers of our own need no check

-- USD for `count` tokens at `rate` per million; nil when either is needed and unknown. Nothing counted costs nothing,
-- whatever the price.
local function component(count, rate) return count == 0 and 0.0 or count and rate and count * rate / MILLION or nil end

-- USD for `all` that was written to the cache (nil: not known), of which `hour` are kept for an hour, at their own
-- rate.
local function cache_writes(all, hour, prices)
  local short = component(math.max((all or hour) - hour, 0), prices.cache_write_per_mtok)
  local long = component(hour, prices.cache_write_1h_per_mtok)
  return short and long and short + long
end

--- The cost of a usage at prices, both tables: a usage_cost record, nil where it is not known. A count of the cache
-- that is unknown costs nothing only where the provider has no price for it.
return function(usage, prices)
  if usage.incomplete or usage.unpriced then return nil end
  local read, write, open = usage.cache_read_tokens, usage.cache_creation_tokens, usage.uncounted
  if open then read, write = not open.cache_read_tokens and read, not open.cache_creation_tokens and write end
  if not read and not prices.cache_read_per_mtok then read = 0 end
  if not write and not prices.cache_write_per_mtok then write = 0 end
  local hour = usage.cache_creation_1h_tokens or 0
  local input = component(usage.input_tokens, prices.input_per_mtok)
  local output = component(usage.output_tokens, prices.output_per_mtok)
  read = component(read, prices.cache_read_per_mtok)
  if hour == 0 then write = component(write, prices.cache_write_per_mtok)
  else write = cache_writes(write, hour, prices) end
  if not (input and output and read and write) then return nil end
  return setmetatable({ input = input, output = output, cache_read = read, cache_write = write,
    total = input + output + read + write }, cost_mt)
end
