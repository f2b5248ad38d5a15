--- What observers are told of runs and of their tools: the spans, and what their records say. A run that is observed
-- has `span` from the beginning of a step until it is over, waits for approval, or fails; what goes on later is a span
-- of its own. Nothing here fails.

local capture = require "koine.data.observer.capture"
local observer = require "koine.data.observer"
local state = require "koine.agent.state"
local text = require "koine.data.text"

local observe = {}

local DESCRIPTION_MAX = 1024 -- bytes of a tool's description in a record

local function names_of(tools)
  local names = {}
  for i, one in ipairs(tools) do names[i] = one.name or one.type end
  return names
end

--- The span of a run, which begins unless it is under way; nil where nobody observes.
function observe.run(run)
  local spec = run.spec
  if not run.span and (spec.observer or spec.parent) then
    run.span = observer.start(spec.observer, spec.parent, "agent", { name = spec.name, system = spec.system ~= nil,
      tools = names_of(spec.tools) })
  end
  return run.span
end

--- Ends the span of a run, if there is one. `summary` is the run's, `err` (nil: none) what ended it.
function observe.run_over(run, summary, err)
  local span = run.span
  if not span then return end
  run.span = nil
  local usage = capture.copy(summary.usage)
  span:finish({ status = summary.status, reason = summary.reason, steps = summary.steps, usage = usage,
    cost = usage.cost and usage.cost.total, pending = #summary.pending }, err)
end

local function bytes_of(content)
  return #state.text_of(content, "\n")
end

--- Begins the span of a call of a tool: the span, nil where nobody observes. `parent` is a context.
function observe.tool(parent, one, arguments, call)
  return observer.start(nil, parent, "tool", { name = one.name, call_id = call and call.id,
    mcp_server = one.mcp and one.mcp.server,
    description = one.description and text.cut(one.description, DESCRIPTION_MAX) or nil }, function(span, fields)
    if span:wants "tools" then fields.content = { arguments = span:captured(arguments) } end
  end)
end

--- Ends it, with the outcome of the tool, or nil and the error that ends the loop.
function observe.tool_over(span, outcome, err)
  if not outcome then return span:finish(nil, err) end
  local content = span:wants "tools" and { result = span:captured(outcome.content) } or nil
  span:finish { is_error = outcome.is_error, blocked = outcome.blocked, reason = outcome.reason,
    exit_code = outcome.exit_code, bytes = bytes_of(outcome.content), content = content }
end

return observe
