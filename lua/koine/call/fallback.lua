--- An adapter that tries the next one: koine.fallback { a, b, … } asks the adapters in order until one answers.
-- The next is tried where no delta was handed out yet and the error is not the caller's fault; each makes its own
-- retries first. A request refused as wrong (invalid_request, too_large, context_overflow) would be wrong elsewhere
-- too, unless it is worth another try (`retryable`: a call that the model wrote wrongly). A cancelled call stays
-- cancelled, and an answer that exceeds the caller's limits counts as an answer. What the first adapter takes is asked
-- of it; a later one that refuses the request (ArgumentError, NotImplementedError) is passed over.

local custom_adapter = require "koine.call.custom_adapter"
local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local wait = require "koine.task.wait"

local CALLERS = { invalid_request = true, too_large = true, context_overflow = true, cancelled = true, limit = true }

local REFUSALS = { ArgumentError = true, NotImplementedError = true }

local function others_may_try(err) return err.retryable or not CALLERS[err.kind] end

-- The stream of one call: {adapters, messages, opts, may, at, attempts, stream | answer, delivered, raised = true once
-- the caller's own check of a value raised}
local stream = {}
stream.__index = stream

-- Results of pcall as they are, and true in front; false, err where the error says that an adapter cannot take the
-- request. Others go on unchanged.
local function taken(ok, ...)
  if ok then return true, ... end
  local err = ...
  if errors.is_error(err) and REFUSALS[err.class] then return false, err end
  error(err, 0)
end

-- Calls a method of the adapter number i: true and what it returns, or false and the error with which it refuses. What
-- the first adapter raises goes on unchanged.
local function call(adapters, i, method, ...)
  local adapter = adapters[i]
  if i == 1 then return true, adapter[method](adapter, ...) end
  return taken(pcall(adapter[method], adapter, ...))
end

-- The record of a refusal among the attempts.
local function refusal(err)
  return { class = err.class, kind = err.kind, waited = 0, message = errors.words(err) }
end

-- Asks the adapter `at`: a plain answer where the caller wants no deltas, else a stream. true, or nil, err; false where
-- it refuses the request, which is noted.
local function ask(self)
  local streamed = self.opts.stream
  local took, result, err = call(self.adapters, self.at, streamed and "open" or "chat", self.messages, self.opts)
  if not took and self.raised then error(result, 0) end
  if not took then
    self.attempts[#self.attempts + 1] = refusal(result)
    return false
  end
  if result and streamed then wait.disown(result) end -- it is this stream's, whoever reads that now
  self[streamed and "stream" or "answer"] = result
  return result and true, err
end

-- Asks the next adapter that takes the request: ask's results, or false where none is left.
local function ask_next(self)
  while self.at < #self.adapters do
    self.at = self.at + 1
    local asked, err = ask(self)
    if asked ~= false or self.closed then return asked, err end
  end
  return false
end

-- Asks one adapter after the other, from `err`, the error of the present one (nil: none yet): true, or nil and the last
-- error, whose attempts are those of all.
local function advance(self, err)
  while true do
    if err then
      table.move(err.attempts or {}, 1, #(err.attempts or {}), #self.attempts + 1, self.attempts)
      err.attempts = self.attempts
      if self.delivered or self.at == #self.adapters or not self.may(err) then return nil, err end
    end
    local asked, another = ask_next(self)
    if self.closed then
      if self.stream then self.stream:close() end
      return nil, errors.new { kind = "cancelled", message = "the stream was closed", attempts = self.attempts }
    end
    if asked then return true end
    if asked == false then return nil, err end
    err = another
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

-- The messages of a call, a list that stays as it is where the caller adds messages to their own.
local function own_list(messages)
  return type(messages) == "table" and table.move(messages, 1, #messages, 1, core.array {}) or messages
end

-- The option output, whose check notes that it raised: such an error is the caller's, and no refusal.
local function watched(self, output)
  local judge = type(output) == "table" and output.check
  if type(judge) ~= "function" then return output end
  local copy = {}
  for name, value in next, output do copy[name] = value end
  function copy.check(value)
    self.raised = true
    local accepted, why = judge(value)
    self.raised = false
    return accepted, why
  end
  return copy
end

local METHODS = { "open", "provider_name", "model_name" } -- that an adapter needs here, beside chat

-- The adapters among the fields given, a new array.
local function checked(given)
  if type(given) ~= "table" then check.refuse("adapters", "array of adapters", given) end
  local adapters = {}
  for name, value in next, given do
    if math.type(name) == "integer" then
      adapters[name] = value
    elseif name ~= "may" and name ~= "observer" then
      core.raise_argument(tostring(name), "adapters, and no field but may and observer", "an unknown field")
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

-- The words of `thinking` that an adapter takes besides the usual ones; nil: none.
local function efforts_of(adapter)
  if type(adapter) == "userdata" then return core.state(adapter).info.efforts end
  return adapter.efforts
end

-- A method that asks one adapter after the other.
local function each(adapters, may, method)
  return function(_, ...)
    local failure
    for i = 1, #adapters do
      local took, result, err = call(adapters, i, method, ...)
      if took and (result ~= nil or not err) then return result end
      if took then failure = err end
      if took and not may(err) then break end
    end
    return nil, failure
  end
end

--- koine.fallback { a, b, …, may = f }: an adapter made of adapters. Its answers are those of the first that gives
-- one: response.provider says which, response.attempts (of an error: err.attempts) has the attempts of all. Names,
-- context, quota, log-in and words of `thinking` are the first adapter's. `may(err)` decides whether the next is tried
-- (boolean; the default is above). Options of a call go to every adapter that is asked; those of the constructors stay
-- with each. Each adapter that is asked is a chat of its own for observers: its own, else the one given here as
-- `observer`, else the parent's. An ArgumentError or NotImplementedError of the first is raised; another adapter that
-- raises one is passed over, and the attempts say so. Raises an ArgumentError naming the bad entry.
return function(given)
  local adapters = checked(given)
  local first, may = adapters[1], given.may or others_may_try
  return custom_adapter {
    name = first:provider_name(), efforts = efforts_of(first), carries_output = true, passes_on = true,
    options = { model = first:model_name(), observer = given.observer },
    open = function(_, messages, opts)
      opts.model = nil -- each adapter has its own
      local self = setmetatable({ adapters = adapters, messages = own_list(messages), opts = opts, may = may, at = 0,
        attempts = {} }, stream)
      opts.output = watched(self, opts.output)
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
