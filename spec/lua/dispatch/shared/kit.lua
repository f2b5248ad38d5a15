--- Several machines on one store in memory: each with a dispatcher, a handle of its own onto the store and a log of
-- words. The store's clock stands still until it is moved; operations can be stopped, failed and counted.

local chat_lab = require "spec.lua.dispatch.kit"
local koine = require "koine"
local luassert = require "luassert"
local wait = require "koine.task.wait"

local kit = { message = chat_lab.message, thread = chat_lab.thread, texts = chat_lab.texts }

local lab = {}
lab.__index = lab

--- A lab with an empty store. Fields: time (seconds of the store's clock), store (a handle), log.
function kit.lab()
  local self = setmetatable({ time = 1000, log = {} }, lab)
  self.store = koine.store.memory { clock = function() return self.time end }
  return self
end

--- The log so far, which is then empty.
function lab:words()
  local words = table.concat(self.log, " ")
  self.log = {}
  return words
end

--- A lab, and its machines A and B.
function kit.pair()
  local self = kit.lab()
  return self, self:machine "A", self:machine "B"
end

local machine = {}
machine.__index = machine

-- A handle onto the store whose operations go through machine.before[name] and machine.after[name] (functions of the
-- machine, the operation's name and its arguments; results in place of the operation's own where they return any).
local function handle(self)
  local store = koine.store.memory { same_as = self.lab.store }
  return setmetatable({}, { __index = function(_, name)
    return function(_, ...)
      self.operations = self.operations + 1
      self.counts[name] = (self.counts[name] or 0) + 1
      local before, after = self.before[name] or self.before.any, self.after[name] or self.after.any
      local given = before and table.pack(before(self, name, ...))
      if given and given.n > 0 then return table.unpack(given, 1, given.n) end
      local results = table.pack(store[name](store, ...))
      if after then after(self, name, ...) end
      return table.unpack(results, 1, results.n)
    end
  end })
end

local function prompts(messages)
  local words = {}
  for i, message in ipairs(messages) do words[i] = message.prompt end
  return table.concat(words, "+")
end

-- A target that logs its turns, and keeps them all as the history; a turn waits while lab.hold is set, and fails where
-- a prompt is "fail".
local function target(self)
  local log = self.lab.log
  return {
    run_turn = function(_, key, blocks, ctx)
      log = self.lab.log
      local words = prompts(ctx.messages)
      log[#log + 1] = ("%s:%s%s"):format(self.name, words, ctx.tries > 1 and "(" .. ctx.tries .. ")" or "")
      self.turn = { key = key, blocks = blocks, ctx = ctx }
      while self.lab.hold and not (self.obeys and ctx.cancelled()) do wait.park(self.lab) end
      if ctx.cancelled() then return nil, koine.errors.new { kind = "cancelled", message = "cancelled" } end
      ctx.keep((ctx.history or "") .. "<" .. words .. ">")
      if words:find "fail" then return nil, "it failed" end
      return words
    end,
    cancel = function() wait.wake(self.lab) end,
    reset = function(_, key) table.insert(self.lab.log, "reset:" .. key) end,
  }
end

--- A machine of that name: these options of its dispatcher go over the usual ones, per-thread and hooks that log. It
-- has d, store, before, after (by operation, or `any`), counts, operations, errors, warnings, records, turn (the last
-- one that began), obeys (true: its turns end when they are cancelled).
function lab:machine(name, options)
  local it = setmetatable({ lab = self, name = name, before = {}, after = {}, counts = {}, operations = 0, errors = {},
    warnings = {}, records = {}, obeys = true }, machine)
  local function note(...) self.log[#self.log + 1] = table.concat({ ... }, ":") end
  it.store = handle(it)
  local given = { store = it.store, owner = name, mode = "per-thread", target = target(it),
    on_done = function(message) note(name, "done", message.prompt) end,
    on_error = function(message, _, err)
      it.errors[#it.errors + 1] = err
      note(name, "error", message.prompt, err.kind)
    end,
    on_warning = function(text, _, details)
      it.warnings[#it.warnings + 1] = { text = text, err = details.err }
      note(name, "warning")
    end,
    on_dispatch = function(record)
      it.records[#it.records + 1] = record
      note(name, record.outcome)
    end }
  for option, value in pairs(options or {}) do given[option] = value end
  it.d = koine.dispatcher.shared(given)
  return it
end

--- Hands in a message: what submit returns.
function machine:say(thread, name, prompt, id)
  return self.d:submit(kit.thread(thread), kit.message(name, prompt), id and { id = id })
end

--- Plays what is ready: how many turns or other things there were.
function machine:drain()
  local n = 0
  while true do
    local more, err = self.d:step()
    assert(not err, tostring(err))
    if not more then return n end
    n = n + 1
  end
end

--- Begins to run, in a process of its own: `crash` ends it.
function machine:start()
  self.task = koine.spawn(function() koine.run(function() self.d:run() end) end)
end

--- The same, with turns that wait until lab.hold is unset; returns when the first one waits.
function machine:start_held()
  self.lab.hold = true
  self:start()
  self.lab:settle()
end

--- Ends the process: nothing of it is done any more.
function machine:crash() self.task:cancel() end

--- Lets everything happen that waits for nothing but a turn: no time passes.
function lab:settle()
  repeat
    local n = #self.log
    for _ = 1, 30 do wait.park({}, 0) end
  until #self.log == n
end

--- Waits until what happened is these words: for what needs time to pass. Asserts it after ten seconds.
function lab:await(words)
  local latest = wait.now() + 10
  while table.concat(self.log, " ") ~= words and wait.now() < latest do koine.sleep(0.002) end
  luassert.are.equal(words, self:words())
end

--- Lets the turns that wait go on.
function lab:go()
  self.hold = false
  wait.wake(self)
  self:settle()
end

--- An operation that never comes back: for machine.before and machine.after.
function kit.hang()
  while true do wait.park {} end
end

--- An operation that fails n times, nil: always: for machine.before.
function kit.fail(n)
  return function()
    if n == 0 then return end
    n = n and n - 1
    return nil, koine.errors.new { kind = "connect", message = "the engine is away" }
  end
end

--- How many items the queue of a thread has, and how many are dead letters.
function lab:left(thread, dead)
  local prefix = (dead and "dead:" or "") .. "dispatch:slack:" .. thread
  local queue, fence, items = self.store:claim("judge", 1e6, { queues = prefix })
  if not queue then return 0 end
  self.store:unclaim(queue, "judge", fence)
  return #items, items
end

--- The text that is kept of a thread.
function lab:history(thread)
  local value = self.store:get("h:dispatch:slack:" .. thread)
  return value and value:match "\n(.*)$"
end

return kit
