--- Checks of the arguments of stores, the same for all engines: what an engine's operations get is valid. Wrong
-- arguments raise an ArgumentError that names the argument or the option.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"

local arguments = {}

local KEY_MAX = 512           -- bytes
local VALUE_MAX = 16 << 20    -- bytes
local SECONDS_MAX = 1e9       -- a ttl, a block: more than thirty years
local PAGE, PAGE_MAX = 1000, 10000 -- keys of a list
local TOKENS_MAX = 1e15       -- of a bucket: what floats count one by one
local RATE_MIN = 1e-9         -- tokens a second: one in thirty years

-- Text that every engine can keep in a name; at least `min` bytes.
local function name_of(min, expected)
  return check.that(expected, function(value)
    if type(value) ~= "string" then return nil end
    if #value > KEY_MAX then return nil, #value .. " bytes" end
    if #value < min then return nil, "an empty one" end
    if value:find("\0", 1, true) then return nil, "one with a NUL" end
    return value
  end)
end

local NAME = name_of(1, "string of 1 to 512 bytes without NUL")
local PREFIX = name_of(0, "string of at most 512 bytes without NUL")
local VERSION = check.either('a version or "absent"', check.nonempty)
local TTL = check.number(0.001, SECONDS_MAX, "seconds from 0.001 to 1e9")
local PAUSE = check.number(0, SECONDS_MAX, "seconds from 0 to 1e9")
local WHOLE = check.integer(0)
local AMOUNT = check.number(-TOKENS_MAX, TOKENS_MAX, "number, at most 1e15 in size")
local CAPACITY = check.that("number above 0, at most 1e15", function(value)
  if type(value) == "number" and value > 0 and value <= TOKENS_MAX then return value end
end)
local RATE = check.number(RATE_MIN, TOKENS_MAX, "tokens a second from 1e-9 to 1e15")

-- {lease_key, fence}
local FENCE = check.that("array of a lease's key and a fence", function(value, path)
  if type(value) ~= "table" then return nil end
  return { NAME(value[1], path .. "[1]"), WHOLE(value[2], path .. "[2]") }
end)

local OPTIONS = {
  put = check.options { if_version = VERSION, ttl = TTL, fence = FENCE },
  delete = check.options { if_version = VERSION },
  list = check.options { after = PREFIX, limit = check.default(check.integer(1, PAGE_MAX), PAGE) },
  take = check.options { capacity = check.required(CAPACITY), per = check.required(RATE),
    cost = check.default(check.number(0, TOKENS_MAX, "number from 0 to 1e15"), 1),
    force = check.default(check.boolean, false), block = check.default(PAUSE, 0) },
  push = check.options { id = NAME },
  claim = check.options { queues = check.default(PREFIX, "") },
  unclaim = check.options { after = check.default(PAUSE, 0) },
}

--- Checkers for those who build on stores: the name of a key; seconds of a block; of buckets, tokens to take, capacity,
-- tokens a second.
arguments.name, arguments.pause, arguments.amount, arguments.capacity, arguments.rate = NAME, PAUSE, AMOUNT, CAPACITY,
  RATE

--- The most tokens that a bucket holds, or owes: a level below is this one, so that levels and waits stay finite.
arguments.TOKENS_MAX = TOKENS_MAX

-- name → function(…) → the arguments to keep.
local operations = {}

function operations.get(key) return NAME(key, "key") end

function operations.put(key, value, options)
  return NAME(key, "key"), check.string(value, "value"), OPTIONS.put(options == nil and {} or options)
end

function operations.delete(key, options) return NAME(key, "key"), OPTIONS.delete(options == nil and {} or options) end

function operations.list(prefix, options)
  return PREFIX(prefix, "prefix"), OPTIONS.list(options == nil and {} or options)
end

function operations.lease(key, owner, ttl) return NAME(key, "key"), NAME(owner, "owner"), TTL(ttl, "ttl") end

function operations.release(key, owner) return NAME(key, "key"), NAME(owner, "owner") end

function operations.take(key, n, options)
  NAME(key, "key")
  AMOUNT(n, "n")
  local kept = OPTIONS.take(options)
  local amount = n * kept.cost
  if math.abs(amount) > TOKENS_MAX then
    core.raise_argument("n", "number, at most 1e15 in size when multiplied by the cost", ("%.14g"):format(amount))
  end
  if not kept.force then
    if amount < 0 then core.raise_argument("n", "number, 0 or more", errors.describe(n)) end
    if amount > kept.capacity then
      core.raise_argument("n", ("cost of at most the capacity, %.14g"):format(kept.capacity), ("%.14g"):format(amount))
    end
  end
  kept.cost = nil -- else an engine that is a store itself would multiply once more
  return key, amount, kept
end

function operations.push(queue, item, options)
  return NAME(queue, "queue"), check.string(item, "item"), OPTIONS.push(options == nil and {} or options)
end

function operations.claim(owner, ttl, options)
  return NAME(owner, "owner"), TTL(ttl, "ttl"), OPTIONS.claim(options == nil and {} or options)
end

function operations.ack(queue, owner, fence, seq)
  return NAME(queue, "queue"), NAME(owner, "owner"), WHOLE(fence, "fence"), WHOLE(seq, "seq")
end

function operations.unclaim(queue, owner, fence, options)
  return NAME(queue, "queue"), NAME(owner, "owner"), WHOLE(fence, "fence"),
    OPTIONS.unclaim(options == nil and {} or options)
end

function operations.watch(prefix, seconds) return PREFIX(prefix, "prefix"), PAUSE(seconds, "seconds") end

--- name of a method → function(arguments…) → the arguments that the engine's operation gets: options become a new table
-- with defaults filled in, take's n becomes the amount (n times cost, which is no option any more). Raises an
-- ArgumentError.
arguments.methods = operations

--- What is wrong with the size of a value or item: the error, or nil.
function arguments.too_large(field, value)
  if #value <= VALUE_MAX then return nil end
  return errors.new { kind = "limit", code = "value_size",
    message = ("store: %s of %d bytes: at most %d are kept"):format(field, #value, VALUE_MAX) }
end

return arguments
