--- The engine in files: one machine, many processes. A directory (mode 0700) with the journal, which is also the lock
-- (file/journal.lua), and a file for the bytes of each value and item (file/contents.lua), all of mode 0600; links and
-- what others may read are refused. An operation holds the lock (flock) for its short time: it reads what others
-- appended, changes the state in memory (store/state), writes bytes, and appends what changed: that record is what
-- makes it happen. So whatever is killed or fails in between, all of an operation or nothing of it is there.
-- The clock is the machine's; where it is set back, the engine's goes on.

local check = require "koine.data.check"
local contents = require "koine.store.file.contents"
local core = require "koine.core"
local defer = require "koine.task.defer"
local embedded = require "koine.store.embedded"
local interface = require "koine.store.interface"
local journals = require "koine.store.file.journal"
local records = require "koine.store.state.records"
local watchers = require "koine.store.watchers"

local engine = {}
local File = { __index = engine, __name = "koine.store.file" }

local LOCK_TIMEOUT = 30                -- seconds
local FIRST_LOOK, LOOK = 0.005, 0.25   -- seconds between two looks of watch, at first and at most
local GROWTH = 1.5
local ASIDE = 60                       -- seconds before a queue is claimed again whose items cannot be read

local pack = records.pack

-- The removal of a file that is of no use once the journal says so.
local function removal(files, number)
  return function() files:remove(number) end
end

-- Replaces a journal that has grown, after removing the files of which it says that they are of no use: a process that
-- was killed may have left one of them.
local function shorten(self, lock, now)
  local journal = self.journal
  for _, gone in ipairs(journal.state.values:sweep(now)) do self.values:remove(math.tointeger(gone[2])) end
  for _, gone in ipairs(journal.garbage) do (gone[1] == "value" and self.values or self.items):remove(gone[2]) end
  journal:shorten(lock)
end

