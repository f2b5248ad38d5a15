--- The calls of a step: running their tools, one at a time or all at once, and handing out the answers in
-- order. Before its tool runs, a call is marked as started and the checkpoint of the run is called. A call that is
-- marked and has no answer was interrupted; its tool never runs again.

local call_context = require "koine.agent.call_context"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local scheduler = require "koine.task.scheduler"
local records = require "koine.data.records"
local state = require "koine.agent.state"
local tool = require "koine.agent.tool"

local calls = {}

--- Calls the checkpoint of a run, where there is one, because its state has changed; then saves it where it is kept.
-- Raises what the checkpoint raises, and run.unsaved, the error of a save that failed.
function calls.save(run)
  if run.spec.checkpoint then run.spec.checkpoint(run) end
  if not run.hold then return end
  local saved, err = run.hold:save(run)
  run.unsaved = err
  if not saved then error(err, 0) end
end

--- The calls that wait for approval, in order.
function calls.undecided(self)
  local waiting = {}
  for _, call in ipairs(self.calls or {}) do
    if call.approval == "asked" then waiting[#waiting + 1] = call end
  end
  return waiting
end

--- How many calls wait for their answer.
function calls.pending(self)
  local n = 0
  for _, call in ipairs(self.calls or {}) do
    if call.content == nil then n = n + 1 end
  end
  return n
end

--- The calls that are next: the first without an answer, or with `parallel` all of them. nil when approval is missing.
function calls.next(self, parallel)
  local batch = {}
  for _, call in ipairs(self.calls) do
    if call.content == nil then
      if call.approval == "asked" then return nil end
      batch[#batch + 1] = call
      if not parallel then break end
    end
  end
  return batch
end

-- Answers a call whose tool need not or must not run: true when it is one.
local function settled(call, tools)
  if call.started then
    state.interrupt(call)
  elseif call.problem then
    call.content, call.is_error, call.reason = call.problem, true, call.problem
  elseif call.approval == "denied" then
    call.content, call.is_error, call.blocked = "denied: " .. (call.reason or "no reason given"), true, true
  elseif not tool.find(tools, call.name) then
    call.reason = "not run: the tool is not there any more"
    call.content, call.is_error = call.reason, true
  else
    return false
  end
  return true
end

-- Marks calls as started and calls the checkpoint: whether their tools may run now. Where the checkpoint raises, or the
-- run ends meanwhile, no tool runs, and the marks are taken back.
local function write_ahead(run, due)
  local unmark <close> = defer(function()
    for _, call in ipairs(due) do call.started = nil end
  end)
  for _, call in ipairs(due) do call.started = true end
  calls.save(run)
  if run.lost or run.state.status ~= "running" then return false end
  unmark:cancel()
  return true
end

-- Runs the tool of a call and keeps its answer; raises the error that ends the run.
local function execute(run, call, tools)
  local arguments = records.to_table(call.edited or call.arguments)
  local outcome, err = tool.execute(tool.find(tools, call.name), arguments,
    { call = call_context(call, arguments), run = run, lease = run.hold and run.hold:lease(),
      observe = run.span and run.span:context() })
  if not outcome then error(err, 0) end
  call.content, call.is_error, call.blocked, call.reason, call.traceback = outcome.content, outcome.is_error,
    outcome.blocked, outcome.reason, outcome.traceback
end

-- Runs the tools of several calls at once. A failing checkpoint does not break off the others; its error is raised
-- after them.
local function execute_all(run, batch, tools)
  local jobs, failure = {}, nil
  for i, call in ipairs(batch) do
    jobs[i] = function()
      execute(run, call, tools)
      local ok, err = pcall(calls.save, run)
      if not ok then failure = failure or { err } end
    end
  end
  if #jobs == 1 then jobs[1]() else scheduler.gather(table.unpack(jobs)) end
  if failure then error(failure[1], 0) end
end

--- Answers the calls of `batch`: true; nil when the run was cancelled; or nil, err for an error that ends the run. To
-- be called in a task of its own. Raises what the checkpoint raises.
function calls.run(run, batch, tools)
  local due = {}
  for _, call in ipairs(batch) do
    if not settled(call, tools) then due[#due + 1] = call end
  end
  if #due == 0 then return true end
  if not write_ahead(run, due) then return nil end
  local ok, err = pcall(execute_all, run, due, tools)
  if ok then return true end
  if errors.is_error(err) and (err.kind == "executor" or err.kind == "cancelled") then return nil, err end
  error(err, 0)
end

-- Makes the event of an answered call, and its entry in the log.
local function tell(draft, call)
  state.tell(draft, { kind = "tool_result", content = state.text_of(call.content, "\n"), tool_name = call.name,
    tool_call_id = call.id, is_error = call.is_error, traceback = call.traceback })
  draft.log[#draft.log + 1] = { id = call.id, name = call.name, arguments_json = call.arguments_json,
    is_error = call.is_error, blocked = call.blocked, reason = call.reason, executed = call.started == true }
end

--- Hands out the answers that were not handed out, in the calls' order; adds them to the history once all calls have
-- one.
function calls.tell(self)
  local draft, told, whole = state.draft(self), {}, true
  for _, call in ipairs(self.calls) do
    whole = whole and call.content ~= nil
    if call.content ~= nil and not call.told then
      tell(draft, call)
      call.told, told[#told + 1] = false, call
    end
  end
  if whole then
    draft.messages[#draft.messages + 1] = state.answers(self.calls)
    draft.calls = nil
  end
  state.commit(self, draft)
  for i = 1, #told do told[i].told = true end -- takes no memory any more
end

return calls
