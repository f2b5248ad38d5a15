--- The reference engine: a store in the memory of one Lua state. For tests, and for programs of one process that lose
-- nothing they need when they end.

local check = require "koine.data.check"
local embedded = require "koine.store.embedded"
local errors = require "koine.data.errors"
local interface = require "koine.store.interface"
local states = require "koine.store.state"
local wait = require "koine.task.wait"
local watchers = require "koine.store.watchers"

local engine = {}
local Memory = { __index = engine, __name = "koine.store.memory" }

-- Operations of the state that take the time behind their arguments → how many of their results are for users.
local RESULTS = { get = 2, put = 2, delete = 1, list = 2, lease = 2, release = 1, take = 1, push = 1, ack = 1,
  unclaim = 1 }

-- Tells those who watch, and returns so many of the results. Takes no memory for these: the change is made.
local function told(self, count, first, second)
  self.watchers:tell()
  if count == 1 then return first end
  return first, second
end

-- A finalizer may call the store in the middle of an operation, which is not to be entered a second time: nil, err.
local function inside()
  return nil, errors.new { kind = "timeout", code = "lock", retryable = false,
    message = "store: called during an operation, for example by a finalizer; nothing was changed" }
end

-- Runs the operation of the state alone: its first two results.
local function change(self, name, now, ...)
  local done <close> = self.state.over -- luacheck: ignore done
  self.state.busy = true
  if name == "put" and self.state.values:is_dusty() then self.state.values:sweep(now) end
  local arguments = table.pack(...)
  arguments[arguments.n + 1] = now
  local first, second = self.state[name](self.state, table.unpack(arguments, 1, arguments.n + 1))
  return first, second
end

for name, count in pairs(RESULTS) do
  engine[name] = function(self, ...)
    local now = self.clock()
    if self.state.busy then return inside() end
    return told(self, count, change(self, name, now, ...))
  end
end

function engine:claim(owner, ttl, options)
  local now = self.clock()
  if self.state.busy then return inside() end
  local done <close> = self.state.over -- luacheck: ignore done
  self.state.busy = true
  local queue, items = self.state:offer(options.queues, now)
  if not queue then return nil end
  return queue, self.state:grant(queue, items, owner, ttl, now), items
end

function engine:watch(prefix, seconds) return self.watchers:wait(prefix, seconds, self) end

engine.close, engine.describe = embedded.close, embedded.describe("memory", "memory", "process")

-- Another handle onto the same store, which is closed alone.
local function handle(clock, given, state, watching)
  return setmetatable({ clock = clock, given = given, state = state, watchers = watching, open = true }, Memory)
end

local SAME = check.that("store in memory", function(value)
  local made = interface.engine_of(value)
  if getmetatable(made) == Memory then return made end
end)

local OPTIONS = check.options { clock = check.func, same_as = SAME }

--- Makes a store in memory: {clock = function() → seconds (nil: the monotonic clock), same_as = a store in memory,
-- whose contents and clock this one shares: a second machine, in tests}. Raises an ArgumentError.
return function(given)
  local kept = OPTIONS(given == nil and {} or given)
  local first = kept.same_as
  if first then
    if kept.clock then check.refuse("clock", "nothing beside same_as", kept.clock) end
    return interface.new(handle(first.clock, first.given, first.state, first.watchers))
  end
  local watching = watchers.new()
  local state = states.new(function(name) watching:note(name) end)
  state.busy, state.over = false, setmetatable({}, { __close = function() state.busy = false end })
  return interface.new(handle(kept.clock or wait.now, kept.clock ~= nil, state, watching))
end
