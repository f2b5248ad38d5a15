--- A dispatcher under glass: turns begin and end when the spec says so, the clock stands still until it is moved, and
-- whatever the hooks and the target are told goes into one log of words.

local koine = require "koine"
local wait = require "koine.task.wait"

local chat_lab = {}

-- Suspends the turn until it is settled: parks in a task, else yields to step.
local function pause(turn)
  if wait.suspends() then return wait.park(turn) end
  coroutine.yield()
end

local function prompts(messages)
  local words = {}
  for i, message in ipairs(messages) do words[i] = message.prompt end
  return table.concat(words, "+")
end

local methods = {}
methods.__index = methods

--- A message of a sender: {sender, prompt, …}.
function chat_lab.message(name, prompt, more)
  local message = { prompt = prompt, sender = { sender_id = "U" .. name, sender_name = name, display_name = name,
    channel = "slack", channel_id = "C1", is_bot = false } }
  for field, value in pairs(more or {}) do message[field] = value end
  return message
end

--- The address of a thread: "T1", or "platform:T1".
function chat_lab.thread(name)
  local platform, id = name:match "^(%l+):(.*)$"
  return { platform = platform or "slack", thread_id = id or name, channel_id = "C1" }
end

--- Submits: what submit returns.
function methods:say(thread, name, prompt, more)
  return self.d:submit(chat_lab.thread(thread), chat_lab.message(name, prompt, more))
end

--- Lets everything happen that waits for nothing but its turn: steps in plain Lua, lets the other tasks run in a task.
function methods:settle()
  repeat
    local n = #self.log
    for _ = 1, 4 do
      if wait.suspends() then wait.park({}, 0) else self.d:step() end
    end
  until #self.log == n
end

--- Ends the running turn that began first, with an outcome: "ok" (default), "fail", "raise".
function methods:finish(outcome)
  local turn = table.remove(self.turns, 1)
  turn.outcome = outcome or "ok"
  wait.wake(turn)
  self:settle()
  return turn
end

--- The log so far, which is then empty.
function methods:words()
  local words = table.concat(self.log, " ")
  self.log = {}
  return words
end

local function note(self, ...)
  self.log[#self.log + 1] = table.concat({ ... }, ":")
end

local function new_target(self)
  return {
    run_turn = function(_, key, blocks, ctx)
      local turn = { key = key, blocks = blocks, ctx = ctx }
      self.turns[#self.turns + 1] = turn
      note(self, "turn", prompts(ctx.messages))
      while not turn.outcome and not (self.obeys and ctx.cancelled()) do pause(turn) end
      if not turn.outcome then
        for i, one in ipairs(self.turns) do
          if one == turn then table.remove(self.turns, i) end
        end
      end
      note(self, "end", prompts(ctx.messages))
      if turn.outcome == "ok" then return "answer" end
      if turn.outcome == "raise" then error("out of tea", 0) end
      return nil, koine.errors.new { kind = turn.outcome and "server" or "cancelled", message = "it failed" }
    end,
    cancel = function(_, key)
      note(self, "cancel", key)
      for _, turn in ipairs(self.turns) do
        if turn.key == key then wait.wake(turn) end
      end
    end,
    reset = function(_, key) note(self, "reset", key) end,
  }
end

--- A lab whose dispatcher has these options over its own. Fields: d, turns (those that run, oldest first), records,
-- warnings (the details of each), target, now (milliseconds), log, obeys (true: turns end when they are cancelled).
function chat_lab.new(options)
  local self = setmetatable({ log = {}, turns = {}, records = {}, warnings = {}, now = 0, obeys = true }, methods)
  local given = { mode = "per-thread", target = new_target(self), now_ms = function() return self.now end,
    on_queued = function(message) note(self, "queued", message.prompt) end,
    on_done = function(message, _, result) note(self, "done", message.prompt, result) end,
    on_error = function(message, _, err) note(self, "error", message.prompt, err.kind) end,
    on_warning = function(text, _, details)
      self.warnings[#self.warnings + 1] = details
      note(self, "warning", text)
    end,
    on_dispatch = function(record)
      self.records[#self.records + 1] = record
      note(self, "record", record.outcome)
    end }
  for name, value in pairs(options or {}) do given[name] = value end
  self.target = given.target
  self.d = koine.dispatcher(given)
  return self
end

--- The texts of blocks, envelopes as "<sender's name>".
function chat_lab.texts(blocks)
  local texts = {}
  for i, block in ipairs(blocks) do
    local name = (block.text or ""):match '^<sender_context>.*"sender_name":"([^"]*)"'
    texts[i] = name and "<" .. name .. ">" or block.text or block.type
  end
  return table.concat(texts, " ")
end

return chat_lab