-- Runs operate(state, now, out) under the lock, on the state as it is now. out(kind, …) adds a record of what changed.
-- operate returns a table of what the operation returns, or nil, err where it failed; and behind the table functions
-- that remove files: those of no use once the change is in the journal, and those it wrote, where that fails. nil:
-- none.
local function locked(self, operate)
  local journal = self.journal
  local lock <close>, err = journal:hold()
  if not lock then return nil, err end
  local over <close> = defer(function() journal.busy = false end) -- luacheck: ignore over
  journal.busy = true
  local done
  done, err = journal:catch_up(lock)
  if not done then return nil, err end
  local unsure <close> = defer(function() journal.state = false end) -- changed, and the journal does not know
  local list, now = {}, journal:now()
  local results, clean, undo = operate(journal.state, now, function(...) list[#list + 1] = pack(...) end)
  if not results then return nil, clean end
  if list[1] then
    done, err = journal:append(lock, list, now)
    if not done then
      if undo then undo() end
      return nil, err
    end
  end
  unsure:cancel()
  if clean then clean() end
  if journal:is_long() then shorten(self, lock, now) end
  return table.unpack(results, 1, results.n)
end

-- The same, and then wakes those who watch what has changed: they may be run at once, and want the lock.
local function transact(self, operate)
  local results = table.pack(locked(self, operate))
  self.watchers:tell()
  return table.unpack(results, 1, results.n)
end

local function lease_record(state, key, out)
  local lease = state.leases.entries[key]
  out("l", key, lease.owner, lease.fence, lease.ends)
end

local function queue_record(state, name, out)
  local queue = state.queues.entries[name]
  if queue and queue.items:peek() then out("q", name, queue.at, queue.claimed or 0) end
end

function engine:get(key)
  return transact(self, function(state, now)
    local size, of = state:get(key, now)
    if not size then return { nil, nil, n = 2 } end
    local value, err = self.values:read(math.tointeger(of), key, size)
    return { value, value and of or err, n = 2 }
  end)
end

function engine:put(key, value, options)
  return transact(self, function(state, now, out)
    local made, current, replaced = state:put(key, #value, options, now)
    if not made then return { false, current, n = 2 } end
    local number = math.tointeger(made)
    local written, err = self.values:write(number, key, value)
    if not written then return nil, err end
    out("v", key, #value, number, options.ttl and now + options.ttl or math.huge)
    return { made, n = 1 }, replaced and removal(self.values, math.tointeger(replaced)), removal(self.values, number)
  end)
end

function engine:delete(key, options)
  return transact(self, function(state, now, out)
    local done, gone = state:delete(key, options, now)
    if gone then out("d", key) end
    return { done, n = 1 }, gone and removal(self.values, math.tointeger(gone))
  end)
end

function engine:list(prefix, options)
  return transact(self, function(state, now)
    return table.pack(state:list(prefix, options, now))
  end)
end

function engine:lease(key, owner, ttl)
  return transact(self, function(state, now, out)
    local fence, left = state:lease(key, owner, ttl, now)
    if fence then
      lease_record(state, key, out)
      local queue = state.queues.entries[key]
      if queue and queue.claimed == fence then queue_record(state, key, out) end
    end
    return { fence, left, n = 2 }
  end)
end

function engine:release(key, owner)
  return transact(self, function(state, now, out)
    local had = state.leases:ends(key, now)
    local done = state:release(key, owner, now)
    if done and had then
      lease_record(state, key, out)
      queue_record(state, key, out)
    end
    return { done, n = 1 }
  end)
end

function engine:take(key, amount, options)
  return transact(self, function(state, now, out)
    local seconds = state:take(key, amount, options, now)
    if seconds == 0 or options.block > 0 then
      local bucket = state.buckets.entries[key]
      out("b", key, bucket.tokens, bucket.time, bucket.blocked, bucket.capacity, bucket.per)
    end
    return { seconds, n = 1 }
  end)
end

function engine:push(queue, item, options)
  return transact(self, function(state, now, out)
    local seq, added = state:push(queue, #item, options, now)
    if not added then return { seq, n = 1 } end
    local written, err = self.items:write(seq, queue, item)
    if not written then return nil, err end
    local entry = state.queues.entries[queue]
    if entry.items:peek().seq == seq then queue_record(state, queue, out) end
    out("i", queue, seq, #item, now, 0)
    if options.id then out("m", queue, options.id, seq, now) end
    return { seq, n = 1 }, nil, removal(self.items, seq)
  end)
end

function engine:claim(owner, ttl, options)
  return transact(self, function(state, now, out)
    local queue, items = state:offer(options.queues, now)
    if not queue then return { nil, n = 1 } end
    for _, item in ipairs(items) do
      local bytes, err = self.items:read(item.seq, queue, item.item)
      if not bytes then -- the others shall not wait behind this one
        state.queues:set(queue, now + ASIDE, false)
        queue_record(state, queue, out)
        return { nil, err, n = 2 }
      end
      item.item = bytes
    end
    local fence = state:grant(queue, items, owner, ttl, now)
    lease_record(state, queue, out)
    out("c", queue, items[#items].seq)
    queue_record(state, queue, out)
    return { queue, fence, items, n = 3 }
  end)
end

function engine:ack(queue, owner, fence, seq)
  return transact(self, function(state, now, out)
    local done, gone = state:ack(queue, owner, fence, seq, now)
    if not done or not gone[1] then return { done, n = 1 } end
    out("a", queue, gone[#gone])
    return { done, n = 1 }, function()
      for _, number in ipairs(gone) do self.items:remove(number) end
    end
  end)
end

function engine:unclaim(queue, owner, fence, options)
  return transact(self, function(state, now, out)
    local done = state:unclaim(queue, owner, fence, options, now)
    if done then
      lease_record(state, queue, out)
      queue_record(state, queue, out)
    end
    return { done, n = 1 }
  end)
end

-- Reads what others have appended, where the file has changed: true, or nil, err.
local function look(self)
  if not self.journal:is_new() then return true, false end
  local _, err = transact(self, function() return { true, n = 1 } end)
  if err then return nil, err end
  return true, true
end

function engine:watch(prefix, seconds)
  local seen, err = look(self)
  if not seen then return nil, err end
  local pause = FIRST_LOOK
  return self.watchers:wait(prefix, seconds, self, function()
    local done, changed = look(self)
    if not done then return nil, changed end
    pause = changed and FIRST_LOOK or math.min(pause * GROWTH, LOOK)
    return pause
  end)
end

function engine:close()
  self.journal.closed = true
  embedded.close(self)
end

engine.describe = embedded.describe("file", "machine", "machine")

local OPTIONS = check.options { dir = check.required(check.path), clock = check.func,
  timeout = check.default(check.time_limit, LOCK_TIMEOUT) }

--- Opens the store in a directory, which is made where it is missing: {dir = path, timeout = seconds that an operation
-- waits for the lock (30), clock = function() → Unix seconds (nil: the machine's), the same in all processes}. A store,
-- or nil, err. All processes of a machine that name this directory share it; network file systems do not do. Raises an
-- ArgumentError.
return function(given)
  local kept = OPTIONS(given)
  local dir = kept.dir:gsub("(.)/+$", "%1")
  for _, path in ipairs { dir, dir .. "/values", dir .. "/items" } do
    local made, err = core.file_directory_only(path)
    if not made then return nil, err end
  end
  local watching = watchers.new()
  local journal = journals.new(dir .. "/journal", kept.timeout, kept.clock or core.wall,
    function(name) watching:note(name) end)
  return interface.new(setmetatable({ journal = journal, values = contents.new(dir .. "/values"),
    items = contents.new(dir .. "/items"), watchers = watching, given = kept.clock ~= nil, open = true }, File))
end
