--- A turn: one prompt, the run of the agent that answers it, and how it ended. A turn is {session, run, task (what
-- waits and can be broken off), cancelled, calls, updates}.

local calls = require "koine.protocol.acp.serve.turn.calls"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.acp.serve.failure"
local permission = require "koine.protocol.acp.serve.turn.permission"
local scheduler = require "koine.task.scheduler"
local updates = require "koine.protocol.acp.serve.turn.updates"
local wait = require "koine.task.wait"

local turn = {}

local REASONS = { max_tokens = "max_tokens", context_overflow = "max_tokens", refusal = "refusal",
  sensitive = "refusal" }

local methods = {}
local metatable = { __index = methods }

--- Ends the turn, at once: its prompt is answered with "cancelled".
function methods:cancel()
  self.cancelled = true
  if self.run then self.run:cancel() end
  if self.task then self.task:cancel() end
end

--- Runs f() so that cancel can end it: its results; nothing when it was cancelled.
function methods:breakable(f)
  local results = { n = 0 }
  scheduler.gather(function()
    if self.cancelled then return end
    self.task = wait.task()
    results = table.pack(f())
  end)
  self.task = nil
  return table.unpack(results, 1, results.n)
end

-- Calls both, where there are both.
local function both(first, second)
  if not first then return second end
  return function(...)
    second(...)
    first(...)
  end
end

-- The fields of the agent that this run has of its own.
local function fields_of(self, spec)
  local session = self.session
  local fields = { tools = session:watched(spec.tools), parent = self.parent or spec.parent }
  fields.on_delta = both(spec.on_delta, function(delta)
    if delta.type:find "_delta$" then self.updates:on_delta(delta) else self.updates:end_block() end
  end)
  fields.on_event = both(spec.on_event, function(event, run)
    if self.updates:on_event(event) then return end
    if event.kind == "tool_call" then self.calls:announce(event, run.tools or fields.tools) end
    if event.kind == "tool_result" then self.calls:finish(event) end
  end)
  if spec.prepare then
    function fields.prepare(step)
      local said = spec.prepare(step)
      if type(said) ~= "table" or not said.tools then return said end
      local copy = {}
      for name, value in next, said do copy[name] = value end
      copy.tools = session:watched(said.tools)
      return copy
    end
  end
  return fields
end

-- Asks for all calls that wait: true, or nil when the user cancelled the turn instead.
local function decide(self, pending)
  for _, call in ipairs(pending) do
    local allowed, reason = self:breakable(function() return permission.ask(self, call) end)
    if allowed == nil or self.cancelled then
      self:cancel()
      return nil
    end
    if allowed then self.run:approve(call.id) else self.run:deny(call.id, reason) end
  end
  return true
end

-- Saves what the run did so far, where sessions are kept: after a step, once all of its calls are answered. The end of
-- the run saves by itself.
local function keep_step(self, blocks)
  if not self.session.server.saved or not self.calls:are_over() then return end
  local now = self.run:summary()
  if now.status == "running" then self.session:keep_step(now.messages, blocks) end
end

-- Drives the run to its end: its summary, or nil, err.
local function drive(self, blocks)
  local run, told = self.run, nil
  while true do
    if self.cancelled then run:cancel() end
    local made, err = run:step()
    if run.response ~= told then
      told = run.response
      self.session:used(told, run.spec.adapter)
    end
    if err then return nil, err end
    if made then
      keep_step(self, blocks)
    else
      local result = run:summary()
      if result.status ~= "paused" or not decide(self, result.pending) then return run:summary() end
    end
  end
end

-- The stop reason of a run that ended.
local function reason_of(self, result)
  if self.cancelled or result.status == "cancelled" then return "cancelled" end
  if result.status ~= "stopped" then return REASONS[result.stop_reason] or "end_turn" end
  if result.reason == "steps" then return "max_turn_requests" end
  self.updates:say("text", ("[stopped: %s]"):format(result.reason))
  return "end_turn"
end

local function start(self, blocks)
  local session = self.session
  local agent, err = self:breakable(function() return session:agent() end)
  if self.cancelled then return nil end
  if not agent then return nil, err or errors.new { kind = "other", message = "there is no agent" } end
  local messages = session:messages_with { role = "user", content = blocks }
  self.run = agent:start(messages, fields_of(self, agent.spec))
  return true
end

--- Runs it: the result of session/prompt, or nil, err. `blocks` are those of the user's message.
function methods:play(blocks)
  local started, err = start(self, blocks)
  if self.cancelled then return { stopReason = "cancelled" } end
  if not started then return failure.of(err) end
  local ok, result, failed = pcall(drive, self, blocks)
  if not ok then result, failed = nil, result end -- what an adapter or a function of the agent's raised
  self.calls:abandon()
  local reason = result and reason_of(self, result)
  if failed and (self.cancelled or errors.is_error(failed) and failed.kind == "cancelled") then reason = "cancelled" end
  self.session:keep(self.run:summary().messages, blocks, reason == "refusal")
  if not reason then return failure.of(failed) end
  return { stopReason = reason }
end

--- A turn of a session, which has not begun. `parent` is what it is a part of for observers: a context, nil for none.
function turn.new(session, parent)
  return setmetatable({ session = session, parent = parent, run = false, task = nil, cancelled = false,
    calls = calls.new(session), updates = updates.new(session) }, metatable)
end

return turn
