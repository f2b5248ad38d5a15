-- One of several processes that use a store at random at the same time, and log what they did:
-- lua worker.lua CODE LOG NUMBER GO SEEDS OPERATIONS KILLED. CODE returns a store; the process begins when the file GO
-- is there. Per seed it does so many operations. Where KILLED is a number of operations, it is killed (SIGKILL) after
-- them. A line of the log is a Lua table: {w = number, s = seed, op, key, from, to = monotonic seconds, …}; one with
-- `begins` stands before an operation that may have happened though no line says how it ended.

local code, log_path, number, go, seeds, operations, killed = table.unpack(arg)

local koine = require "koine"
local lfs = require "lfs"
local wait = require "koine.task.wait"

local SHORT, LONG = 0.03, 0.15 -- seconds: ttl of leases and claims

local store = assert(load(code))()
local log = assert(io.open(log_path, "w"))
local me, left = "w" .. number, tonumber(killed) or math.huge
number = tonumber(number)

local seed, state
local function pick(n)
  state = state * 48271 % 2147483647
  return state % n + 1
end

local function literal(value)
  if type(value) ~= "table" then return ("%q"):format(value) end
  local parts = {}
  for key, member in pairs(value) do parts[#parts + 1] = ("[%q]=%s"):format(key, literal(member)) end
  return "{" .. table.concat(parts, ",") .. "}"
end

local function note(record)
  record.w, record.s = number, seed
  log:write(literal(record):gsub("\n", " "), "\n")
  log:flush()
end

-- Does an operation and logs it: its results. An error of the store's ends the process.
local function act(op, key, details, f)
  left = left - 1
  if op == "push" or op == "ack" then
    local begins = { op = op, key = key, begins = true }
    for name, value in pairs(details) do begins[name] = value end
    note(begins)
  end
  if left <= 0 then os.execute("kill -9 $PPID") end
  local record = details
  record.op, record.key, record.from = op, key, wait.now()
  local results = table.pack(f())
  record.to = wait.now()
  if results[1] == nil and results[2] ~= nil then error(op .. ": " .. tostring(results[2])) end
  record.got = results[1]
  return record, results
end

local function name(letter, n) return ("s%d:%s%d"):format(seed, letter, pick(n)) end

local acts, known = {}, nil

function acts.cas()
  local key = name("n", 2)
  local value, version = store:get(key)
  local new = tostring((tonumber(value) or 0) + 1)
  if pick(3) == 1 then wait.sleep(0.002) end -- another process may come between
  local record, results = act("cas", key, { was = value or "0", new = new, version = version or "absent" }, function()
    return store:put(key, new, { if_version = version or "absent" })
  end)
  record.got = results[1]
  note(record)
end

function acts.lease()
  local key = name("l", 2)
  local record = act("lease", key, { ttl = SHORT, owner = me }, function() return store:lease(key, me, SHORT) end)
  note(record)
  if record.got then known.lease = { key = key, fence = record.got } end
end

function acts.release()
  local held = known.lease
  if held then note((act("release", held.key, { owner = me }, function() return store:release(held.key, me) end))) end
end

-- A put with the last fence, which may be an old one.
function acts.fenced()
  local held = known.lease
  if not held then return end
  if pick(3) == 1 then wait.sleep(SHORT * 1.1) end
  note((act("fenced", held.key, { fence = held.fence }, function()
    return store:put(held.key .. ":v", me, { fence = { held.key, held.fence } })
  end)))
end

function acts.take()
  local key = name("b", 1)
  local n = pick(2)
  note((act("take", key, { n = n, capacity = 6, per = 50 }, function()
    return store:take(key, n, { capacity = 6, per = 50 })
  end)))
end

function acts.push()
  local key = name("q", 3)
  known.pushed = known.pushed + 1
  local item = ("%s:%d:%d"):format(me, seed, known.pushed)
  local id = pick(3) == 1 and "id:" .. item or nil
  for _ = 1, id and 2 or 1 do
    note((act("push", key, { item = item, id = id }, function() return store:push(key, item, { id = id }) end)))
  end
end

function acts.claim()
  local ttl = pick(3) == 1 and SHORT or LONG
  local record, results = act("claim", "", { ttl = ttl, owner = me }, function()
    return store:claim(me, ttl, { queues = ("s%d:"):format(seed) })
  end)
  if not results[1] then return end
  local queue, fence, items = results[1], results[2], results[3]
  record.key, record.got, record.items = queue, fence, {}
  for i, item in ipairs(items) do record.items[i] = { item.seq, item.item, item.tries } end
  note(record)
  if pick(4) == 1 then wait.sleep(SHORT * 1.5) end
  if pick(5) > 1 then
    local last = items[pick(#items)].seq
    note((act("ack", queue, { fence = fence, seq = last }, function() return store:ack(queue, me, fence, last) end)))
  end
  if pick(4) > 1 then
    note((act("unclaim", queue, { fence = fence, owner = me }, function()
      return store:unclaim(queue, me, fence, { after = (pick(3) - 1) * 0.01 })
    end)))
  end
end

local ORDER = { "cas", "cas", "cas", "lease", "lease", "release", "fenced", "take", "take", "push", "push", "push",
  "claim", "claim", "claim" }

while not lfs.attributes(go) do wait.sleep(0.001) end
for first in seeds:gmatch "%d+" do
  seed, state, known = tonumber(first), (tonumber(first) * 1009 + number * 7919) % 2147483646 + 1, { pushed = 0 }
  for _ = 1, tonumber(operations) do acts[ORDER[pick(#ORDER)]]() end
end
log:close()
store:close()
koine.sleep(0)
