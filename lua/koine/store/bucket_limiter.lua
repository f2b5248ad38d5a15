--- A rate limiter on a store: all processes and machines that name the same key of the same store take from one bucket
-- of tokens. A token is a request, or whatever the function `cost` counts.
-- An engine that is away stops nobody, unless on_error says so: then only this limit is missing, not the provider's.

local arguments = require "koine.store.check"
local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local interface = require "koine.store.interface"
local wait = require "koine.task.wait"

local bucket_limiter = {}

local JITTER = 0.1       -- share of a wait that is added at random, at most: who waits together comes apart
local WARNING_PAUSE = 60 -- seconds between two warnings

--- Returns a number in [0, 1); specs put their own here.
bucket_limiter.random = math.random

local methods = {}
local Limiter = { __index = methods, __name = "koine.rate_limiter" }

-- What is meant by the words of other limiters.
local HINTS = { rate_limit = "capacity and per", min_request_interval = "capacity and per", requests = "capacity",
  period = "per, in tokens a second" }

local OPTIONS = check.options({ store = check.required(interface.store), key = check.required(arguments.name),
  capacity = check.required(arguments.capacity), per = check.required(arguments.rate),
  cost = check.default(check.either("number, 0 or more, or function", check.number(0), check.func), 1),
  on_error = check.default(check.one_of { "allow", "refuse" }, "allow"), on_warning = check.func },
  { hints = HINTS })

--- Makes a limiter: {store, key (string), capacity = tokens that the bucket holds, at most 1e15, per = tokens that it
-- gains a second, from 1e-9, cost = tokens of a request: a number, or function(request) → number (1); on_error =
-- "allow" (requests go while the store is away) or "refuse" (they fail with its error); on_warning = function(err),
-- called with the store's error, at most once a minute}. Has the field `key`. Raises an ArgumentError naming the bad
-- field.
function bucket_limiter.new(given)
  local kept = OPTIONS(given)
  if type(kept.cost) == "number" and kept.cost > kept.capacity then
    core.raise_argument("cost", ("number, the capacity (%.14g) or less"):format(kept.capacity),
      errors.describe(kept.cost))
  end
  kept.warned = -math.huge
  return setmetatable(kept, Limiter)
end

-- Tells of an error of the store's, if none was told of within a minute.
local function warn(self, err)
  local now = wait.now()
  if not self.on_warning or now - self.warned < WARNING_PAUSE then return end
  self.warned = now
  self.on_warning(err)
end

-- What a wait returns when the store failed: the request goes, or nil, err.
local function failed(self, err)
  if err.kind == "cancelled" then return nil, err end
  warn(self, err)
  if self.on_error == "allow" then return true end
  return nil, err
end

local COST = check.number(0, nil, "number, 0 or more, from the function cost")

-- The tokens of a request; a function is not asked about a request that there is none of, a list of models say.
local function cost_of(self, request)
  if type(self.cost) == "number" then return self.cost end
  return request == nil and 1 or COST(self.cost(request), "cost")
end

local function too_much(self, tokens)
  return errors.new { kind = "limit", code = "cost", retryable = false,
    message = ("rate limiter: the request costs %.14g, and the bucket holds %.14g"):format(tokens, self.capacity) }
end

--- The error of a wait of so many seconds, of which the caller has fewer left.
function bucket_limiter.too_late(seconds, left)
  return errors.new { kind = "timeout", code = "total", retryable = false,
    message = ("rate limiter: the next request may start in %.3g s, but the call has only %.3g s left"):format(seconds,
      left) }
end

--- Takes the tokens of a request (a table that `cost` understands, nil: none), and sleeps until there are enough: true;
-- nil, err: the request costs more than the bucket holds (kind "limit"), it may not go within `most` seconds (nil: no
-- limit; kind "timeout", at once), the sleep was cancelled, or the store failed and on_error is "refuse". Nothing is
-- taken then. Raises an ArgumentError for another `most`, and where `cost` returns no number. Yields under a scheduler.
function methods:wait(most, request)
  if most ~= nil then check.seconds(most, "most") end
  local tokens = cost_of(self, request)
  if tokens > self.capacity then return nil, too_much(self, tokens) end
  local deadline = most and wait.now() + most
  local rate = { capacity = self.capacity, per = self.per }
  while true do
    local seconds, err = self.store:take(self.key, tokens, rate)
    if not seconds then return failed(self, err) end
    if seconds == 0 then return true end
    local left = deadline and math.max(deadline - wait.now(), 0) or math.huge
    if seconds >= left then return nil, bucket_limiter.too_late(seconds, left) end
    local slept, cancelled = wait.sleep(math.min(seconds * (1 + JITTER * bucket_limiter.random()), left))
    if not slept then return nil, cancelled end
  end
end

-- Takes by force: true, or nil, err.
local function force(self, key, tokens, block)
  local done, err = self.store:take(key or self.key, tokens, { capacity = self.capacity, per = self.per, force = true,
    block = block })
  if done then return true end
  warn(self, err)
  return nil, err
end

--- Corrects what was taken for a request once it is known what it cost: takes `difference` tokens (real less estimated;
-- below 0 gives back), also where the bucket then holds less than nothing. `key` nil: this limiter's. true, or nil,
-- err. Raises an ArgumentError.
function methods:settle(key, difference)
  return force(self, key, arguments.amount(difference, "difference"), 0)
end

--- Lets no request go for so many seconds, on any machine: what a provider's retry-after asks for. Adapters call it.
-- `key` nil: this limiter's. true, or nil, err. Raises an ArgumentError.
function methods:block(key, seconds) return force(self, key, 0, arguments.pause(seconds, "seconds")) end

check.colons(methods, Limiter, "limiter")

return bucket_limiter
