--- The tasks of a process that plays threads of a store: one claims, one hears of what is new in queues, one of
-- commands; and one for each claim.

local claims = require "koine.dispatch.shared.claim"
local commands = require "koine.dispatch.shared.commands"
local defer = require "koine.task.defer"
local item = require "koine.dispatch.shared.item"
local play = require "koine.dispatch.shared.play"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local workers = {}

--- Seconds between two looks at the store, whatever it says.
workers.POLL = 1

local POLL = workers.POLL
local PAUSE, PAUSE_MAX = 0.05, 1 -- seconds after a failure of the store

--- Has the worker that claims look again.
function workers.look_again(self)
  self.news = true
  wait.wake(self.claimer)
end

-- Notes a failure of the store, and waits a while: longer each time.
local function stumble(self, err, pause)
  self.store_errors, self.store_error = self.store_errors + 1, err
  wait.sleep(pause)
  return math.min(2 * pause, PAUSE_MAX)
end

--- Claims a thread: the claim, nil when none is ready, or nil, err. Each claim is another owner for the store: one that
-- was lost must not renew, or give back, what this process has claimed since then.
function workers.claim(self)
  self.claimed = self.claimed + 1
  local owner, at = ("%s#%d"):format(self.owner, self.claimed), wait.now()
  local name, fence, items = self.store:claim(owner, self.ttl, { queues = self.prefix })
  if not name then return nil, fence end
  return { queue = name, fence = fence, owner = owner, items = items, at = at }
end

--- Works on a claim.
function workers.pump(self, claim)
  local gone <close> = defer(function() -- luacheck: ignore gone
    self.pumps = self.pumps - 1
    workers.look_again(self)
    wait.wake(self.ended)
    wait.wake(self)
  end)
  self.pumps = self.pumps + 1
  wait.wake(self.commander)
  claims.run(self, claim)
end

-- Claims a thread and has it worked on: true, nil when none is ready, or nil, err. Until that has begun, and counts
-- itself, the process may not end: the store would hold the thread for one that is gone.
local function begin(self)
  local asked <close> = defer(function() -- luacheck: ignore asked
    self.asking = false
    wait.wake(self.ended)
    wait.wake(self)
  end)
  self.asking = true
  local claim, err = workers.claim(self)
  if not claim then return nil, err end
  scheduler.spawn(workers.pump, self, claim)
  wait.park(claim, 0)
  return true
end

--- The worker that claims threads while there is room for them.
function workers.claim_all(self)
  local pause = PAUSE
  while not self.closing do
    self.news = false
    if self.pumps < self.max_threads then
      local begun, err = begin(self)
      if begun then
        self.news, pause = true, PAUSE
      elseif err then
        pause = stumble(self, err, pause)
      end
    end
    if not self.news or self.pumps >= self.max_threads then wait.park(self.claimer, POLL) end
  end
end

--- The worker that hears of what is new in queues.
function workers.watch(self)
  local pause = PAUSE
  while not self.closing do
    local news, err = self.store:watch(self.prefix, POLL)
    if news then workers.look_again(self) end
    pause = news == nil and stumble(self, err, pause) or PAUSE
  end
end

-- Cancels the turn of a claim if commands that came since say so.
local function obey(self, claim)
  local turn = claim.turn
  if not turn or turn.returned or turn.cancelled_at then return end
  local read = commands.read(self, claim.queue)
  if not read or claim.turn ~= turn or turn.returned then return end
  if commands.means(read, claim.orders.cancel, turn.batch[1].seq) then play.cancel(self, turn) end
end

--- The worker that hears of commands, while there are turns.
function workers.command(self)
  local pause, prefix = PAUSE, item.commands(self.prefix)
  while true do
    while next(self.claims) == nil do wait.park(self.commander) end
    local news, err = self.store:watch(prefix, POLL)
    pause = news == nil and stumble(self, err, pause) or PAUSE
    local held = {}
    for _, claim in next, self.claims do held[#held + 1] = claim end
    for _, claim in ipairs(held) do obey(self, claim) end
  end
end

--- Starts workers, which end when what it returns is closed.
function workers.start(self, ...)
  local tasks = {}
  local held = defer(function()
    for _, task in ipairs(tasks) do task:dismiss() end
  end)
  for i, worker in ipairs { ... } do tasks[i] = scheduler.spawn(worker, self) end
  return held
end

return workers
