--- A dispatcher on a store: the same turns as koine.dispatcher's, by any number of processes on any number of machines,
-- and messages that outlive each of them.
--
--   local d = koine.dispatcher.shared { store = store, target = koine.dispatcher.agents(new_agent),
--     on_done = function(message, thread, result) platform:reply(thread, result.text) end }
--   local thread = { platform = "slack", thread_id = "T1" }
--   assert(d:submit(thread, { sender = sender, prompt = "Hello" }, { id = event_id }))
--   koine.run(function() d:run() end)        -- in as many processes as there are
--
-- A thread is a queue of the store, with the session's key as its name. Whoever claims it holds the whole thread by a
-- lease: plays one batch, puts the history, acknowledges the batch, and gives the thread back to its place behind the
-- others. What a crash does at each point is in docs/scaling.md.

local check = require "koine.data.check"
local commands = require "koine.dispatch.shared.commands"
local core = require "koine.core"
local coroutines = require "koine.dispatch.coroutines"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local getenv = require "koine.data.host.getenv"
local hooks = require "koine.dispatch.hooks"
local interface = require "koine.store.interface"
local item = require "koine.dispatch.shared.item"
local observe = require "koine.dispatch.observe"
local play = require "koine.dispatch.shared.play"
local queue = require "koine.task.queue"
local scheduler = require "koine.task.scheduler"
local settings = require "koine.dispatch.settings"
local threads = require "koine.dispatch.threads"
local wait = require "koine.task.wait"
local workers = require "koine.dispatch.shared.workers"

local shared = {}

local methods = {}
local metatable = { __index = methods, __name = "koine.dispatcher.shared" }

-- Public methods ----------------------------------------------------------------------------------------------------

local SUBMIT = check.options { id = check.nonempty }

local function closed()
  return errors.new { kind = "other", code = "closed", message = "dispatcher: it was shut down" }
end

--- Hands in a message that arrived: true once the store has it, or nil, err: the store's error, or code "closed" after
-- shutdown; then it may be handed in again. `thread` and `message` as for koine.dispatcher: values that JSON has, since
-- hooks and target of another process get them. `options` is {id = the platform's name of the message: a second message
-- of that id is the first one, for a day}. Never waits for room: a queue takes what comes. Raises an ArgumentError
-- naming the bad field.
function methods:submit(thread, message, options)
  settings.check_thread(thread)
  local kept, name = SUBMIT(options == nil and {} or options), item.queue(self.prefix, thread)
  settings.event(self, thread, message)
  local text = item.encode(thread, message)
  if self.closing then return nil, closed() end
  local seq, err = self.store:push(name, text, { id = kept.id })
  if not seq then return nil, err end
  if self.observer then observe.queued(self, threads.key(thread)) end
  workers.look_again(self)
  return true
end

local function check_target(self, method)
  if not self.target then core.raise_argument("target", "a target for " .. method, "none") end
end

--- Plays the turns of threads that are ready, at most max_threads at once, until shutdown and the end of the last
-- turn: true. Outside of koine.run it starts one, which blocks in plain Lua and runs beside others in a host's loop.
-- Raises an ArgumentError without a target, and while another run of this dispatcher is under way.
function methods:run()
  check_target(self, "run")
  if not coroutines.in_task() then return scheduler.run(methods.run, self) end
  if self.runs then core.raise_argument("run", "one run of a dispatcher at a time", "a second one") end
  self.runs = true
  local idle <close> = defer(function() self.runs = false end) -- luacheck: ignore idle
  local held <close> = workers.start(self, workers.claim_all, workers.watch, workers.command) -- luacheck: ignore held
  repeat
    play.tell(self)
    local over = self.closing and self.pumps == 0 and not self.asking
    if not over then wait.park(self) end
  until over
  return true
end

--- Claims one thread and plays one batch of it, if one is ready: true; false when none is; nil, err. Once it has been
-- shut down: false. Without koine.run it starts one. Raises an ArgumentError without a target.
function methods:step()
  check_target(self, "step")
  if not coroutines.in_task() then return scheduler.run(methods.step, self) end
  if self.closing then return false end
  local claim, err = workers.claim(self)
  if err then return nil, err end
  if not claim then return false end
  local held <close> = workers.start(self, workers.command) -- luacheck: ignore held
  workers.pump(self, claim)
  play.tell(self)
  return true
end

-- Writes a command for whoever plays the thread.
local function order(self, thread, give, ...)
  settings.check_thread(thread)
  return give(self, item.queue(self.prefix, thread), ...)
end

--- Has the turn that runs in the thread cancelled, whoever plays it: true once the store has that, or nil, err. Without
-- a turn it does nothing. What waits comes next.
function methods:cancel_turn(thread) return order(self, thread, commands.cancel) end

--- Has all messages dropped that wait in the thread by now, and the turn of earlier ones cancelled: true once the store
-- has that, or nil, err. Whoever claims the thread next drops them, and tells on_error of each (kind "cancelled"). The
-- history stays.
function methods:cancel_all(thread) return order(self, thread, commands.drop, thread, "cancel_all") end

--- cancel_all, and the history is forgotten with it.
function methods:reset(thread) return order(self, thread, commands.drop, thread, "reset") end

-- Ends the turns that still run without an effect.
local function withdraw_all(self)
  for _, claim in next, self.claims do
    if claim.turn and not claim.turn.returned then play.withdraw(self, claim.turn, "given_back") end
  end
end

