--- An adapter that tries the next one: koine.fallback { a, b, … } asks the adapters in order until one answers.
-- The next is tried where no delta was handed out yet and the error is not the caller's fault; each makes its own
-- retries first. A request refused as wrong (invalid_request, too_large, context_overflow) would be wrong elsewhere
-- too, unless it is worth another try (`retryable`: a call that the model wrote wrongly). A cancelled call stays
-- cancelled, and an answer that exceeds the caller's limits counts as an answer.

local custom_adapter = require "koine.call.custom_adapter"
local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"

local CALLERS = { invalid_request = true, too_large = true, context_overflow = true, cancelled = true, limit = true }

local function others_may_try(err) return err.retryable or not CALLERS[err.kind] end

-- The stream of one call: {adapters, messages, opts, may, at, attempts, stream | answer, delivered}
local stream = {}
stream.__index = stream

-- Asks the adapter `at`: a plain answer where the caller wants no deltas, else a stream. true, or nil, err.
local function ask(self)
  local adapter, opts = self.adapters[self.at], self.opts
  local err
  if opts.stream then
    self.stream, err = adapter:open(self.messages, opts)
    return self.stream and true, err
  end
  self.answer, err = adapter:chat(self.messages, opts)
  return self.answer and true, err
end

-- Asks one adapter after the other, from `err`, the error of the present one (nil: none yet): true, or nil and the last
-- error, whose attempts are those of all.
local function advance(self, err)
  while true do
    if err then
      table.move(err.attempts or {}, 1, #(err.attempts or {}), #self.attempts + 1, self.attempts)
      if self.delivered or self.at == #self.adapters or not self.may(err) then
        err.attempts = self.attempts
        return nil, err
      end
    end
    self.at = self.at + 1
    local asked
    asked, err = ask(self)
    if self.closed then
      if self.stream then self.stream:close() end
      return nil, errors.new { kind = "cancelled", message = "the stream was closed", attempts = self.attempts }
    end
    if asked then return true end
  end
end

function stream:next()
  if not self.stream then return nil end
  while true do
    local delta, err = self.stream:next()
    if delta then
      self.delivered = true
      return delta
    end
    if not err then return nil end
    self.stream:close()
    local another
    another, err = advance(self, err)
    if not another then return nil, err end
  end
end

function stream:response()
  local response, err = self.answer
  if not response then response, err = self.stream:response() end
  if not response then return nil, err end
  if #self.attempts > 0 then
    local own = response.attempts or {}
    core.annotate(response, "attempts", table.move(own, 1, #own, #self.attempts + 1, self.attempts))
  end
  return response
end

function stream:close()
  self.closed = true
  if self.stream then self.stream:close() end
end

function stream:stats() return self.stream and self.stream:stats() or {} end

local METHODS = { "open", "provider_name", "model_name" } -- that an adapter needs here, beside chat

-- The adapters among the fields given, a new array.
local function checked(given)
  if type(given) ~= "table" then check.refuse("adapters", "array of adapters", given) end
  local adapters = {}
  for name, value in next, given do
    if math.type(name) == "integer" then
      adapters[name] = value
    elseif name ~= "may" then
      core.raise_argument(tostring(name), "adapters, and no field but may", "an unknown field")
    end
  end
  if not check.is_list(adapters) then
    core.raise_argument("adapters", "array of adapters", "a table with holes or other keys")
  end
  if #adapters == 0 then core.raise_argument("adapters", "at least one adapter", "none") end
  for i, adapter in ipairs(adapters) do
    local path = ("adapters[%d]"):format(i)
    check.adapter(adapter, path)
    for _, method in ipairs(METHODS) do
      if type(adapter[method]) ~= "function" then errors.argument(path, "adapter with a method " .. method, adapter) end
    end
  end
  if given.may ~= nil then check.func(given.may, "may") end
  return adapters
end

-- A method that asks one adapter after the other.
local function each(adapters, may, method)
  return function(_, ...)
    local result, err
    for _, adapter in ipairs(adapters) do
      result, err = adapter[method](adapter, ...)
      if result ~= nil or not err or not may(err) then break end
    end
    return result, err
  end
end

--- koine.fallback { a, b, …, may = f }: an adapter made of adapters. Its answers are those of the first that gives
-- one: response.provider says which, response.attempts (of an error: err.attempts) has the attempts of all. Names,
-- context, quota and log-in are the first adapter's. `may(err)` decides whether the next is tried (boolean; the
-- default is above). Options of a call go to every adapter that is asked; those of the constructors stay with each. An
-- ArgumentError or NotImplementedError of any of them is raised. Raises an ArgumentError naming the bad entry.
return function(given)
  local adapters = checked(given)
  local first, may = adapters[1], given.may or others_may_try
  return custom_adapter {
    name = first:provider_name(), options = { model = first:model_name() },
    open = function(_, messages, opts)
      opts.model = nil -- each adapter has its own
      local self = setmetatable({ adapters = adapters, messages = messages, opts = opts, may = may, at = 0,
        attempts = {} }, stream)
      local asked, err = advance(self)
      if not asked then return nil, err end
      return self
    end,
    list_models = each(adapters, may, "list_models"),
    count_tokens = each(adapters, may, "count_tokens"),
    max_context_tokens = function() return first:max_context_tokens() end,
    usage_report = function() return first:usage_report() end,
    authenticate = function() return first:authenticate() end,
    authenticated = function() return first:authenticated() end,
    logout = function() return first:logout() end,
  }
end
