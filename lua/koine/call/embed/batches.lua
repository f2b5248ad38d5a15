--- Batches: which inputs go out together. Ranges of inputs wait in a list; the next batch is what of the first range
-- stays within the limits, so that limits learnt from a refusal hold for all that is left. Pure.

local batches = {}

local BYTES_PER_TOKEN = 3 -- of an estimate; no tokenizer is here
local NUMBER_BYTES = 22   -- of a number in JSON, with what stands around it
local SPLITS_MAX = 12     -- of one call: halves of 2,048 inputs are single ones before

local queue = {}
queue.__index = queue

local function tokens_of(text) return (#text + BYTES_PER_TOKEN - 1) // BYTES_PER_TOKEN end

--- A list of batches of `texts`, with `learnt`, the limits that refusals taught. limits: {batch = inputs, tokens (nil:
-- no limit) of a request, body = bytes of an
-- answer, width = numbers of a vector (nil: not known yet), floats = true where the answer holds numbers in JSON}; it
-- may change as answers come.
function batches.new(texts, limits)
  local ranges = #texts > 0 and { { 1, #texts } } or {}
  return setmetatable({ texts = texts, limits = limits, ranges = ranges, splits = 0, learnt = {} }, queue)
end

-- The last input of the batch that begins at `first`.
local function last_of(self, first, last)
  local limits, sum = self.limits, 0
  local most = limits.batch
  if limits.floats and limits.width then
    most = math.min(most, math.max(limits.body // 2 // (limits.width * NUMBER_BYTES), 1))
  end
  last = math.min(last, first + most - 1)
  for i = first, limits.tokens and last or first - 1 do
    sum = sum + tokens_of(self.texts[i])
    if sum > limits.tokens and i > first then return i - 1 end
  end
  return last
end

--- The next batch: first and last input; nil when there is none.
function queue:next()
  local range = table.remove(self.ranges)
  if not range then return nil end
  local first, last = range[1], last_of(self, range[1], range[2])
  if last < range[2] then table.insert(self.ranges, { last + 1, range[2] }) end
  return first, last
end

--- Puts the halves of a batch that was refused for its size back: true, or false where it is not to be split.
-- `by_tokens`:
-- it had too many tokens, not too many inputs. Either way what is left is split from now on.
function queue:split(first, last, by_tokens)
  if first == last or self.splits == SPLITS_MAX then return false end
  self.splits = self.splits + 1
  local limits, middle = self.limits, (first + last) // 2
  table.insert(self.ranges, { middle + 1, last })
  table.insert(self.ranges, { first, middle })
  if by_tokens then
    local sum = 0
    for i = first, last do sum = sum + tokens_of(self.texts[i]) end
    limits.tokens = math.max(sum // 2, 1)
    self.learnt.tokens = limits.tokens
  else
    limits.batch = middle - first + 1
    self.learnt.batch = limits.batch
  end
  return true
end

return batches
