--- A session by way of an adapter: an agent is the loop; here is what a session adds to it: tools behind an
-- executor, limits between the rounds, the audit log, and what the end of the run means.

local core = require "koine.core"
local agents = require "koine.agent"
local check = require "koine.data.check"
local context = require "koine.session.context"
local errors = require "koine.data.errors"
local observe = require "koine.session.observe"
local runners = require "koine.session.runner"
local tools = require "koine.session.tools"
local step = require "koine.agent.step"

local chat = {}

local methods = {}
local work_mt = { __index = methods }

-- Raises unless the adapter is one, and for the model that the session is for.
local function check_adapter(adapter, model)
  check.adapter(adapter, "adapter")
  local name = adapter.model_name and errors.try(adapter.model_name, adapter)
  if name and model ~= name and model:sub(-#name - 1) ~= "/" .. name then
    errors.argument("model", ("the adapter's model, %q"):format(name), model)
  end
end

-- The adapter as the agent sees it: it is known of the last answer whether the provider paused it.
local function watched(work, adapter)
  return {
    chat = function(_, messages, options)
      local response, err = adapter:chat(messages, options)
      work.paused = response and response.stop_reason == "pause_turn"
      return response, err
    end,
  }
end

-- Makes the stop condition of a run: between two rounds it returns a reason to end, or nil.
local function limit(work, input)
  local too_many = input.max_tokens_total and agents.tokens(input.max_tokens_total)
  return function(state)
    if state.pending > 0 or state.steps == 0 then return nil end
    if work.blocked then return "blocked" end
    if state.steps >= input.max_rounds then return "limit:max_rounds" end
    if too_many and too_many(state) then return "limit:max_tokens_total" end
    if input.deadline_seconds and state.elapsed >= input.deadline_seconds and not work.paused then
      return "checkpoint"
    end
  end
end

--- Begins a session of an adapter: a runner (runner.lua). `input` is what input.check returned. Raises an ArgumentError
-- for an unfit adapter, for one of another model, and for inputs that do not fit the working directory or executor.
function chat.open(adapter, input)
  check_adapter(adapter, input.model)
  local named = (input.observer or input.parent) and adapter.provider_name
  local work = setmetatable({ input = input, provider = named and errors.try(named, adapter) or nil }, work_mt)
  work.runner = runners.new(input, work)
  local all, skipped = tools.make(work)
  work.runner.facts.skipped_tools = skipped
  work.agent = agents { adapter = watched(work, adapter), tools = all, system = input.system,
    options = input.options, stop = { limit(work, input) },
    on_event = function(event) runners.tell(work.runner, event) end,
    on_delta = input.on_delta and function(delta) runners.consume(work.runner, input.on_delta, delta) end }
  return work.runner
end

local STOPPED = {}

function STOPPED.checkpoint(runner)
  runner.outcome.checkpoint, runner.facts.stop_reason = true, "checkpoint"
end

function STOPPED.blocked() end

-- Enters the end of the run into the session's facts and outcome.
local function judge(self, runner)
  local summary, facts = self.run:summary(), runner.facts
  facts.stop_reason = summary.stop_reason
  facts.output, facts.output_error, facts.output_mode = summary.output, summary.output_error, summary.output_mode
  if summary.status == "completed" then
    runner.outcome:stopped(summary.stop_reason)
    if summary.output_error then runner.outcome:unanswered(summary.response) end
  elseif summary.status == "stopped" and STOPPED[summary.reason] then
    STOPPED[summary.reason](runner)
  else
    runner.outcome:fail(errors.new { kind = summary.status == "stopped" and "limit" or "other",
      message = summary.reason or summary.status })
  end
end

-- Hands out what had arrived of an answer that broke off, except its calls: they must not run.
local function tell_partial(runner, partial)
  for _, block in ipairs(partial and partial.content or {}) do
    local event = block.type ~= "tool_use" and step.event(block)
    if event then runners.tell(runner, event) end
  end
end

--- A unit of the run; see runner.lua.
function methods:step(runner)
  if not self.run then
    local message, about = context.message(self.input)
    if not message then
      runner.outcome:fail(about)
      return false
    end
    runner.facts.skipped_context, runner.facts.cut_context = about.skipped, about.cut
    local parent = observe.context(runner)
    self.run = self.agent:start(message, parent and { parent = parent })
  end
  local made, err = self.run:step()
  if made then return true end
  if err then
    tell_partial(runner, step.partial(err))
    runner.outcome:fail(err)
  else
    judge(self, runner)
  end
  return false
end

-- id → the run's calls with that id, in order; id → when the last of them was answered.
local function by_id(calls, events)
  local answered, times = {}, {}
  for _, call in ipairs(calls) do
    answered[call.id] = answered[call.id] or {}
    table.insert(answered[call.id], call)
  end
  for _, event in ipairs(events) do
    if event.kind == "tool_result" then times[event.tool_call_id] = event.timestamp end
  end
  return answered, times
end

-- One record for each call that the model made; `started` has the ids of those that reached the executor.
local function write_audit(runner, calls, started)
  local answered, times = by_id(calls, runner.events)
  for _, event in ipairs(runner.events) do
    if event.kind == "tool_call" then
      local call = table.remove(answered[event.tool_call_id] or {}, 1)
        or { blocked = not started[event.tool_call_id], reason = "not run" }
      local arguments = core.decode(event.tool_input)
      runners.audit(runner, { tool_name = event.tool_name, tool_input = type(arguments) == "table" and arguments or {},
        blocked = call.blocked or false, block_reason = call.blocked and (call.reason or "blocked") or "",
        timestamp = times[event.tool_call_id] or event.timestamp })
    end
  end
end

--- Ends the run and the executor, then enters usage and audit log into the runner.
function methods:close(runner)
  if self.blocked then runner.outcome:worsen("blocked", self.blocked) end
  if self.run then self.run:cancel() end
  if self.executor then self.executor:close() end
  if self.run then
    local summary, usage = self.run:summary(), runner.usage
    local sum = summary.usage
    usage.tokens_in, usage.tokens_out = sum.input_tokens, sum.output_tokens
    usage.cache_read_tokens, usage.cache_creation_tokens = sum.cache_read_tokens, sum.cache_creation_tokens
    usage.reasoning_tokens, usage.model_calls = sum.reasoning_tokens, sum.model_calls
    usage.incomplete, usage.cost_usd = sum.incomplete, sum.cost and sum.cost.total
    write_audit(runner, summary.calls, self.started)
  end
end

return chat
