--- Turns of stores: an operation that runs out of memory leaves its store as it was before, or as it is after it.

local kit = require "work.kit"
local koine = require "koine"
local interface = require "koine.store.interface"

local same = kit.same

local turns = {}

local RATE = { capacity = 5, per = 1 }

local function push_all(store)
  for i = 1, 3 do
    for _, queue in ipairs { "q", "r" } do
      same(math.type(store:push(queue, "item " .. i, { id = "m" .. i })), "integer")
    end
  end
end

-- Some of each operation.
local function use(store)
  for i = 1, 3 do same(type(store:put("k" .. i, "v", { ttl = i == 3 and 1e9 or nil })), "string") end
  same(store:delete "k2", true)
  same(type(store:put("k2", "again", { if_version = "absent" })), "string")
  same(#store:list "k", 3)
  same(store:take("b", 1, RATE), 0)
  same(store:take("c", 9, { capacity = 5, per = 1, force = true }), 0)
  push_all(store)
  local queue, fence, items = store:claim("me", 60)
  same(queue, "q")
  same((store:claim("me", 60, { queues = "r" })), "r")
  same(store:lease(queue, "me", 30), fence)
  same(store:ack(queue, "me", fence, items[1].seq), true)
  same(store:unclaim(queue, "me", fence, { after = 5 }), true)
  same(store:release("r", "me"), true)
  same(math.type(store:lease("l", "me", 60)), "integer")
  same(store:release("l", "me"), true)
  return true
end

local function count(entries)
  local n = 0
  for _ in next, entries do n = n + 1 end
  return n
end

-- Raises where the state of the engine is half of something.
local function check_values(store)
  local state = interface.engine_of(store).state
  same(state.values.count, count(state.values.entries))
  same(state.buckets.count, count(state.buckets.entries))
  same(type(store:put("another", "v")), "string")
  local keys = store:list ""
  same(#keys, count(state.values.entries))
  for i, key in ipairs(keys) do
    if i > 1 and keys[i - 1] >= key then error("wrong answer: " .. key .. " is twice in a list") end
    same(type((store:get(key))), "string")
    same(store:delete(key), true)
  end
  same(#store:list "", 0)
  same(state.values.count, 0)
end

-- Raises unless what was pushed, and pushed again by its id, can be claimed once.
local function check_queues(store)
  push_all(store)
  local found = {}
  for _ = 1, 2 do
    local queue, fence, items = store:claim("other", 60)
    if not queue then error "wrong answer: no queue is ready" end
    local words = {}
    for i, item in ipairs(items) do words[i] = item.item end
    found[queue] = table.concat(words, " ")
    same(store:ack(queue, "other", fence, items[#items].seq), true)
    same(store:unclaim(queue, "other", fence), true)
  end
  same(found.r, "item 1 item 2 item 3")
  same(("item 1 item 2 item 3"):sub(-#(found.q or "none")), found.q)
  same((store:claim("other", 60)), nil)
end

function turns.memory()
  local time = 0
  local store = koine.store.memory { clock = function() return time end }
  return function() return use(store) end, function()
    time = time + 1000 -- all leases have ended, and ids are known
    check_values(store)
    check_queues(store)
    same(store:take("b", 5, RATE), 0)
    time = time + 1e5 -- they are forgotten
    return use(store)
  end
end

return turns
