-- A machine of machines_spec.lua: works on a store for so many seconds and writes what it did, a line each:
--   OPERATION start end result…     times are of the monotonic clock, which all processes of a machine share
-- Usage: lua5.4 worker.lua NUMBER URL SECONDS FILE

local koine = require "koine"
local wait = require "koine.task.wait"

local number, url, seconds = arg[1], arg[2], tonumber(arg[3])
local store = koine.store.redis { url = url, prefix = "machines", timeout = 10 }
local finish = wait.now() + seconds
local file = assert(io.open(arg[4], "w"))
local PATIENCE = 20 -- seconds that the server may be away
math.randomseed(tonumber(number))

local function log(what, start, ...)
  file:write(what, (" %.6f %.6f"):format(start, wait.now()))
  for i = 1, select("#", ...) do file:write(" ", tostring((select(i, ...)))) end
  file:write "\n"
end

-- Calls until there is an answer; the server may be away for a while.
local function sure(what, ...)
  local latest = wait.now() + PATIENCE
  while true do
    local result, more, items = store[what](store, ...)
    if result ~= nil or more == nil then return result, more, items end
    assert(wait.now() < latest, more)
    wait.sleep(0.01)
  end
end

local steps = {}

function steps.increment()
  local value, version = sure("get", "n")
  local start = wait.now()
  local made, err = store:put("n", tostring((value or 0) + 1), { if_version = version or "absent" })
  log("increment", start, made or (made == nil and err) and "unknown" or "no")
end

function steps.lease()
  local key, ttl = "l" .. math.random(2), math.random(1, 5) / 50
  local start = wait.now()
  local fence = store:lease(key, number, ttl) -- nil: the server may have done it
  if fence == nil then log("unsure", start, key, "none", ttl, number) end
  if not fence then return end
  log("lease", start, key, fence, ttl, number)
  if math.random(2) == 1 then wait.sleep(math.random() * ttl * 2) end
  start = wait.now()
  local made = store:put("v" .. key, number, { fence = { key, fence } })
  if made then log("fenced", start, key, fence) end
  if math.random(3) == 1 then
    log("releasing", wait.now(), key, fence)
    store:release(key, number)
  end
end

local pushed = 0

function steps.push()
  local queue, id = "q" .. math.random(3), number .. "-" .. pushed + 1
  pushed = pushed + 1
  local start = wait.now()
  local seq = sure("push", queue, id, { id = id })
  log("push", start, queue, seq, id)
end

local function work_on(queue, fence, items, start, ttl)
  for _, item in ipairs(items) do log("claimed", start, queue, fence, item.seq, item.item, ttl, number) end
  if math.random(4) == 1 then return wait.sleep(ttl * 1.5) end -- falls asleep
  local last = items[math.random(#items)].seq
  start = wait.now()
  local done = sure("ack", queue, number, fence, last)
  log("ack", start, queue, fence, last, done)
  if done and math.random(2) == 1 then
    log("releasing", wait.now(), queue, fence)
    sure("unclaim", queue, number, fence)
  end
end

function steps.claim()
  local ttl, start = math.random(2, 6) / 50, wait.now()
  local queue, fence, items = store:claim(number, ttl, { queues = "q" })
  if queue then work_on(queue, fence, items, start, ttl) end
end

function steps.take()
  local start = wait.now()
  if store:take("b", 1, { capacity = 20, per = 100 }) == 0 then log("take", start) end
end

local ORDER = { "increment", "increment", "lease", "push", "push", "claim", "claim", "take" }
while wait.now() < finish do steps[ORDER[math.random(#ORDER)]]() end
store:close()
file:close()
