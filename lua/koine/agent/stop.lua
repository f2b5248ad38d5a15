--- Conditions that stop a run, as values: a condition is a function of the run's state that returns the reason to stop
-- (a string; true says "stopped"), or nil. It is asked before every model call and every tool call. The state:
--   steps     model calls so far                     usage    their sum, as in the result
--   elapsed   seconds since the run began            calls    tool calls that were answered, as in the result
--   pending   how many calls of the last answer wait for their answer
--   stop_reason  of the last answer, nil before the first
--
-- They are copies: what a condition changes in them changes nothing else.

local check = require "koine.data.check"

local stop = {}

local own = setmetatable({}, { __mode = "k" }) -- conditions of this file, which change nothing in what they are given

local function condition_of_ours(f)
  own[f] = true
  return f
end

local COUNT, NAME = check.integer(1), check.called(check.string, "name of a tool")

--- After n model calls, once the tool calls of the last one are answered. Reason "steps".
function stop.steps(n)
  COUNT(n, "steps")
  return condition_of_ours(function(state)
    if state.steps >= n and state.pending == 0 then return "steps" end
  end)
end

--- Once a call of the tool was answered without an error. Reason "tool".
function stop.tool(name)
  NAME(name, "tool")
  return condition_of_ours(function(state)
    for _, call in ipairs(state.calls) do
      if call.name == name and not call.is_error then return "tool" end
    end
  end)
end

--- Once n tokens were used: input, cached or not, and output. What a provider does not say is not counted. Reason
-- "tokens".
function stop.tokens(n)
  check.positive(n, "tokens")
  return condition_of_ours(function(state)
    local usage = state.usage
    if usage.input_tokens + usage.cache_read_tokens + usage.cache_creation_tokens + usage.output_tokens >= n then
      return "tokens"
    end
  end)
end

--- Once the model calls cost so many USD. Reason "cost"; and "cost unknown" after a call whose price is not known.
function stop.cost(usd)
  check.positive(usd, "cost")
  return condition_of_ours(function(state)
    if state.steps == 0 then return nil end
    local cost = state.usage.cost
    if not cost then return "cost unknown" end
    if cost.total >= usd then return "cost" end
  end)
end

--- After so many seconds of the monotonic clock, whatever is under way being finished first. In a run that was loaded
-- the time before the dump counts, the time between does not. Reason "deadline".
function stop.deadline(seconds)
  check.positive(seconds, "deadline")
  return condition_of_ours(function(state)
    if state.elapsed >= seconds then return "deadline" end
  end)
end

local CONDITION = check.that("condition", function(value) if type(value) == "function" then return value end end)
local CONDITIONS = check.list(CONDITION, "array of conditions")

--- Checks an array of conditions, or one: a new array. `path` begins the field's name in errors. Raises an
-- ArgumentError.
function stop.list(value, path)
  if type(value) == "function" then return { value } end
  return CONDITIONS(value, path)
end

--- Whether all of an array of conditions change nothing in what they are given, so that they need no copies.
function stop.only_reads(conditions)
  for _, condition in ipairs(conditions) do
    if not own[condition] then return false end
  end
  return true
end

--- The first reason of an array of conditions to stop, or nil.
function stop.reason(conditions, state)
  for _, condition in ipairs(conditions) do
    local reason = condition(state)
    if reason then return reason == true and "stopped" or tostring(reason) end
  end
end

return stop
