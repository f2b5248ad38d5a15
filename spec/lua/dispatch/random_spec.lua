-- The dispatcher under random schedules, each from a fixed seed: submits into several threads and lanes, turns that
-- succeed, fail, raise or are cancelled, sessions that cannot be had, cancel_all, sweeps, a shutdown at the end.
-- A model beside it knows what must have become of every message.

local generator = require "spec.support.generator"
local koine = require "koine"
local wait = require "koine.task.wait"

local SEEDS, ACTIONS = 1000, 30
local MODES = { "per-message", "per-thread", "per-lane" }
local THREADS, SENDERS = { "T1", "T1:Ua", "T2" }, { "Ua", "Ub", "Ub:c" }

local methods = {}
methods.__index = methods

-- Keeps the first violation, with what is needed to see it again: what a turn raises does not get far.
function methods:check(holds, what)
  if not holds then self.broken = self.broken or ("seed %d, %s: %s"):format(self.seed, self.driver, what) end
end

-- I3: the blocks are exactly those of the messages, one after the other.
local function check_blocks(self, blocks, messages)
  local expected = {}
  for _, message in ipairs(messages) do
    expected[#expected + 1] = koine.packing.envelope(message)
    for _, extra in ipairs(message.extras) do
      if extra.type == "text" then expected[#expected + 1] = extra.text end
    end
    if message.prompt ~= "" then expected[#expected + 1] = message.prompt end
    for _, extra in ipairs(message.extras) do
      if extra.type ~= "text" then expected[#expected + 1] = extra end
    end
  end
  self:check(#blocks == #expected, "I3: number of blocks")
  for i, block in ipairs(blocks) do
    self:check(block == expected[i] or block.text == expected[i], "I3: block " .. i)
  end
end

-- The work of a turn until an action settles it.
local function run_turn(self, key, blocks, ctx)
  self:check(not self.running[key], "I2: two turns at once in " .. key)
  local turn = { key = key, messages = ctx.messages, obeys = self.random(2) == 1, ctx = ctx }
  self.running[key] = turn
  self.started = self.started + 1
  check_blocks(self, blocks, ctx.messages)
  for _, message in ipairs(ctx.messages) do
    self:check(message.state == "waiting", "dispatched though " .. message.state)
    message.state = "dispatched"
    local lane = message.lane
    self:check((self.latest[lane] or 0) < message.id, "order in " .. lane)
    self.latest[lane] = message.id
  end
  while not turn.outcome and not (turn.obeys and ctx.cancelled()) do
    if self.driver == "tasks" then wait.park(turn) else coroutine.yield() end
  end
  self.running[key] = nil
  if turn.outcome == "ok" then return true end
  if turn.outcome == "raise" then error "raised" end
  return nil, "failed"
end

-- Fails now and then, and with it the whole batch.
local function ensure_session(self, ctx)
  if self.random(12) > 1 then return true end
  self.started = self.started + 1
  for _, message in ipairs(ctx.messages) do
    self:check(message.state == "waiting", "dispatched though " .. message.state)
    message.state = "dispatched"
  end
  return nil, "no session"
end

local function new(seed, driver, tally)
  local self = setmetatable({ seed = seed, driver = driver, random = generator(seed), running = {}, started = 0,
    records = 0, latest = {}, messages = {} }, methods)
  local random = self.random
  self.d = koine.dispatcher { mode = MODES[random(3)], max_buffered_messages = random(4),
    max_batch_tokens = 60 * random(8), count_envelope = random(2) == 1, idle_timeout = 0,
    now_ms = function() return 0 end,
    on_dispatch = function(record)
      self.records = self.records + 1
      tally[record.outcome] = (tally[record.outcome] or 0) + 1
      if record.events_per_dispatch > 1 then tally.batches = tally.batches + 1 end
      self:check(record.events_per_dispatch == #record.wait_ms, "record")
    end,
    target = { run_turn = function(_, ...) return run_turn(self, ...) end,
      ensure_session = function(_, _, ctx) return ensure_session(self, ctx) end,
      cancel = function(_, key) if self.running[key] then wait.wake(self.running[key]) end end } }
  return self
end

local function address(id) return { platform = "chat", thread_id = id } end

-- Hands in another message; in tasks, the submit may wait.
local function submit(self)
  local random, id = self.random, #self.messages + 1
  local thread, sender = THREADS[random(#THREADS)], SENDERS[random(#SENDERS)]
  local message = { id = id, thread = thread, state = "waiting", prompt = ("x"):rep(random(200) - 1), extras = {},
    lane = self.d.mode == "per-lane" and thread .. "\0" .. sender or thread, other_bot_present = random(2) == 1,
    sender = { sender_id = sender, sender_name = "n", display_name = "d", channel = "chat", channel_id = "C",
      is_bot = false, n = id } }
  for i = 1, random(3) - 1 do
    message.extras[i] = random(2) == 1 and { type = "text", text = "voice " .. id }
      or { type = "image", media_type = "image/png", source = "aW1n" }
  end
  self.messages[id] = message
  local function hand_in()
    local accepted, why = self.d:submit(address(thread), message)
    if accepted then return end
    if why == "full" or why == "closed" then message.state = "refused" end
    self:check(message.state ~= "waiting", "nil, " .. why .. " for a message that waits")
  end
  if self.driver == "tasks" then koine.spawn(hand_in) else hand_in() end
end

-- Lets everything happen that waits for no action.
local function settle(self)
  for _ = 1, 12 do
    if self.driver == "tasks" then wait.park({}, 0) else self.d:step() end
  end
end

-- The messages of a thread that are in that state.
local function in_state(self, thread, state)
  local list = {}
  for _, message in ipairs(self.messages) do
    if message.state == state and (not thread or message.thread == thread) then list[#list + 1] = message end
  end
  return list
end

local function running_turn(self)
  local keys = {}
  for key in pairs(self.running) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys[1] and self.running[keys[self.random(#keys)]]
end

local function cancel_all(self)
  local thread = THREADS[self.random(#THREADS)]
  local waiting, turn = in_state(self, thread, "waiting"), self.running["chat:" .. thread]
  for _, message in ipairs(waiting) do message.state = "dropped" end
  local counts = self.d:cancel_all(address(thread))
  self:check(counts.dropped == #waiting, "dropped: the count")
  self:check(counts.in_flight == (turn and #turn.messages or 0), "in flight: the count")
end

local function finish(self)
  local turn = running_turn(self)
  if not turn then return end
  turn.outcome = ({ "ok", "ok", "fail", "raise" })[self.random(4)]
  wait.wake(turn)
end

local function act(self)
  local choice = self.random(20)
  if choice <= 9 then return submit(self) end
  if choice <= 15 then return finish(self) end
  if choice <= 17 then return self.d:cancel_turn(address(THREADS[self.random(#THREADS)])) end
  if choice == 18 then
    settle(self)
    return cancel_all(self)
  end
  if choice == 19 then return self.d:sweep() end
  self.d:step()
end

-- I1: where something waits, a turn is under way, at a clock that stands still.
local function check_busy(self)
  for _, thread in ipairs(THREADS) do
    local waiting = in_state(self, thread, "waiting")
    self:check(#waiting == 0 or self.running["chat:" .. thread], "I1: nothing runs in " .. thread)
  end
end

local function finish_all(self)
  while running_turn(self) do
    finish(self)
    settle(self)
  end
end

local function play(self, tally)
  for _ = 1, ACTIONS do
    act(self)
    if self.random(3) == 1 then
      settle(self)
      check_busy(self)
    end
  end
  settle(self)
  if self.random(2) == 1 then
    finish_all(self)
    self:check(#in_state(self, nil, "waiting") == 0, "lost: still waiting")
  end
  local waiting, lost, parked = in_state(self, nil, "waiting"), 0, self.d:stats().parked
  for _, message in ipairs(waiting) do message.state = "dropped" end
  tally.parked = tally.parked + parked
  for _, warning in ipairs(self.d:shutdown()) do lost = lost + warning.buffered_lost end
  self:check(lost + parked == #waiting, "shutdown: the count")
  finish_all(self)
  self:check(next(self.running) == nil and self.d:stats().turns == 0, "a turn has not ended")
  self:check(self.records == self.started and self.started == self.d:stats().dispatches, "one record for each turn")
  self:check(self.d:stats().hook_errors == 0, "hook errors")
  if self.broken then error(self.broken, 0) end
end

-- The schedules must have come to all there is.
local function check_tally(tally)
  for _, what in ipairs { "ok", "error", "cancelled", "session_error", "batches" } do
    assert.is_true(tally[what] > SEEDS // 10, what .. " hardly ever happened")
  end
end

describe("random schedules", function()
  it("59: keep I1, I2, I3, order and every message, stepped in plain Lua", function()
    local tally = { batches = 0, parked = 0 }
    for seed = 1, SEEDS do play(new(seed, "steps", tally), tally) end
    check_tally(tally)
  end)

  it("59: keep I1, I2, I3, order and every message, with submitters that wait, in koine.run", function()
    local tally = { batches = 0, parked = 0 }
    for seed = 1, SEEDS do
      local self = new(seed, "tasks", tally)
      koine.run(function()
        koine.spawn(self.d.run, self.d)
        play(self, tally)
      end)
    end
    check_tally(tally)
    assert.is_true(tally.parked > SEEDS // 10)
  end)
end)
