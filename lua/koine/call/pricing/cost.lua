--- The arithmetic of koine.pricing, without its checks: counts of tokens times prices.

local records = require "koine.data.records"

local MILLION, NONE = 1000000, {}
local cost_mt = getmetatable(records.usage_cost {}) -- numbers of our own need no check

-- USD for `count` tokens at `rate` per million; nil when either is needed and unknown. Nothing counted costs nothing,
-- whatever the price; a count that is unknown costs nothing only where the provider has no price for it.
local function component(count, rate, always_counted)
  if count == 0 then return 0.0 end
  if count and rate then return count * rate / MILLION end
  if not count and not rate and not always_counted then return 0.0 end
  return nil
end

-- USD for `all` that was written to the cache (nil: not known), of which cache_creation_1h_tokens are kept for an hour,
-- at their own rate.
local function cache_writes(usage, all, prices)
  local hour = usage.cache_creation_1h_tokens or 0
  if hour == 0 then return component(all, prices.cache_write_per_mtok, false) end
  local short = component(math.max((all or hour) - hour, 0), prices.cache_write_per_mtok, false)
  local long = component(hour, prices.cache_write_1h_per_mtok, false)
  return short and long and short + long
end

--- The cost of a usage at prices, both tables: a usage_cost record, nil where it is not known.
return function(usage, prices)
  if usage.incomplete or usage.unpriced then return nil end
  local input = component(usage.input_tokens, prices.input_per_mtok, true)
  local output = component(usage.output_tokens, prices.output_per_mtok, true)
  local open = usage.uncounted or NONE
  local read = component(not open.cache_read_tokens and usage.cache_read_tokens or nil, prices.cache_read_per_mtok)
  local write = cache_writes(usage, not open.cache_creation_tokens and usage.cache_creation_tokens or nil, prices)
  if not (input and output and read and write) then return nil end
  return setmetatable({ input = input, output = output, cache_read = read, cache_write = write,
    total = input + output + read + write }, cost_mt)
end
