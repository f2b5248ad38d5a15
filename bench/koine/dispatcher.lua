-- dispatcher.lua [THREADS …]: what the dispatcher itself costs, per-lane, two senders in each thread, a target that
-- answers at once: 100,000 events over 1,000 threads, and 1,000 events over 10 threads, which should cost as much each;
-- with THREADS, about 20,000 events over so many. Prints `name value unit`. CPU is the process's own, the collector's
-- included.
local koine = require "koine"

local MANY, FEW, EACH = 1000, 10, 100 -- threads, threads, events in a thread
local CURVE = 20000 -- events of a number of threads that was asked for

local threads, messages = {}, {}
for i = 1, MANY do threads[i] = { platform = "bench", thread_id = "T" .. i, channel_id = "C" } end
for i, name in ipairs { "alice", "bob" } do
  messages[i] = { prompt = "Shall we deploy the new version today?", sender = { sender_id = "U" .. i,
    sender_name = name, display_name = name, channel = "bench", channel_id = "C", is_bot = false } }
end

-- A dispatcher whose lanes in n threads have all been used, and the count of messages that its turns saw.
local function new(n)
  local seen = { n = 0 }
  local d = koine.dispatcher { mode = "per-lane", target = { run_turn = function(_, _, _, ctx)
    seen.n = seen.n + #ctx.messages
    return true
  end } }
  for i = 1, n do
    for _, message in ipairs(messages) do assert(d:submit(threads[i], message)) end
  end
  repeat until not d:step()
  seen.n = 0
  return d, seen
end

-- Dispatches so many messages in each of n threads, in waves of one in a thread: CPU seconds.
local function spend(n, each)
  local d, seen = new(n)
  local before = os.clock()
  for wave = 1, each do
    local message = messages[wave % 2 + 1]
    for i = 1, n do assert(d:submit(threads[i], message)) end
    repeat until not d:step()
  end
  local seconds = os.clock() - before
  assert(seen.n == n * each, "not every message was dispatched")
  return seconds
end

-- Bytes of a dispatcher with all its lanes idle, for each lane.
local function idle_lane()
  new(MANY)
  collectgarbage()
  collectgarbage()
  local before = collectgarbage "count"
  local d = new(MANY)
  collectgarbage()
  collectgarbage()
  local bytes = (collectgarbage "count" - before) * 1024
  return bytes / d:stats().lanes
end

local function report(name, value, unit) print(("dispatcher_%s %.4g %s"):format(name, value, unit)) end

for i = 1, #arg do
  local n = math.tointeger(arg[i])
  local each = math.max(CURVE // n, 1)
  report(n .. "_us", spend(n, each) * 1e6 / (n * each), "us/event")
end
if arg[1] then return end

local few = 0
for _ = 1, MANY // FEW do few = few + spend(FEW, EACH) end
report("few_us", few * 1e6 / (MANY * EACH), "us/event")
report("us", spend(MANY, EACH) * 1e6 / (MANY * EACH), "us/event")
report("idle_lane_bytes", idle_lane(), "B")
