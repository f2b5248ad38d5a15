--- Sums of usage: what several model calls used and cost together. A count that one of them does not know is left out
-- and the sum is marked `incomplete`; the cost is known only when every call's is. Pure: calls nothing.

local usage = {}

local COUNTS = { "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "reasoning_tokens" }
local COSTS = { "input", "output", "cache_read", "cache_write", "total" }

--- The sum of nothing: {input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, reasoning_tokens} = 0,
-- and model_calls = 0.
function usage.zero()
  local sum = { model_calls = 0 }
  for _, name in ipairs(COUNTS) do sum[name] = 0 end
  return sum
end

local function add_cost(sum, cost)
  if sum.model_calls > 0 and not sum.cost then return end -- not known already
  if not cost then
    sum.cost = nil
    return
  end
  local total = {}
  for _, name in ipairs(COSTS) do total[name] = (sum.cost and sum.cost[name] or 0.0) + (cost[name] or 0.0) end
  sum.cost = total
end

--- Adds one call's usage (nil: nothing known) to a sum: `cost` becomes {input, output, cache_read, cache_write, total}
-- in USD, or nil; `incomplete` true where a count was unknown; `premium_requests` where a provider counts them.
function usage.add(sum, one)
  one = one or {}
  for _, name in ipairs(COUNTS) do
    if one[name] then sum[name] = sum[name] + one[name] else sum.incomplete = true end
  end
  if one.incomplete then sum.incomplete = true end
  if one.premium_requests then sum.premium_requests = (sum.premium_requests or 0) + one.premium_requests end
  add_cost(sum, one.cost)
  sum.model_calls = sum.model_calls + 1
end

return usage
