-- The engine on Redis on a real server: what the server does to it (forgets scripts, pauses, stops, is killed), what
-- others read there, and what it says of itself.

local eager = require "spec.lua.store.eager"
local koine = require "koine"
local peers = require "spec.lua.net.peers"
local redis = require "spec.lua.store.redis.server"
local wait = require "koine.task.wait"

if redis.missing then
  describe("koine.store.redis", function() pending("meets a real server: " .. redis.missing) end)
  return
end

describe("koine.store.redis", function()
  local server
  setup(function() server = redis.start() end)
  teardown(function() server:stop() end)

  it("is not confused by finalizers that call it, also in the middle of an operation", function()
    local store, told, calling, failed = server:opener { pool = 1 }(), 0, false, nil
    local function finalize()
      if calling then return end
      calling = true
      local ok, value, err = pcall(store.get, store, "finalizer")
      if not ok or value ~= "f" and err.code ~= "lock" then failed = tostring(value) .. " " .. tostring(err) end
      told, calling = told + 1, false
    end
    assert(store:put("finalizer", "f"))
    assert(store:put("k", "v"))
    collectgarbage()
    local as_before = eager()
    for _ = 1, 1000 do
      for _ = 1, 3 do setmetatable({}, { __gc = finalize }) end
      assert.are.equal("v", (store:get "k"))
    end
    as_before()
    assert.is_nil(failed)
    assert.is_true(told > 0, "no finalizer ran")
  end)

  it("counts the fences of a key one by one, so that its owner sees that nobody else had it", function()
    local store = server:opener { prefix = "fences" }()
    local first = assert(store:lease("run", "me", 0.01))
    for i = 1, 5 do assert(store:lease("other" .. i, "you", 60)) end
    assert(store:push("q", "item"))
    assert(store:claim("you", 60))
    koine.sleep(0.02)
    assert.are.equal(first + 1, (store:lease("run", "me", 0.01)))
    koine.sleep(0.02)
    assert.are.equal(first + 2, (store:lease("run", "you", 60)))
    server:ask("DEL", "{fences}l:run") -- thirty days later
    assert.is_true(assert(store:lease("run", "you", 60)) > first + 2)
    for _ = 1, 50 do
      assert(store:lease("busy", "me", 60))
      assert(store:release("busy", "me"))
    end
    local last = assert(store:lease("busy", "me", 60))
    server:ask("DEL", "{fences}l:busy")
    assert.is_true(assert(store:lease("busy", "you", 60)) > last)
  end)

  it("goes on when the server forgets its scripts, also in the middle of many calls", function()
    local store <close> = server:opener()()
    assert(store:put("k", "v"))
    assert.are.equal("OK", server:ask("SCRIPT", "FLUSH"))
    assert.are.equal("v", (store:get "k"))
    koine.run(function()
      local tasks = { function()
        for _ = 1, 20 do
          server:ask("SCRIPT", "FLUSH", "SYNC")
          wait.sleep(0.001)
        end
      end }
      for i = 1, 8 do
        tasks[#tasks + 1] = function()
          for n = 1, 20 do assert(store:put("k" .. i, tostring(n))) end
        end
      end
      koine.gather(table.unpack(tasks))
    end)
    assert.are.equal("20", (store:get "k8"))
  end)

  it("times out where the server is stopped or paused, and goes on after that", function()
    local store <close> = server:opener { timeout = 0.2 }()
    assert(store:put("k", "v"))
    local function late(what, ...)
      local result, err = store[what](store, ...)
      assert.is_nil(result)
      assert.are.equal("timeout", err.kind)
      assert.is_not_nil(err.message:find "a write may have happened")
    end
    server:signal "STOP"
    late("put", "k", "late")
    late "describe"
    koine.run(function()
      koine.gather(function() late("get", "k") end, function() late("take", "b", 1, { capacity = 1, per = 1 }) end)
    end)
    server:signal "CONT"
    assert(store:put("k", "v"))
    server:ask("CLIENT", "PAUSE", "600", "WRITE")
    late("push", "q", "item", { id = "m" })
    server:ask("CLIENT", "UNPAUSE")
    local seq = assert(store:push("q", "item", { id = "m" }))
    local _, _, items = store:claim("o", 10)
    assert.are.same({ seq }, { items[1].seq, items[2] and items[2].seq }) -- what timed out was done, or not; once
  end)

  it("keeps leases and buckets by the server's clock, whatever becomes of the client", function()
    local store <close> = server:opener()()
    local fence = assert(store:lease("k", "me", 0.1))
    server:ask("DEBUG", "SLEEP", "0.15")
    local newer = assert(store:lease("k", "you", 10))
    assert.is_true(newer > fence)
    assert.are.equal(0, store:take("b", 3, { capacity = 3, per = 10 }))
    server:ask("DEBUG", "SLEEP", "0.2")
    assert.are.equal(0, store:take("b", 2, { capacity = 3, per = 10 }))
  end)

  it("heals a bucket whose level was stored as minus infinity", function()
    local store <close> = server:opener { prefix = "sick:" }()
    server:ask("HSET", "{sick:}b:k", "t", "-inf", "a", "0", "u", "0")
    assert.are.equal(0, store:take("k", -2e14, { capacity = 1e15, per = 1, force = true }))
    local seconds = store:take("k", 1, { capacity = 1e15, per = 1 })
    assert.is_true(seconds > 7e14 and seconds < 9e14, tostring(seconds)) -- from -1e15, and fifty years
  end)

  it("counts fences on after DEL, and versions", function()
    local open = server:opener()
    local store <close> = open()
    local fence, version = assert(store:lease("k", "me", 10)), assert(store:put("k", "v"))
    for _, key in ipairs(server:ask("KEYS", "*l:k")) do server:ask("DEL", key) end
    for _, key in ipairs(server:ask("KEYS", "*v:k")) do server:ask("DEL", key) end
    assert.is_true(assert(store:lease("k", "me", 10)) > fence)
    assert.is_true(assert(store:put("k", "v")) ~= version)
    assert.is_false((store:put("k", "v", { fence = { "k", fence } })))
  end)

  it("says where a key is in the way that it did not make", function()
    local store <close> = server:opener { prefix = "foreign:" }()
    server:ask("SET", "{foreign:}v:k", "not a hash")
    local value, err = store:get "k"
    assert.is_nil(value)
    assert.are.equal("protocol", err.kind)
    assert.are.equal("WRONGTYPE", err.code)
    assert.are.equal("not a hash", server:ask("GET", "{foreign:}v:k"))
  end)

  it("keeps databases and prefixes apart, and all keys of a store in one hash slot", function()
    local one <close> = koine.store.redis { url = server.url, prefix = "a" }
    local two <close> = koine.store.redis { url = server.url, prefix = "b" }
    local other <close> = koine.store.redis { url = server.url .. "/7", prefix = "a" }
    assert(one:put("k", "1"))
    assert.is_nil((two:get "k"))
    assert.is_nil((other:get "k"))
    assert(other:put("k", "7"))
    assert.are.equal("1", (one:get "k"))
    one:push("q", "i", { id = "m" })
    one:claim("o", 1)
    one:take("b", 1, { capacity = 2, per = 1 })
    for _, key in ipairs(server:ask("KEYS", "{a}*")) do assert.are.equal(1, (key:find("{a}", 1, true))) end
    assert.is_true(#server:ask("KEYS", "{a}*") >= 8)
    local _, err = koine.store.redis { url = server.url .. "/1000" }:get "k"
    assert.are.equal("other", err.kind)
  end)

  it("leaves behind no key of what is over, but the counters", function()
    local store <close> = koine.store.redis { url = server.url, prefix = "clean" }
    assert(store:put("k", "v", { ttl = 0.05 }))
    assert(store:put("k2", "v"))
    store:delete "k2"
    store:push("q", "1")
    store:push("q", "2")
    local queue, fence, items = store:claim("o", 10)
    store:ack(queue, "o", fence, items[2].seq)
    store:unclaim(queue, "o", fence)
    store:take("b", 1, { capacity = 1, per = 100 })
    wait.sleep(1.1)
    assert.are.same({}, (store:list ""))
    local left = server:ask("KEYS", "{clean}*")
    table.sort(left)
    -- A lease that ended keeps its newest fence for a month.
    assert.are.same({ "{clean}f", "{clean}l:q", "{clean}n", "{clean}s" }, left)
    assert.is_true(server:ask("PTTL", "{clean}l:q") > 29 * 86400 * 1000)
  end)

  it("claims fast among 10,000 queues, of any prefix", function()
    local store <close> = server:opener()()
    koine.run(function()
      local tasks = {}
      for i = 1, 8 do
        tasks[i] = function()
          for n = 1, 1250 do assert(store:push(("q%d-%d"):format(i, n), "item")) end
        end
      end
      koine.gather(table.unpack(tasks))
    end)
    assert(store:push("last:1", "item"))
    for _, prefix in ipairs { "", "q8", "last:", "none:" } do
      local wanted = { queues = prefix }
      local function once()
        local queue, fence, items = store:claim("o", 100, wanted)
        if not queue then return end
        assert.are.equal(prefix, queue:sub(1, #prefix))
        assert(store:ack(queue, "o", fence, items[1].seq))
      end
      once() -- the first one looks at all names
      server:ask("CONFIG", "RESETSTAT")
      for _ = 1, 100 do once() end
      local stats = server:ask("INFO", "commandstats")
      local per_call = stats:match "cmdstat_evalsha:calls=%d+,usec=%d+,usec_per_call=([%d.]+)"
      assert.is_true(tonumber(per_call) < 1000, prefix .. ": " .. per_call .. " us")
    end
  end)

  it("keeps apart the queues of many prefixes, also of more than it has an index for", function()
    local store <close> = koine.store.redis { url = server.url, prefix = "prefixes" }
    for round = 1, 2 do
      for i = 1, 70 do assert(store:push(("p%02d:q"):format(i), "item" .. round)) end
      for i = 1, 70 do
        local prefix = ("p%02d:"):format(i)
        local queue, fence, items = store:claim("o", 100, { queues = prefix })
        assert.are.equal(prefix .. "q", queue)
        assert.are.equal("item" .. round, items[1].item)
        assert.is_nil((store:claim("o", 100, { queues = prefix })))
        assert(store:ack(queue, "o", fence, items[1].seq))
        assert(store:unclaim(queue, "o", fence))
        assert.is_nil((store:claim("o", 100, { queues = prefix })))
      end
    end
    assert.are.equal(64, server:ask("HLEN", "{prefixes}p"))
    assert.is_nil((store:claim("o", 1)))
  end)

  it("is read by redis-cli, and reads what that wrote", function()
    local store <close> = koine.store.redis { url = server.url, prefix = "cli" }
    assert(store:put("k", "by Koine\n"))
    local function cli(arguments)
      local pipe <close> = assert(io.popen(("redis-cli -p %d %s"):format(server.port, arguments)))
      return pipe:read "a"
    end
    assert.are.equal("by Koine\n\n", cli "HGET '{cli}v:k' v")
    cli "HSET '{cli}v:k' v other"
    assert.are.equal("other", (store:get "k"))
    local heard
    koine.run(function()
      koine.gather(function() heard = store:watch("ab", 5) end, function()
        wait.sleep(0.02)
        cli "PUBLISH '{cli}w' abc"
      end)
    end)
    assert.is_true(heard)
  end)

  it("is read and written by another client of Lua's", function()
    local path = package.searchpath("redis", "/usr/share/lua/5.3/?.lua;/usr/share/lua/5.1/?.lua;" .. package.path)
    if not path then return pending "redis-lua is not installed (tools/deps.sh engines)" end
    local client = assert(loadfile(path))().connect("127.0.0.1", server.port)
    local store <close> = koine.store.redis { url = server.url, prefix = "lua" }
    local version = assert(store:put("k", "\0by Koine\r\n"))
    assert.are.same({ "\0by Koine\r\n", version }, client:hmget("{lua}v:k", "v", "n"))
    client:hset("{lua}v:k", "v", "other\0")
    assert.are.equal("other\0", (store:get "k"))
    local seq = assert(store:push("q", "item"))
    assert.are.equal("item", client:hget("{lua}d:q", tostring(seq)))
    client:quit()
  end)

  for name, together in pairs(peers.loops()) do
    it("waits in " .. name .. " while others work", function()
      local store <close> = server:opener { pool = 2 }()
      local heard, count = nil, 0
      local jobs = { function() heard = store:watch("done", 5) end }
      for i = 1, 6 do
        jobs[#jobs + 1] = function()
          for n = 1, 10 do
            assert(store:put(("k%d-%d"):format(i, n), "v"))
            assert.are.equal("v", (store:get(("k%d-%d"):format(i, n))))
          end
          count = count + 1
          if count == 6 then
            wait.park({}, 0.05)
            assert(store:put("done", "v"))
          end
        end
      end
      together(table.unpack(jobs))
      assert.is_true(heard)
      assert.are.equal(61, #store:list "")
    end)
  end

  it("tells watchers that the connection is gone, and hears again on a new one", function()
    local store <close> = server:opener()()
    koine.run(function()
      local task = koine.spawn(function() return store:watch("", 10) end)
      wait.sleep(0.05)
      server:ask("CLIENT", "KILL", "TYPE", "pubsub")
      local heard, err = task:wait()
      assert.is_nil(heard)
      assert.are.equal("connect", err.kind)
      local results = {}
      koine.gather(function() results[1] = store:watch("a", 5) end, function() results[2] = store:watch("b", 5) end,
        function() results[3] = store:watch("c", 0.05) end, function()
          wait.sleep(0.1)
          store:put("b", "1")
          wait.sleep(0.01)
          store:put("a", "1")
        end)
      assert.are.same({ true, true, false }, results)
    end)
  end)

  it("says what the server's settings do not promise, once", function()
    local told = {}
    local store <close> = server:opener { on_warning = function(message) told[#told + 1] = message end }()
    server:ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    local about = assert(store:describe())
    store:describe()
    server:ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    assert.are.equal("memory", about.durable)
    assert.are.equal("server", about.clock)
    assert.is_not_nil(about.version:find "^%d+%.%d+")
    assert.are.equal(2, #about.warnings)
    assert.are.equal(2, #told)
    assert.is_not_nil(told[1]:find "maxmemory%-policy is allkeys%-lru")
    assert.is_not_nil(told[2]:find "appendonly is no")
    local promised <close> = server:opener { durable = "replicated" }()
    assert.are.equal("replicated", promised:describe().durable)
    server:ask("CONFIG", "SET", "appendonly", "yes")
    assert.are.equal("process", store:describe().durable)
    server:ask("CONFIG", "SET", "appendfsync", "always")
    assert.are.equal("machine", store:describe().durable)
    assert.are.same({}, store:describe().warnings)
    server:ask("CONFIG", "SET", "appendonly", "no")
  end)

  it("fails when memory is at its limit, and goes on when there is room", function()
    local store <close> = server:opener()()
    assert(store:put("k", "v"))
    server:ask("CONFIG", "SET", "maxmemory", "1")
    local done, err = store:put("k", "new")
    assert.is_nil(done)
    assert.are.equal("limit", err.kind)
    assert.are.equal("OOM", err.code)
    server:ask("CONFIG", "SET", "maxmemory", "0")
    assert.are.equal("v", (store:get "k"))
    assert(store:put("k", "new"))
  end)

  it("fails while the server is a replica, which is read-only, and goes on when it is none", function()
    local store <close> = server:opener { timeout = 0.4 }()
    assert(store:put("k", "v"))
    server:ask("CONFIG", "SET", "replica-serve-stale-data", "yes")
    server:ask("REPLICAOF", "127.0.0.1", "1")
    local done, err = store:put("k", "new")
    assert.is_nil(done)
    assert.are.same({ "overloaded", "READONLY", true }, { err.kind, err.code, err.retryable })
    local replica = "it is a replica of another server: it refuses changes, or loses them"
    assert.are.equal(replica, table.remove(assert(store:describe()).warnings))
    server:ask("REPLICAOF", "NO", "ONE")
    assert.are_not.equal(replica, table.remove(assert(store:describe()).warnings))
    assert.are.equal("v", (store:get "k"))
    assert(store:put("k", "new"))
  end)

  it("waits in plain Lua and across runs with the same connections", function()
    local store <close> = server:opener()()
    assert(store:put("k", "plain"))
    for _ = 1, 3 do
      koine.run(function() assert.are.equal("plain", (store:get "k")) end)
      assert.are.equal("plain", (store:get "k"))
    end
    koine.run(function()
      local task = koine.spawn(function() store:get "k" end)
      wait.sleep(0)
      task:cancel()
    end)
    assert.are.equal("plain", (store:get "k"))
  end)
end)

describe("koine.store.redis that is killed", function()
  it("fails while the server is away, and goes on with the next one", function()
    local server = redis.start()
    finally(function() server:stop() end)
    local store <close> = server:opener { timeout = 1 }()
    assert(store:put("k", "v"))
    server:kill()
    local value, err = store:get "k"
    assert.is_nil(value)
    assert.are.equal("connect", err.kind)
    assert.is_true(err.retryable)
    assert.are.equal("connect", select(2, store:watch("", 1)).kind)
    server:start()
    assert(store:put("k", "new")) -- it kept nothing
    assert.are.equal("new", (store:get "k"))
  end)
end)
