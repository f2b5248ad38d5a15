--- The cost of a call: counts of tokens times prices.

local check = require "koine.data.check"
local core = require "koine.core"

local pricing = {}

--- The cost of an answer in USD: a usage_cost record {input, output, cache_read, cache_write, total}.
-- `usage` is a Response's usage, `model_info` a table with `pricing` = {input_per_mtok, output_per_mtok,
-- cache_read_per_mtok, cache_write_per_mtok, cache_write_1h_per_mtok} in USD per 1,000,000 tokens. Reasoning tokens are
-- part of the output tokens and are not priced again.
-- Returns nil, never 0, when the cost is not known: usage, model_info or its pricing is nil; a price is nil although
-- tokens were counted; a count that has a price is nil; the usage is a sum that leaves such a count out (`incomplete`,
-- `uncounted`), or holds what its counts do not price (`unpriced`). Raises an ArgumentError where one of the two, or
-- the pricing, is neither a table nor nil, and where a count or a price is neither a number, or text of one, nor nil.
function pricing.calculate(usage, model_info)
  if usage ~= nil then check.table(usage, "usage") end
  if model_info ~= nil then check.table(model_info, "model_info") end
  local prices = model_info and model_info.pricing
  if prices ~= nil then check.table(prices, "model_info.pricing") end
  return usage and prices and core.cost(usage, prices) or nil
end

return pricing
