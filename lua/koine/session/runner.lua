--- Runs every kind of session: its events, numbered and handed out one by one; the state of
-- the repository before and after; the outcome, the usage and the result.
-- The work is an object with step(runner): true while there is more to do, having put what happened into the runner;
-- and close(runner), called once, which ends it at any time, gives back what it holds, and enters what it knows only
-- now. It uses tell, consume and audit, and a runner's fields outcome, usage, facts (further fields of the result), and
-- over, true from the moment at which the session ends or is closed. Its field `provider` is a name for observers.

local core = require "koine.core"
local artifacts = require "koine.system.artifacts"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local exclusive = require "koine.task.exclusive"
local observe = require "koine.session.observe"
local types = require "koine.session.types"
local outcomes = require "koine.session.outcome"
local wait = require "koine.task.wait"

local runner = {}

local methods = {}
local runner_mt = { __index = methods, __name = "koine.session" }

-- Looks at the repository before the work. Raises an ArgumentError where a required one is missing.
local function look_before(self)
  local before, err = artifacts.snapshot(self.input.workdir)
  self.before = before
  if before then return end
  if err.kind == "cancelled" then error(err, 0) end
  if self.input.require_git then
    core.raise_argument("workdir", "directory in a git repository (or require_git = false)", err.message)
  end
  if err.code ~= "not_a_repository" then self.artifacts_error = err end
end

--- Begins a session with inputs that were checked (input.lua) and a work that has not begun. Raises an ArgumentError
-- for a working directory without a git repository where one is required.
function runner.new(input, work)
  local self = setmetatable({ input = input, work = work, began = wait.now(), outcome = outcomes.new(),
    events = core.array {}, read = 0, audit_log = core.array {}, usage = types.usage { model = input.model },
    facts = {}, last_output = "", span = false }, runner_mt)
  self.usage.cost_usd = nil
  look_before(self)
  return self
end

-- For the work ------------------------------------------------------------------------------------------------------

--- Enters an event (its fields: types.event), and tells the user's on_event. An error raised there changes nothing; the
-- first one is in the result. Nothing is entered into a session that is over.
function runner.tell(self, fields)
  if self.over then return end
  local event = types.event(fields)
  self.events[#self.events + 1] = event
  event.seq = #self.events
  if event.timestamp == 0 then event.timestamp = core.wall() end
  if event.kind == "output" then self.last_output = event.content end
  runner.consume(self, self.input.on_event, event)
end

--- Calls one of the user's functions, if there is one, and keeps its first error.
function runner.consume(self, f, value)
  if not f then return end
  local ok, err = pcall(f, value)
  if not ok and not self.facts.consumer_error then self.facts.consumer_error = tostring(err) end
end

--- Enters a record of the audit log (types.audit).
function runner.audit(self, fields) self.audit_log[#self.audit_log + 1] = types.audit(fields) end

-- The end -----------------------------------------------------------------------------------------------------------

-- Looks at the repository after the work: the artifacts, nil without a repository.
local function look_after(self, result)
  if not self.before then
    result.artifacts, result.artifacts_source, result.artifacts_error = nil, "none", self.artifacts_error
    return
  end
  local paths, heads = artifacts.compare(self.before, { relative_to = self.input.relative_to })
  result.artifacts_source = "git"
  if paths then
    result.artifacts = core.array(paths)
    result.head_before, result.head_after = heads.head_before, heads.head_after
  else
    result.artifacts_error = heads
  end
end

-- Makes the result of a session whose work is over, once.
local function finish(self)
  local judged = self.outcome
  judged:asked(self.last_output, self.input.blocked_phrases or {})
  local result = types.result { outcome = judged.outcome, reason = judged.reason, error = judged.error,
    truncated = judged.truncated, checkpoint = judged.checkpoint, events = self.events, usage = self.usage,
    audit_log = self.audit_log }
  for name, value in next, self.facts do result[name] = value end
  look_after(self, result)
  if self.final then return end -- another caller ended it meanwhile
  self.usage.duration_seconds = math.max(wait.now() - self.began, 1e-9)
  self.final = result
end

-- Nothing is done from now on.
local function stop(self)
  if self.over then return end
  self.over = true
  self.work:close(self)
end

local ONE_READER = { field = "session", expected = "one reader at a time",
  message = "session: one reader at a time expected, got a second one" }

--- Holds a session for one reader: a value for <close>. Raises an ArgumentError where there is a reader already.
function runner.hold(self) return exclusive(self, ONE_READER) end

-- Tells an observer when a step ends, in whatever way, after which the session is over: a value for <close>.
local function told_at_end(self)
  return defer(function(raised)
    if self.over and self.span then observe.over(self, self.final, raised) end
  end)
end

-- One step of the work. An error raised is the session's failure; wrong use before anything was done is the caller's.
-- A session that was closed meanwhile is over: what the interrupted step says does not count.
local function advance(self)
  local held <close> = runner.hold(self) -- luacheck: ignore held
  if not self.span and (self.input.observer or self.input.parent) then observe.begin(self) end
  local told <close> = self.span and told_at_end(self) or nil -- luacheck: ignore told
  local ok, more = pcall(self.work.step, self.work, self)
  if self.over or ok and more then return end
  if not ok then self.outcome:fail(more) end
  stop(self)
  if not ok and #self.events == 0 and errors.is_error(more)
    and (more:is "ArgumentError" or more:is "NotImplementedError") then
    error(more, 0)
  end
  finish(self)
end

-- For the user ------------------------------------------------------------------------------------------------------

--- The next event, nil at the end of the session. Raises an ArgumentError or NotImplementedError when the adapter
-- refuses what it was given, and an ArgumentError while another caller waits for the same session, which goes on;
-- raises nothing else.
function methods:next()
  while self.read == #self.events and not self.over do advance(self) end
  if self.read == #self.events then return nil end
  self.read = self.read + 1
  return self.events[self.read]
end

--- The result: goes on to the end of the session first. Raises what `next` raises.
function methods:result()
  while not self.over do advance(self) end
  if not self.final then finish(self) end
  return self.final
end

--- Ends the session, also while it is at work: its outcome is then an error of the kind "cancelled". Any number of
-- times.
function methods:close()
  if self.over then return end
  self.outcome:fail(errors.new { kind = "cancelled", message = "the session was closed" })
  stop(self)
  if self.span and not self.busy then observe.over(self) end -- else at the end of the step under way
end

-- `for event in session do` reads on; session.events gives the generic for what closes the session, too.
runner_mt.__call = methods.next
runner_mt.__close = methods.close

return runner
