-- Processes that work on one store on Redis at once, while the server is killed and started again: what they have seen
-- is compared afterwards with what stores promise (S1 to S9). KOINE_ENGINE_SEEDS (make engines): more, for longer.

local koine = require "koine"
local redis = require "spec.lua.store.redis.server"
local wait = require "koine.task.wait"

if redis.missing then
  describe("machines", function() pending("work on one store: " .. redis.missing) end)
  return
end

local LONG = os.getenv "KOINE_ENGINE_SEEDS" ~= nil
local MACHINES, SECONDS, KILLS = LONG and 8 or 3, LONG and 30 or 2, LONG and 12 or 2

local function text_of(name)
  local file <close> = assert(io.open(name))
  return file:read "a"
end

-- The lines of all workers as {what, start, finish, fields…}, by operation, in the order of their ends.
local function read_log(texts)
  local log = setmetatable({}, { __index = function() return {} end })
  for _, text in ipairs(texts) do
    for what, start, finish, rest in text:gmatch "(%l+) ([%d.]+) ([%d.]+)([^\n]*)\n" do
      local line = { what = what, start = tonumber(start), finish = tonumber(finish) }
      for field in rest:gmatch "%S+" do
        line[#line + 1] = math.tointeger(tonumber(field)) or tonumber(field) or field
      end
      local list = rawget(log, what) or {}
      log[what], list[#list + 1] = list, line
    end
  end
  for _, list in pairs(log) do table.sort(list, function(a, b) return a.finish < b.finish end) end
  return log
end

-- A lease without an answer may have renewed what its owner held, and for a shorter time.
local function shorten(holdings_of_name, owner, till)
  for _, one in pairs(holdings_of_name or {}) do
    if one.owner == owner then one.till = math.min(one.till, till) end
  end
end

-- Each holding of a name, {fence, name, owner, from, granted, till}, sorted by fence; a fence that came several times
-- is one holding, renewed. It was granted between `from` and `granted`, and ended at `till` or later.
local function holdings(log)
  local by_name, all = {}, {}
  local function add(name, fence, start, ttl, owner)
    local list = by_name[name] or {}
    by_name[name] = list
    local one = list[fence]
    if not one then
      one = { fence = fence, name = name, owner = owner, from = start, till = 0, granted = math.huge }
      list[fence], all[#all + 1] = one, one
    end
    assert.are.equal(one.owner, owner, "S2: one fence for two owners")
    one.till = start + ttl -- the last renewal counts, also a shorter one
    return one
  end
  local leases = table.move(log.lease, 1, #log.lease, 1, {})
  table.move(log.unsure, 1, #log.unsure, #leases + 1, leases)
  table.sort(leases, function(a, b) return a.finish < b.finish end)
  for _, line in ipairs(leases) do
    if line.what == "unsure" then
      shorten(by_name[line[1]], line[4], line.start + line[3])
    else
      local one = add(line[1], line[2], line.start, line[3], line[4])
      one.granted = math.min(one.granted, line.finish)
    end
  end
  for _, line in ipairs(log.claimed) do
    local one = add(line[1], line[2], line.start, line[5], line[6])
    one.granted = math.min(one.granted, line.finish)
  end
  for _, line in ipairs(log.releasing) do
    local one = by_name[line[1]][line[2]]
    one.till = math.min(one.till, line.start)
  end
  table.sort(all, function(a, b)
    if a.name ~= b.name then return a.name < b.name end
    return a.fence < b.fence
  end)
  return all
end

describe("machines", function()
  local log, server, last

  setup(function()
    server = redis.start "--appendonly yes --appendfsync always"
    local store <close> = koine.store.redis { url = server.url, prefix = "machines", timeout = 10 }
    assert(store:put("n", "0"))
    local workers = {}
    for i = 1, MACHINES do
      local lua = os.getenv "KOINE_LUA" or "lua5.4"
      workers[i] = assert(io.popen(("%s spec/lua/store/redis/worker.lua %d %s %g %s/%d"):format(lua, i, server.url,
        SECONDS, server.folder, i)))
    end
    for _ = 1, KILLS do
      wait.block({}, SECONDS / (KILLS + 1))
      server:kill()
      server:start()
    end
    local texts = {}
    for i, worker in ipairs(workers) do
      assert(worker:close())
      texts[i] = text_of(server.folder .. "/" .. i)
    end
    log = read_log(texts)
    last = tonumber((assert(store:get "n")))
  end)
  teardown(function() server:stop() end)

  it("S1. count every put whose version was right, once", function()
    local made, unknown, versions = 0, 0, {}
    for _, line in ipairs(log.increment) do
      if line[1] == "unknown" then unknown = unknown + 1 end
      if math.type(line[1]) == "integer" then
        made = made + 1
        assert.is_nil(versions[line[1]])
        versions[line[1]] = true
      end
    end
    assert.is_true(made > 10)
    assert.is_true(made <= last and last <= made + unknown, ("%d of %d, %d unknown"):format(made, last, unknown))
  end)

  it("S2, S3. hold a name one at a time, with fences that grow", function()
    local all = holdings(log)
    assert.is_true(#all > 10)
    for i = 2, #all do
      local before, one = all[i - 1], all[i]
      if before.name == one.name then
        assert.is_true(one.granted >= before.till - 0.002, ("%s: fence %d at %f, %d ends at %f"):format(one.name,
          one.fence, one.granted, before.fence, before.till))
        assert.is_true(one.granted > before.from)
      end
    end
  end)

  it("S4. put and acknowledge with the newest fence alone", function()
    local newest = {}
    local lines = {}
    for _, line in ipairs(log.lease) do lines[#lines + 1] = { line.finish, line[1], line[2] } end
    for _, line in ipairs(log.claimed) do lines[#lines + 1] = { line.finish, line[1], line[2] } end
    table.sort(lines, function(a, b) return a[1] < b[1] end)
    local bound = {}
    for _, line in ipairs(log.fenced) do bound[#bound + 1] = { line.start, line[1], line[2] } end
    for _, line in ipairs(log.ack) do
      if line[4] == "true" then bound[#bound + 1] = { line.start, line[1], line[2] } end
    end
    table.sort(bound, function(a, b) return a[1] < b[1] end)
    local i = 1
    for _, one in ipairs(bound) do
      while lines[i] and lines[i][1] < one[1] do
        newest[lines[i][2]] = math.max(newest[lines[i][2]] or 0, lines[i][3])
        i = i + 1
      end
      if one[3] < (newest[one[2]] or 0) then error "a put or ack of one that was too late" end
    end
    assert.is_true(#bound > 5)
  end)

  it("S5, S6, S8, S9. claim every item that was pushed, in order, and none again that was acknowledged", function()
    -- How far a queue was acknowledged when a claim began: acks in the order of their ends, claims of their starts.
    local claims, acks, upto, ids, order = {}, {}, {}, {}, {}
    for _, line in ipairs(log.claimed) do claims[#claims + 1] = line end
    table.sort(claims, function(a, b) return a.start < b.start end)
    for _, line in ipairs(log.ack) do
      if line[4] == "true" then acks[#acks + 1] = line end
    end
    local done = 1
    for _, line in ipairs(claims) do
      local queue, fence, seq, id = line[1], line[2], line[3], line[4]
      while acks[done] and acks[done].finish < line.start do
        local ack = acks[done]
        upto[ack[1]], done = math.max(upto[ack[1]] or 0, ack[3]), done + 1
      end
      if seq <= (upto[queue] or 0) then error "claimed after its ack" end
      if ids[id] and ids[id] ~= seq then error "one push, two items" end
      ids[id] = seq
      order[queue .. "/" .. fence] = order[queue .. "/" .. fence] or {}
      table.insert(order[queue .. "/" .. fence], seq)
    end
    for _, list in pairs(order) do
      table.sort(list)
      for i = 2, #list do assert(list[i] ~= list[i - 1], "an item came twice in a claim") end
    end
    -- What is left over is claimed here, once the others' time is over.
    local store <close> = koine.store.redis { url = server.url, prefix = "machines" }
    wait.block({}, 0.3)
    while true do
      local queue, fence, items = store:claim("the last", 10)
      if not queue then break end
      for i, item in ipairs(items) do
        assert(ids[item.item] == nil or ids[item.item] == item.seq, "one push, two items")
        ids[item.item] = item.seq
        assert(i == 1 or item.seq > items[i - 1].seq, "items out of order")
      end
      assert(store:ack(queue, "the last", fence, items[#items].seq))
      assert(store:unclaim(queue, "the last", fence))
    end
    local count = 0
    for _, line in ipairs(log.push) do
      if line[2] ~= ids[line[3]] then error "a push was lost" end
      count = count + 1
    end
    assert.is_true(count > 10)
  end)

  it("S7. get no more than the capacity and what flows in, in any span", function()
    local takes = log.take
    assert.is_true(#takes > 10)
    for i = 1, #takes, math.max(1, #takes // 200) do
      local first = math.huge
      for k = i, #takes do -- all of these were granted between the first start and the last end of them
        first = math.min(first, takes[k].start)
        local n, span = k - i + 1, takes[k].finish - first
        if n > 20 + 100 * span + 0.001 then error(("%d in %f s"):format(n, span)) end
      end
    end
  end)
end)
