--- A run of an agent: one conversation on its way to an end, driven a unit at a time. A unit is one model call, or one
-- tool call (all those of a step with `parallel`); between units the run can be saved, stopped, and given to another
-- process. All that must outlive the process is in its state (state.lua). A run that is kept in a store has a `hold`
-- (hold.lua), `unsaved`, the error of its last save, and `lost`, the error that ended it here, not elsewhere.

local calls = require "koine.agent.calls"
local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local defer = require "koine.task.defer"
local exclusive = require "koine.task.exclusive"
local observe = require "koine.agent.observe"
local queue = require "koine.task.queue"
local scheduler = require "koine.task.scheduler"
local shown = require "koine.agent.shown"
local judge = require "koine.data.schema.judge"
local parts = require "koine.data.schema.parts"
local records = require "koine.data.records"
local state = require "koine.agent.state"
local stop = require "koine.agent.stop"
local tool = require "koine.agent.tool"
local step = require "koine.agent.step"
local usage = require "koine.data.usage"
local wait = require "koine.task.wait"

local run = {}

local methods = {}
local run_mt = { __index = methods, __name = "koine.agent.run" }

--- A run with this state. `spec` is the agent's fields in force.
function run.new(spec, self)
  return setmetatable({ spec = spec, state = self, since = core.monotonic(), unread = queue.new() }, run_mt)
end

--- A run with a loaded state: hands out answers that its process did not hand out, and judges calls that wait anew.
function run.resume(spec, self)
  if self.calls then calls.tell(self) end
  step.judge_again(self, spec.tools)
  return run.new(spec, self)
end

local function elapsed(self) return self.state.elapsed + core.monotonic() - self.since end

-- Units -------------------------------------------------------------------------------------------------------------

local function is_cancelled(self) return self.lost or self.state.status == "cancelled" end
local function is_over(self) return self.lost or self.state.status ~= "running" end

-- Runs f(self, …) as a task that cancel can end: what pcall gives, or nothing when it was cancelled.
local function in_task(self, f, ...)
  local results, given = { n = 0 }, table.pack(...)
  local function unit()
    if is_cancelled(self) then return end
    self.task = wait.task()
    results = table.pack(pcall(f, self, table.unpack(given, 1, given.n)))
  end
  if self.hold then self.hold:renewing(unit) else scheduler.gather(unit) end
  return table.unpack(results, 1, results.n)
end

