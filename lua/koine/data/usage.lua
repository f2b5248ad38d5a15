--- Sums of usage: what several model calls used and cost together. A count that one of them does not know is left out
-- of the sum, which says so: `incomplete` where the tokens that went in or came out are not all known, `uncounted` for
-- the parts of them that not every wire tells. The cost is known only when every call's is, each part of it only when
-- every call's is.

local core = require "koine.core"
local records = require "koine.data.records"

local usage = {}

local COUNTS = { "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "reasoning_tokens" }
local TOTALS = { input_tokens = true, output_tokens = true } -- the others are parts of these, or were taken from them
local PARTS = { "input", "output", "cache_read", "cache_write", "total" }

--- The sum of nothing: {input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, reasoning_tokens} = 0,
-- and model_calls = 0.
function usage.zero()
  local sum = { model_calls = 0 }
  for _, name in ipairs(COUNTS) do sum[name] = 0 end
  return sum
end

--- A copy of a sum for users, which print shows as it does the usage of a Response.
function usage.copy(sum) return setmetatable(records.to_table(sum), core.usage_mt) end

local NOTHING = { input = 0.0, output = 0.0, cache_read = 0.0, cache_write = 0.0, total = 0.0 }

local function add_cost(sum, one)
  local first, before, cost = sum.model_calls == 0 and not sum.incomplete, sum.cost, one.cost
  sum.cost = nil
  if not cost or not cost.total or not (first or before) then
    sum.cost_source = nil
    return
  end
  before = before or NOTHING
  local parts = {}
  for _, name in ipairs(PARTS) do parts[name] = before[name] and cost[name] and before[name] + cost[name] end
  sum.cost = parts
  if first then sum.cost_source = one.cost_source end
  if sum.cost_source ~= one.cost_source then sum.cost_source = "mixed" end
end

-- Adds one count, nil when it is not known.
local function add_count(sum, name, count)
  if count then
    sum[name] = sum[name] + count
  elseif TOTALS[name] then
    sum.incomplete = true
  else
    sum.uncounted = sum.uncounted or {}
    sum.uncounted[name] = true
  end
end

--- Adds one call's usage (nil: nothing known) to a sum: `cost` becomes {input, output, cache_read, cache_write, total}
-- in USD, or nil, `cost_source` the one of all calls, or "mixed"; `incomplete` true where input_tokens or output_tokens
-- was unknown; `uncounted` {name = true} for each other count that was; `premium_requests` where a provider counts
-- them.
function usage.add(sum, one)
  one = one or {}
  add_cost(sum, one)
  for _, name in ipairs(COUNTS) do add_count(sum, name, one[name]) end
  if one.incomplete then sum.incomplete = true end
  if one.premium_requests then sum.premium_requests = (sum.premium_requests or 0) + one.premium_requests end
  sum.model_calls = sum.model_calls + (one.model_calls or 1)
end

--- Enters into a sum that a call used an unknown amount: the sum is incomplete, its cost unknown.
function usage.miss(sum) sum.incomplete, sum.cost, sum.cost_source = true, nil, nil end

return usage
