--- Answers with a shape: the option `output` of a call. The model is asked for JSON of a schema in the way that row and
-- model allow (ask.lua), the answer is read and judged by the caller's schema (settle.lua), and where it does not fit
-- the model may be asked again (stream.lua, repair.lua). What an answer holds stands in its Response: `output` (the
-- value), or `output_error`, and `output_mode`. An answer that does not fit is no error of the call.

local ask = require "koine.call.output.ask"
local check = require "koine.data.check"
local stream = require "koine.call.output.stream"
local wait = require "koine.task.wait"

-- When all rounds have to be over: monotonic seconds, nil: no limit.
local function deadline_of(settings)
  local total = settings.timeout.total
  return total and total > 0 and wait.now() + total or nil
end

--- Starts a call whose answer shall have a shape: a stream, or nil, err. `state` is the adapter's private table,
-- `settings` those of the call, with the checked option in `output`; `start` is function(messages, amend, deadline) →
-- the adapter's stream, or nil, err: it calls amend(request) before it renders a request.
return function(state, messages, settings, start)
  messages = check.messages(messages)
  local plan, deadline = { spec = settings.output }, deadline_of(settings)
  local function amend(request)
    local made = ask.plan(request, settings.output, state)
    for name in next, plan do plan[name] = nil end -- another round may ask in another way
    for name, value in next, made do plan[name] = value end
    return plan.tool
  end
  return stream(function(list) return start(list, amend, deadline) end, messages, plan, state)
end
