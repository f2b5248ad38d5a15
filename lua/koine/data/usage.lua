--- Sums of usage: what several model calls used and cost together. A count that one of them does not know is left out
-- of the sum, which says so: `incomplete` where the tokens that went in or came out are not all known, `uncounted` for
-- the parts of them that not every wire tells. The cost is known only when every call's is, each part of it only when
-- every call's is.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
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
-- them. `one` may be a sum, too: that of no calls changes nothing.
function usage.add(sum, one)
  one = one or {}
  if one.model_calls == 0 and not one.incomplete then return end
  add_cost(sum, one)
  for _, name in ipairs(COUNTS) do add_count(sum, name, one[name]) end
  for name in next, one.uncounted or {} do add_count(sum, name, nil) end
  if one.incomplete then sum.incomplete = true end
  if one.premium_requests then sum.premium_requests = (sum.premium_requests or 0) + one.premium_requests end
  sum.model_calls = sum.model_calls + (one.model_calls or 1)
end

--- Enters into a sum that a call used an unknown amount: the sum is incomplete, its cost unknown.
function usage.miss(sum) sum.incomplete, sum.cost, sum.cost_source = true, nil, nil end

local KNOWN = { cost = true, requests = true, incomplete = true } -- a table with one of these, or a count, is a usage
for _, name in ipairs(COUNTS) do KNOWN[name] = true end

local COUNT = check.integer(0)
local COST = check.that("cost in USD, {total = number, …}", function(value)
  for _, name in ipairs(PARTS) do
    local part = type(value) == "table" and value[name]
    if part == false or part and not math.type(part) then return nil end
  end
  return value
end)
local MEMBERS = { model_calls = COUNT, requests = COUNT, premium_requests = check.number(0), uncounted = check.table,
  cost = COST }
for _, name in ipairs(COUNTS) do MEMBERS[name] = COUNT end
local NAMES = check.names(MEMBERS)
local SUMMANDS = "array of Responses, results or usages"

-- Embeddings have no output and no cache: {input_tokens, requests, incomplete, cost, cost_source} as a usage.
local function of_embeddings(one)
  return { input_tokens = one.input_tokens, output_tokens = 0, cache_read_tokens = 0, cache_creation_tokens = 0,
    reasoning_tokens = 0, model_calls = one.requests, incomplete = one.incomplete, cost = one.cost,
    cost_source = one.cost_source }
end

-- The usage that a member of a list is or has. Raises an ArgumentError where it has none, or one with members of other
-- types.
local function usage_of(one, path)
  if type(one) == "userdata" then one = { usage = one.usage } end
  if type(one) ~= "table" then errors.argument(path, "Response, result of a run, or usage", one) end
  if one.usage ~= nil then one, path = one.usage, path .. ".usage" end
  local known = type(one) == "table" and (next(one) == nil or getmetatable(one) == core.usage_mt)
  for name in next, type(one) == "table" and one or {} do known = known or KNOWN[name] end
  if not known then errors.argument(path, "Response, result of a run, or usage", one) end
  for _, name in ipairs(NAMES) do
    if one[name] ~= nil then MEMBERS[name](one[name], path .. "." .. name) end
  end
  return one.requests and of_embeddings(one) or one
end

--- The sum of an array of what has a `usage` (Responses, results of runs and of embed), or of usages: a new usage, see
-- add. A nil among them counts as a call of which nothing is known; `n` in the table, as koine.gather and table.pack
-- leave it, says how many there are. Raises an ArgumentError for anything else.
function usage.sum(list)
  if type(list) == "userdata" or type(list) == "table" and (list.usage or list.input_tokens) then
    core.raise_argument("usages", SUMMANDS, "one alone: put it into a table, {a, b}")
  end
  if type(list) ~= "table" then errors.argument("usages", SUMMANDS, list) end
  local sum, n = usage.zero(), list.n == nil and 0 or COUNT(list.n, "usages.n")
  for key in next, list do
    if math.type(key) == "integer" and key > 0 then
      n = math.max(n, key)
    elseif key ~= "n" then
      core.raise_argument("usages", SUMMANDS, "a table with other keys")
    end
  end
  for i = 1, n do
    local one = list[i]
    if one ~= nil then one = usage_of(one, ("usages[%d]"):format(i)) end
    usage.add(sum, one)
  end
  return usage.copy(sum)
end

return usage
