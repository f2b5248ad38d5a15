--- What observers are told of sessions: the span of a runner (runner.lua), from its first step until it is over. The
-- work makes what it does a part of it. Nothing here fails.

local observer = require "koine.data.observer"

local observe = {}

--- Begins the span of a runner, unless nobody observes.
function observe.begin(runner)
  local input = runner.input
  runner.span = observer.start(input.observer, input.parent, "session", { role = input.role, model = input.model,
    workdir = input.workdir:match "([^/]*)/*$", provider = runner.work.provider }) or false
end

--- What the parts of a session take as their parent; nil where it is not observed.
function observe.context(runner) return runner.span and runner.span:context() or nil end

-- The usage of a session, by the names that it has elsewhere.
local function usage_of(usage)
  return { input_tokens = usage.tokens_in, output_tokens = usage.tokens_out,
    cache_read_tokens = usage.cache_read_tokens, cache_creation_tokens = usage.cache_creation_tokens,
    reasoning_tokens = usage.reasoning_tokens, model_calls = usage.model_calls, incomplete = usage.incomplete }
end

--- Ends it. `result` is the session's, nil where it was closed; `err` what it raised for wrong use, nil for nothing.
function observe.over(runner, result, err)
  local span, judged = runner.span, result or runner.outcome
  if not span then return end
  runner.span = false
  local artifacts = result and result.artifacts
  span:finish({ outcome = judged.outcome, reason = judged.reason, artifacts = artifacts and #artifacts,
    usage = usage_of(runner.usage), cost = runner.usage.cost_usd }, err or judged.error)
end

return observe
