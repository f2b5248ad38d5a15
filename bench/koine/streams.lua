-- streams.lua WHAT LABEL URL …: streams: CPU of a delta, alone and of many streams at once; memory; cancelling.
local koine = require "koine"
local kit = require "bench.koine.kit"
local now = require("koine.core").monotonic

local QUESTION = "Why is the sky blue?"
local programs = {}

-- CPU per event of a stream of n events, from the socket to the body of a Lua loop that looks at each delta.
function programs.delta(label, url, format, n)
  local adapter = kit.adapter(url, format, "/stream/" .. n)
  local seen, bytes, before = 0, 0, os.clock()
  for d in adapter:stream(QUESTION) do
    if d.type == "text_delta" then
      seen, bytes = seen + 1, bytes + #d.text
    end
  end
  local cpu = os.clock() - before
  assert(seen == n and bytes > 0, "not every event arrived")
  kit.report(label, "", cpu * 1e9 / n, "ns/event")
end

-- n streams open at once, each past its first delta.
local function open_streams(adapter, n)
  local open = {}
  for i = 1, n do open[i] = assert(adapter:open(QUESTION)) end
  for i = 1, n do
    local d
    repeat d = assert(open[i]:next()) until d.type == "text_delta"
  end
  return open
end

local function close_all(open)
  for i = 1, #open do open[i]:close() end
end

-- The memory with n streams open.
function programs.open(label, url, n)
  local open = open_streams(kit.adapter(url, "anthropic", "/idle"), n)
  kit.report(label, "", kit.memory(), "MiB")
  close_all(open)
end

-- What each of n open streams takes, beyond the process and one chat.
function programs.each(label, url, n)
  assert(kit.adapter(url, "anthropic", "/chat"):chat(QUESTION))
  collectgarbage()
  local before = kit.memory()
  local open = open_streams(kit.adapter(url, "anthropic", "/idle"), n)
  kit.report(label, "", (kit.memory() - before) * 1024 / n, "KiB")
  close_all(open)
end

-- n streams of `deltas` numbered deltas, one every 20 ms (with `pace`, one every
-- `pace` ms of all together), each in a task: CPU per delta, most memory held.
function programs.paced(label, url, n, deltas, pace)
  local path = "/paced/" .. deltas .. (pace and "/" .. pace or "")
  local adapter, expected, ended = kit.adapter(url, "anthropic", path), {}, 0
  for i = 1, deltas do expected[i] = ("%06d"):format(i - 1) end
  local function read()
    local seen = 0
    for d in adapter:stream(QUESTION) do
      if d.type == "text_delta" then
        seen = seen + 1
        assert(d.text == expected[seen], "a delta out of order")
      end
    end
    assert(seen == deltas, "not every delta arrived")
    ended = ended + 1
  end
  assert(kit.adapter(url, "anthropic", "/chat"):chat(QUESTION))
  local before = os.clock()
  koine.run(function()
    for _ = 1, n do koine.spawn(read) end
  end)
  assert(ended == n, "not every stream ended")
  kit.report(label, "_us", (os.clock() - before) * 1e6 / (n * deltas), "us/delta")
  kit.report(label, "_peak_mb", kit.peak(), "MiB")
end

-- From task:cancel() of a task that waits for a silent stream to the moment at which the server sees the close: the
-- median of n, and the most.
function programs.cancel(label, url, n)
  local adapter, asking, took = kit.adapter(url, "anthropic", "/idle"), kit.adapter(url, "anthropic", "/closes"), {}
  local function closes()
    local count, at = assert(asking:chat(QUESTION)):text():match "^(%d+) (%S+)$"
    return tonumber(count), tonumber(at)
  end
  koine.run(function()
    local before = closes()
    for i = 1, n do
      local waits
      local task = koine.spawn(function()
        local stream <close> = assert(adapter:open(QUESTION))
        repeat waits = assert(stream:next()).type == "text_delta" until waits
        stream:next()
      end)
      repeat koine.sleep(0.001) until waits
      local cancelled = now()
      task:cancel()
      repeat
        local count, at = closes()
        took[i] = at - cancelled
      until count == before + i
    end
  end)
  table.sort(took)
  kit.report(label, "_median_us", took[(n + 1) // 2] * 1e6, "us")
  kit.report(label, "_most_us", took[n] * 1e6, "us")
end

kit.main(programs)