-- Raises what a task raised; wrong use, which inside the task could not name a caller's line, with the line of our
-- caller. A model call that was wrong use sent nothing.
local function reraise(self, failure)
  if errors.is_error(failure) and failure.field then self.asking = nil end
  local first = errors.is_error(failure) and (failure.field or failure.adapter)
  if first and failure.message:sub(1, #first) == first then core.raise(failure) end
  error(failure, 0)
end

-- Runs f(self, …) so that cancel can end it: its two results; nil when the run was cancelled, or nil, err when the loop
-- around it was. Raises what f raises; drops an error that closing f raises after it was broken off.
local function apart(self, f, ...)
  local called, ok, result, err = pcall(in_task, self, f, ...)
  self.task = nil
  if called and ok ~= false then return result, err end
  if not called and is_cancelled(self) then return nil end
  local failure = result
  if not called then failure = ok end -- a host cancelled the loop around the task
  if failure ~= nil and failure == self.unsaved then return nil, failure end
  if errors.is_error(failure) and failure.kind == "cancelled" then return nil, failure end
  reraise(self, failure)
end

-- Breaks the run off; the usage of a model call under way is unknown.
local function break_off(self)
  if self.asking then step.record_break(self.state) end
  self.asking = nil
end

-- The unit of a model call: true, nil when the run was cancelled, or nil, err.
local function ask(self)
  break_off(self) -- an earlier one, whose task was closed
  local plan = step.plan(self.spec, self.state)
  if is_over(self) then return nil end -- cancelled in prepare
  if self.span then plan.options.parent = self.span:context() end
  self.asking = true
  local messages = plan.messages or shown.messages(self, plan.adapter)
  local response, err = plan.adapter:chat(messages, plan.options)
  self.asking = nil
  if is_over(self) then return nil end
  if response == nil then
    err = err or errors.new { kind = "other", message = "the adapter gave neither a response nor an error" }
    step.record_failure(self.state, err)
    return nil, err
  end
  self.tools = plan.tools -- before there are calls of them
  local recorded
  recorded, err = step.record(self.state, response, plan.tools)
  if not recorded then return nil, err end
  self.response = response
  calls.save(self)
  return true
end

-- The unit of tool calls, likewise.
local function answer(self, batch)
  local done, err = calls.run(self, batch, self.tools or self.spec.tools)
  calls.tell(self.state)
  if done and not is_over(self) then calls.save(self) end
  return done, err
end

-- The unit of saving once more.
local function save_again(self)
  calls.save(self)
  return true
end

-- The reason to stop now, or nil.
local function reason_to_stop(self)
  local s, conditions = self.state, self.spec.stop
  local log = stop.only_reads(conditions) and s.log or records.to_table(s.log) -- which may be long
  return stop.reason(conditions, { steps = s.steps, usage = usage.copy(s.usage), calls = log, elapsed = elapsed(self),
    pending = calls.pending(s), stop_reason = s.stop_reason })
end

-- The next unit: true, nil when there is none, or nil, err. A state that could not be saved is one of its own.
local function advance(self)
  local s = self.state
  if self.unsaved then return apart(self, save_again) end
  if is_over(self) then return nil end
  local batch = s.calls and calls.next(s, self.spec.parallel)
  local reason = reason_to_stop(self)
  if is_over(self) then return nil end -- cancelled by a condition
  if reason then
    s.status, s.reason = "stopped", reason
    return nil
  end
  if s.calls and not batch then return nil end -- paused
  local done, err = apart(self, batch and answer or ask, batch)
  if batch and s.calls then calls.tell(s) end -- what was answered before it was broken off
  if is_cancelled(self) then return nil end
  return done, err
end

-- Hands out the events that were made.
local function flush(self)
  local made, outbox, on_event = {}, self.state.outbox, self.spec.on_event
  while outbox[1] and not self.lost do
    local event = outbox[1]
    made[#made + 1] = event
    table.remove(outbox, 1)
    if on_event then on_event(event, self) end
  end
  return made
end

local function status(self)
  local s = self.state
  if self.lost then return "cancelled" end
  if s.status ~= "running" then return s.status end
  if self.err then return "failed" end
  if s.calls and not calls.next(s, self.spec.parallel) then return "paused" end
  return "running"
end

-- Ends the span of a run that is observed.
local function finish_span(self, err)
  if self.span then observe.run_over(self, self:summary(), err) end
end

local BROKEN_OFF = errors.new { kind = "cancelled", message = "the step was broken off" }

local ONE_STEP = { field = "step", expected = "one step of a run at a time",
  message = "step: one step of a run at a time expected, got a second one" }

--- Makes the next unit: the array of the events it made; nil when there is nothing more to do, because the run is over
-- or waits for approval; nil, err when the model call failed or the machine behind the tools did. After a model call
-- the history is then as before it, and another step tries again; a tool call that failed so is answered as interrupted
-- by the next step, and not run again. The third result is the array of events that were made all the same.
-- Events that were not handed out, of a run that was loaded, come first, by themselves. Raises what on_event, on_delta,
-- prepare, checkpoint and conditions raise, what the adapter raises, and an ArgumentError while another step is under
-- way. Another step goes on then. Events that on_event was given count as handed out also when it raises: they do not
-- come again. A run that a keeper lost returns nil, err (kind "cancelled") from then on, and hands out no events; one
-- that it could not save, nil, err, and the next step first saves it.
function methods:step()
  local held <close> = exclusive(self, ONE_STEP) -- luacheck: ignore held
  if self.lost then return nil, self.lost, {} end
  if #self.state.outbox > 0 then return flush(self) end
  self.err = nil
  local watch <close> = status(self) == "running" and observe.run(self)
    and defer(function(raised) finish_span(self, raised or BROKEN_OFF) end) or nil
  local done, err = advance(self)
  err = self.lost or err
  self.err = err
  if watch then
    watch:cancel()
    if err or status(self) ~= "running" then finish_span(self, err) end
  end
  if err then return nil, err, flush(self) end
  if done or #self.state.outbox > 0 then return flush(self) end
  return nil
end

-- The user's interface ----------------------------------------------------------------------------------------------

local function next_event(self)
  local unread = self.unread
  while unread:count() == 0 do
    local err = self.unraised
    self.unraised = nil
    if err then error(err, 0) end
    local made, failed, before = self:step()
    if not made and not failed then return nil end
    self.unraised = failed
    for _, event in ipairs(made or before) do unread:push(event) end
  end
  return unread:pop()
end

--- Drives the run in a generic for: `for event in run:events() do … end`. Leaving the loop leaves the run where it is;
-- another loop goes on. A failure is raised.
function methods:events() return next_event, self end

--- Drives the run to its end: its result (see summary), or nil, err.
function methods:result()
  local made, err
  repeat made, err = self:step() until not made
  if err then return nil, err end
  return self:summary()
end

-- The calls that wait for approval, for the user.
local function pending(self)
  local list = {}
  for i, call in ipairs(calls.undecided(self.state)) do
    list[i] = { id = call.id, name = call.name, arguments = records.to_table(call.arguments),
      arguments_json = call.arguments_json }
  end
  return list
end

--- Returns a summary of the run, at any time: a table of
--   status       "completed" (the model ended its answer), "stopped" (by a condition), "paused" (waits for approval),
--                "cancelled"; before the end "running", or "failed" after a step that failed
--   reason       the condition's word, when stopped; "lease_lost" or "closed" when its keeper gave it up
--   messages     the history, a copy: legal as it is, also where calls were never run, which it answers as not run
--   text         the text of the last answer, "" when there is none
--   output       the value that the last answer holds, where options.output asked for one; output_error: why it holds
--                none; output_mode: how it was asked for, as in a Response
--   stop_reason  the last answer's; response its Response (nil in a run that was loaded and asked nothing since)
--   usage        the sum of all model calls, those that broke off with what had arrived: counts, model_calls,
--                incomplete, uncounted, cost (nil when one is not known)
--   steps        number of model calls;  events  number of events
--   calls        array of {id, name, arguments_json, is_error, blocked, reason, executed}: answered tool calls
--   pending      array of {id, name, arguments, arguments_json}: calls that wait for approval
--   error        of the last step, when it failed
function methods:summary()
  local s, now = self.state, status(self)
  local reason = s.reason or self.lost and self.lost.code
  return { status = now, reason = reason, messages = state.history(s, s.reason or now), text = s.text,
    stop_reason = s.stop_reason, response = self.response, usage = usage.copy(s.usage), steps = s.steps,
    events = s.events, calls = records.to_table(s.log), pending = pending(self), error = self.err,
    output = records.to_table(s.output), output_error = records.to_table(s.output_error),
    output_mode = s.output_mode }
end

-- Breaks off what is under way.
local function interrupt(self)
  break_off(self)
  if self.task then self.task:cancel() else finish_span(self, self.lost) end
end

--- Ends the run, at once: what is under way is broken off, also a prepare, needs_approval or checkpoint that waits. In
-- a model call its history is as before it; a tool that was running counts as interrupted. True, or false when the run
-- was over.
function methods:cancel()
  if is_over(self) then return false end
  self.state.status = "cancelled"
  interrupt(self)
  return true
end

-- Gives up a run here, because of err: its state stays as it is, others go on with what is stored.
local function give_up(self, err)
  self.lost, self.err = err, err
  interrupt(self)
end

--- Has a hold (hold.lua) keep the run: it is saved there, and given up at once when the hold is lost.
function run.keep(self, hold)
  self.hold = hold
  hold.on_lost = function(err) give_up(self, err) end
end

--- Gives up a run that is not over, at once, because of err; another hold may have it from then on.
function run.leave(self, err)
  self.hold.on_lost = nil
  if not is_over(self) then give_up(self, err) end
end

-- The call of that id that waits for approval.
local function undecided(self, id)
  for _, call in ipairs(calls.undecided(self.state)) do
    if call.id == id then return call end
  end
  errors.argument("call_id", "id of a call that waits for approval", id)
end

--- Approves a call that the run paused for; `arguments` (table, nil = the model's) go to the tool in place of the
-- model's, which stay in the history as they are. Then step again. Of two calls with one id the first that waits is
-- meant. Raises an ArgumentError when no such call waits, and when the arguments do not fit the tool, or JSON.
function methods:approve(call_id, arguments)
  local call = undecided(self, call_id)
  if arguments ~= nil then
    check.table(arguments, "arguments")
    local unfit = parts.unfit(arguments, 4) -- the levels that a dump puts around them
    if unfit then core.raise_argument("arguments", "values that JSON has", unfit) end
    local found = tool.find(self.tools or self.spec.tools, call.name)
    local fits, why = true, nil
    local parameters = found and found.parameters -- nil where the provider has them
    if parameters then fits, why = judge.validate(parameters, parameters, arguments, "arguments") end
    if not fits then core.raise_argument("arguments", "arguments that fit the tool", why) end
    call.edited = records.to_table(arguments)
  end
  call.approval = "given"
  return true
end

--- Denies a call that the run paused for: the model is told so, with the reason (string, nil for none). Then step
-- again. Raises an ArgumentError when no such call waits.
function methods:deny(call_id, reason)
  if reason ~= nil then check.string(reason, "reason") end
  local call = undecided(self, call_id)
  call.approval, call.reason = "denied", reason
  return true
end

--- The run as JSON text, for koine.agent.load: history, usage, pending calls, approvals, events not handed out. Neither
-- the adapter nor tools, functions and options are in it. May be called at any time; between steps, in on_event and in
-- checkpoint nothing is lost.
function methods:dump() return state.encode(self.state, elapsed(self)) end

check.colons(methods, run_mt, "run")

return run
