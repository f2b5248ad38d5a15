--- Keepers: runs of agents that are kept in a store, so that any process can take one up where another one died.
--
--   local keeper <close> = koine.agent.keeper { store = store, key = "runs/42" }
--   local run = keeper:take(agent) or assert(keeper:start(agent, "Count the sheep."))
--   local result = assert(run:result())
--
-- One process has a run at a time: the one with the lease on its key. The run is saved there whenever its state
-- changes, also before a tool runs; a tool whose call was saved as started is never run again, by anybody. A run whose
-- lease is lost is cancelled at once, and begins no tool from then on.

local arguments = require "koine.store.check"
local check = require "koine.data.check"
local core = require "koine.core"
local defer = require "koine.task.defer"
local holds = require "koine.agent.hold"
local runs = require "koine.agent.run"
local store = require "koine.store.interface"

local TTL, TIMEOUT = 60, 60 -- seconds

local methods = {}
local keeper_mt = { __index = methods, __name = "koine.agent.keeper" }

-- A name that no other keeper has, in any process.
local function own_name()
  return ("%x.%s"):format(math.floor(core.wall() * 1e6), core.random_hex(8))
end

local OPTIONS = check.options({ store = check.required(store.store), key = check.required(arguments.name),
  owner = check.default(arguments.name, own_name), ttl = check.default(check.time_limit, TTL),
  timeout = check.default(check.seconds, TIMEOUT) }, { path = "keeper" })

local AGENT = check.method("load", "agent")

-- Leases the key: the hold, and a value for <close> that gives it back; or what holds.lease returns.
local function lease(self)
  local hold, left = holds.lease(self)
  if not hold then return hold, left end
  return hold, defer(function() hold:release() end)
end

-- Raises unless the keeper is free.
local function check_free(self)
  if self.hold and not self.hold.lost then
    core.raise_argument("keeper", "a keeper without a run (close it first)", "one that has a run")
  end
end

-- Gives a run to the keeper: the run.
local function keep(self, hold, run)
  runs.keep(run, hold)
  self.hold, self.run = hold, run
  return run
end

--- take(agent, opts): takes up the run that is stored under the key: the run (agent/run.lua), to go on with; false and
-- the seconds that another owner still has it; nothing where none is stored; or nil, err: kind "protocol" when the
-- value is no dump of a run, which stays as it is, else the store's. Arguments as for agent:load; calls that were
-- started are not run again. The same owner takes it up at once. Raises an ArgumentError for other arguments, and while
-- the keeper has a run already.
function methods:take(agent, opts)
  AGENT(agent, "agent")
  check_free(self)
  local hold, undo = lease(self)
  if not hold then return hold, undo end
  local given_back <close> = undo
  local text, version = hold.store:get(hold.key)
  if text == nil then return nil, version end
  local run, err = agent:load(text, opts)
  if not run then
    return nil, holds.failure(hold.key, { kind = "protocol", code = err.code, message = tostring(err) })
  end
  hold.version = version
  given_back:cancel()
  return keep(self, hold, run)
end

--- start(agent, messages, opts): begins a run and stores it: the run; false and the seconds that another owner still
-- has the key; or nil, err: code "exists" where there is a value already, which stays as it is, else the store's.
-- Arguments as for agent:start. Raises an ArgumentError for others, and while the keeper has a run already.
function methods:start(agent, messages, opts)
  AGENT(agent, "agent")
  check_free(self)
  local run = agent:start(messages, opts)
  local hold, undo = lease(self)
  if not hold then return hold, undo end
  local given_back <close> = undo
  local there, err = hold.store:get(hold.key)
  if there ~= nil then
    err = holds.failure(hold.key, { kind = "other", code = "exists",
      message = "the store has a value for it already; take it, or delete it" })
  end
  if err then return nil, err end
  local saved
  saved, err = hold:save(run)
  if not saved then return nil, err end
  given_back:cancel()
  return keep(self, hold, run)
end

--- close(): saves the run and ends the lease, so that others may take it up at once: true; nil, err where it could not
-- be saved: what is stored is then an earlier state, or another owner's. A run that is not over goes on no more in this
-- process, whatever it is doing. Any number of times.
function methods:close()
  local hold, run = self.hold, self.run
  if not hold then return true end
  self.hold, self.run = nil, nil
  if hold.lost then return true end
  runs.leave(run, holds.failure(hold.key, { kind = "cancelled", code = "closed", message = "its keeper was closed" }))
  local saved, err = hold:save(run)
  if not hold.lost then hold:release() end
  if not saved then return nil, err end
  return true
end

check.colons(methods, keeper_mt, "keeper")
keeper_mt.__close = methods.close

--- koine.agent.keeper(given): makes a keeper of a table of
--   store    a store (store/init.lua), required
--   key      the run's key: that of its value and of its lease, required
--   owner    string that no other process has at the same time; absent: one that is made up
--   ttl      seconds after which others may take up the run when this process is gone (60). The lease is renewed every
--            third of it: before each save, and while a model call or a tool waits through Koine
--   timeout  seconds for which a save is tried again while the store cannot be used (60)
-- A save that fails makes run:step return nil, err: the run is whole in memory, no tool was begun, and the next step
-- tries again. Raises an ArgumentError naming the field.
return function(given)
  local kept = OPTIONS(given)
  return setmetatable(kept, keeper_mt)
end