--- Refuses further messages, claims no more threads, gives the turns under way `seconds` (nil: none) to end, cancels
-- the others and gives their threads back, for other processes to play them again. Waits for all this in a task;
-- elsewhere the turns are cancelled at once, and it does not wait. Returns what was given back so far: an array of
-- {thread_id, channel, adapter, messages = how many}. Not for a turn to call: it would wait for itself, until it is
-- closed. Raises an ArgumentError for other seconds.
function methods:shutdown(seconds)
  if seconds ~= nil then check.seconds(seconds, "seconds") end
  self.closing = self.closing or wait.now() + (seconds or 0)
  wait.wake(self.claimer)
  wait.wake(self)
  if not coroutines.in_task() then
    self.closing = math.min(self.closing, wait.now())
    withdraw_all(self)
    return self.returned
  end
  while self.pumps > 0 or self.asking do
    local left = self.closing - wait.now()
    if left <= 0 then withdraw_all(self) end
    wait.park(self.ended, left > 0 and left or workers.POLL)
  end
  return self.returned
end

local COUNTS = { "turns", "dispatches", "lost", "given_back", "untold", "dropped", "dead", "failures", "hook_errors",
  "store_errors" }

--- Counts of this process: {threads = those that it holds, turns = those that run, hooks = calls of hooks that wait or
-- are under way, dispatches = turns so far, lost = those whose thread was another's by their end, given_back = those
-- that shutdown ended, untold = messages whose outcome an earlier process did not tell, dropped, dead = messages that
-- commands dropped, that were put aside; failures = claims in which Koine's own code raised, failure = what was raised
-- last; hook_errors = calls of hooks that raised, hook_error = what the last of them raised; store_errors = failures
-- of the store after which it is asked again, store_error = the last failure of the store}.
function methods:stats()
  local stats = { threads = self.pumps, hooks = 0, failure = self.failure, hook_error = self.hook_error,
    store_error = self.store_error }
  for _, name in ipairs(COUNTS) do stats[name] = self[name] end
  for _, thread in ipairs(threads.list(self.threads)) do stats.hooks = stats.hooks + hooks.count(thread) end
  return stats
end

check.colons(methods, metatable, "dispatcher")

-- Construction ------------------------------------------------------------------------------------------------------

-- A name that no other process has.
local function new_owner()
  return (getenv "HOSTNAME" or "koine") .. ":" .. core.random_hex(8)
end

local OWNER = check.that("string of 1 to 400 bytes without NUL", function(value)
  local fits = type(value) == "string" and value ~= "" and #value <= 400 and not value:find("\0", 1, true)
  return fits and value or nil
end)

-- The colon at the end, and no other one, keeps a prefix from being the beginning of another. The names of dead letters
-- begin with "dead:".
local PREFIX = check.that('string of at most 99 bytes, no NUL, no colon but at its end, not "dead"', function(value)
  local name = type(value) == "string" and value:match "^([^:\0]+):?$"
  if name and #name <= 99 and name ~= "dead" then return name .. ":" end
end)

local NO_LANES = check.that("nothing (a shared dispatcher keeps no idle lanes)", function() return nil end)

local COUNT = check.integer(1)
local construct = settings.constructor_with { store = check.required(interface.store), target = settings.target,
  owner = check.default(OWNER, new_owner), prefix = check.default(PREFIX, "dispatch:"),
  ttl = check.default(check.time_limit, 60), max_threads = check.default(COUNT, 16),
  max_tries = check.default(COUNT, 3), store_timeout = check.default(check.seconds, 60), idle_timeout = NO_LANES }

--- koine.dispatcher.shared(options): a dispatcher on a store. `options` are those of koine.dispatcher, without
-- idle_timeout, and
--   store        required: an engine of koine.store
--   target       as for koine.dispatcher; a process that only submits needs none. Its ctx has besides:
--                  history   the text that an earlier turn of the thread kept, nil for none
--                  keep(history)  what the store shall keep (string; nil: nothing) when this turn ends, in whatever
--                            way; without a call what it has
--                  tries     1; more where an earlier process began a turn of these messages and did not end it: tools
--                            may have had their effects
--                  lease     {key, fence, owner}: for tools that can refuse a machine which was away too long
--   owner        this process's name; another one in each (nil: made of the host's name and a random number). Its
--                claims are numbered: in the store their owners are owner#1, owner#2 and so on
--   prefix       "dispatch:": begins the names of this dispatcher's queues in the store. Without a colon at its end it
--                gets one; it has no other one, and is not "dead"
--   ttl          seconds, 60: how long the threads of a process that died stay with it
--   max_threads  16: how many threads this process plays at once
--   max_tries    3: turns that are begun for a message; then it is a dead letter
--   store_timeout   seconds, 60: how long the end of a turn is tried to be stored while the engine is away
-- Its hooks get tables of their own, and on_dispatch the outcomes "lost" (another process has the thread) and
-- "given_back" (shutdown) besides, for which no other hook is called. Raises an ArgumentError naming the bad field.
function shared.new(options)
  local self = construct(options)
  self.threads, self.due, self.launched, self.running, self.claims = {}, queue.line(), {}, {}, {}
  self.claimed, self.trouble, self.pumps = 0, 0, 0
  self.closing, self.runs, self.asking, self.news = false, false, false, false
  self.failure, self.store_error = nil, nil
  self.returned, self.claimer, self.commander, self.ended = {}, {}, {}, {}
  for _, name in ipairs(COUNTS) do self[name] = 0 end
  return setmetatable(self, metatable)
end

return shared
