--- Sessions: one entrance through which an orchestrator has a model work in a repository, the same for every provider.
--
--   local result = koine.session.run(adapter, {
--     workdir = "repo", role = "implementor", model = "m-1", allowed_tools = { "bash", "edit_file" },
--     prompt = "Make the test pass.", context_files = { "issue.md" },
--   })
--   print(result.outcome, result.reason, table.concat(result.artifacts, " "))
--
-- A session begins with nothing but its inputs (session/input.lua) and ends with a result (docs/sessions.md), whatever
-- happens in between: provider trouble is an outcome, never raised.

local core = require "koine.core"
local chat = require "koine.session.chat"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local runners = require "koine.session.runner"
local inputs = require "koine.session.input"
local scheduler = require "koine.task.scheduler"
local types = require "koine.session.types"
local wait = require "koine.task.wait"

local session = { ROLE = types.ROLE, OUTCOME = types.OUTCOME, KIND = types.KIND, event = types.event,
  usage = types.usage, audit = types.audit, result = types.result }

-- Providers ---------------------------------------------------------------------------------------------------------

--- The abstract provider: calling it raises a NotImplementedError. A provider is a table with run_session(self, inputs)
-- → result; the six inputs are required. It may have open_session(self, inputs) → what session.events returns; without
-- it its events come at the end.
session.provider = setmetatable({}, { __call = function()
  errors.not_implemented("the abstract provider", "run_session")
end })

--- Runs a session. Raises a NotImplementedError: providers put their own in its place.
function session.provider:run_session()
  local name = type(self) == "table" and self.name
  errors.not_implemented(type(name) == "string" and name or "the abstract provider", "run_session")
end

local function callable(value)
  if type(value) == "function" then return true end
  local mt = type(value) == "table" and getmetatable(value)
  return type(mt) == "table" and mt.__call ~= nil
end

--- True when the value has a method run_session.
function session.is_provider(value)
  return (type(value) == "table" or type(value) == "userdata") and callable(value.run_session)
end

local methods = setmetatable({}, { __index = session.provider })

--- Runs a session: the result.
function methods:run_session(given)
  local opened <close> = self:open_session(given)
  return opened:result()
end

--- Begins a session: what session.events returns.
function methods:open_session(given)
  local input = inputs.check(given)
  return chat.open(self.adapter_for(input.model), input)
end

local provider_mt = { __index = methods, __name = "koine.session.provider" }

--- A new provider: `name` is that of one of Koine's rows, `options` (table, nil for none) are those of the row's
-- constructor without `model`. Raises an ArgumentError for an unknown name.
function session.new(name, options)
  check.string(name, "name")
  if options ~= nil and type(options) ~= "table" then check.refuse("options", "table", options) end
  require("koine.provider").load(name)
  local kept = {}
  for option, value in next, options or {} do kept[option] = value end
  return setmetatable({ name = name, adapter_for = function(model)
    kept.model = model
    return require("koine.call.adapter").by_name(name, kept)
  end }, provider_mt)
end

--- acp(opts): a provider whose sessions an agent of another program plays; see session/acp.lua.
function session.acp(opts) return require("koine.session.acp").new(opts) end

-- Running -----------------------------------------------------------------------------------------------------------

-- The session of a provider that only runs: its events, when it has run.
local replayed = {}
local replayed_mt = { __index = replayed, __name = "koine.session" }

-- The result of a session whose provider returned none.
local function failed(err)
  if err == nil then err = "the provider gave no result" end
  if not errors.is_error(err) then err = errors.new { kind = "other", message = tostring(err) } end
  return types.result { outcome = "error", reason = tostring(err), error = err }
end

-- pcall's results: the first, or the failed result of what was raised. Wrong use is raised on.
local function settle(ok, ...)
  if ok then return ... end
  local err = ...
  if errors.is_error(err) and (err:is "ArgumentError" or err:is "NotImplementedError") then error(err, 0) end
  return failed(err)
end

-- Calls f(…) as a task that close() cancels: f's results, or nil, err when it was.
local function apart(self, f, ...)
  return scheduler.run(function(...)
    self.task = wait.task()
    return settle(pcall(f, ...))
  end, ...)
end

function replayed:result()
  if self.final then return self.final end
  local held <close> = runners.hold(self) -- luacheck: ignore held
  local result, err = apart(self, self.provider.run_session, self.provider, self.given)
  self.final = self.final or result or failed(err)
  return self.final
end

function replayed:next()
  local events = self:result().events or {}
  self.read = self.read + 1
  return events[self.read]
end

function replayed:close()
  if self.final then return end
  self.final = failed(errors.new { kind = "cancelled", message = "the session was closed" })
  if self.task then self.task:cancel() end
end

replayed_mt.__call, replayed_mt.__close = replayed.next, replayed.close

local function open(target, given)
  if not session.is_provider(target) then return chat.open(target, inputs.check(given)) end
  if callable(target.open_session) then return target:open_session(given) end
  return setmetatable({ provider = target, given = given, read = 0 }, replayed_mt)
end

local function result_of(target, given)
  local opened <close> = open(target, given)
  return opened:result()
end

--- Runs a session to its end: the result. `target` is an adapter or a provider, `given` the inputs (session/input.lua).
-- Raises an ArgumentError for bad inputs, also when the adapter does not take them, a NotImplementedError for what the
-- target cannot do, and nothing else.
function session.run(target, given)
  if not session.is_provider(target) then return result_of(target, given) end
  return settle(pcall(result_of, target, given))
end

--- Begins a session and returns it: `for event in session.events(…) do … end` drives it event by event, the same events
-- in the same order as in the result. Methods: next() → event or nil; result(), which goes on to the end; close(),
-- which ends it. Leaving the loop closes it. Arguments and raised errors as for run.
function session.events(target, given)
  local opened = open(target, given)
  return opened, nil, nil, opened
end

--- An event as text of an event stream (SSE): "event: KIND\ndata: JSON\n\n".
function session.sse(event)
  if type(event) ~= "table" then errors.argument("event", "event", event) end
  types.kind(event.kind, "event.kind")
  return ("event: %s\ndata: %s\n\n"):format(event.kind, core.encode(event))
end

return session
