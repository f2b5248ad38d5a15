-- The engine on Redis through a proxy that cuts, holds back and dribbles what the server says: what was done, and what
-- the caller hears of it.

local koine = require "koine"
local peers = require "spec.lua.net.peers"
local redis = require "spec.lua.store.redis.server"
local socket = require "socket"
local wait = require "koine.task.wait"

if redis.missing then
  describe("a proxy before Redis", function() pending("cuts connections: " .. redis.missing) end)
  return
end

local function pause() wait.park({}, 0.0005) end

-- Sends all bytes to a luasocket that does not block; false where it is gone.
local function send(to, bytes, size)
  local at = 1
  while at <= #bytes do
    local last, err, part = to:send(bytes, at, math.min(#bytes, at + size - 1))
    at = (last or part) + 1
    if err and err ~= "timeout" then return false end
    pause()
  end
  return true
end

-- Passes bytes on until one side ends. fault.cut(reply): true ends the connection in place of passing the reply on;
-- fault.hold: nothing is passed on; fault.size: bytes at a time.
local function pass(near, port, fault)
  local far = assert(socket.connect("127.0.0.1", port))
  near:settimeout(0)
  far:settimeout(0)
  while true do
    local bytes, ended, part = near:receive(65536)
    local more = bytes or part
    if #more > 0 and not fault.hold then send(far, more, 65536) end
    local reply, over, rest = far:receive(65536)
    local news = reply or rest
    if #news > 0 and fault.cut and fault.cut(news) then break end
    if #news > 0 and not fault.hold and not send(near, news, fault.size or 65536) then break end
    if ended == "closed" or over == "closed" then break end
    pause()
  end
  near:close()
  far:close()
end

describe("a proxy before Redis", function()
  local server, prefixes = nil, 0
  setup(function() server = redis.start() end)
  teardown(function() server:stop() end)

  -- Calls f(store, fault, direct): `fault` is set as the proxy shall do; `direct` is the same store without it.
  local function through(f, options)
    local listener, fault = peers.listen(), {}
    prefixes = prefixes + 1
    local prefix = "proxy" .. prefixes
    koine.run(function()
      local store <close> = koine.store.redis { url = "redis://127.0.0.1:" .. listener.port, prefix = prefix,
        timeout = options and options.timeout or 5 }
      local direct <close> = koine.store.redis { url = server.url, prefix = prefix }
      local proxy = koine.spawn(function()
        while true do
          while not listener.is_waiting() do pause() end
          local near = listener.accept()
          koine.spawn(function() pass(near, server.port, fault) end)
        end
      end)
      store:get "warm" -- a connection is there, the scripts are loaded below
      f(store, fault, direct)
      proxy:cancel()
    end)
    listener.close()
  end

  -- Cuts the next reply that the pattern matches, once.
  local function cut_next(fault, pattern)
    fault.cut = function(news)
      if not news:find(pattern) then return false end
      fault.cut = nil
      return true
    end
  end

  it("a put with a condition that was done, and not heard of, is told as done", function()
    through(function(store, fault, direct)
      local first = assert(store:put("k", "1"))
      cut_next(fault, "^%*2")
      local version = assert(store:put("k", "2", { if_version = first }))
      local value, same = direct:get "k"
      assert.are.same({ "2", version }, { value, same })
      cut_next(fault, "^%*2")
      assert(store:put("new", "1", { if_version = "absent" }))
      assert.is_false((store:put("new", "1", { if_version = "absent" })))
    end)
  end)

  it("what was done, not heard of, and then changed by others, is not told as refused", function()
    through(function(store, fault, direct)
      -- Cuts the next reply after another machine has made a change.
      local function cut_behind(pattern, change)
        fault.cut = function(news)
          if not news:find(pattern) then return false end
          fault.cut = nil
          change()
          return true
        end
      end
      local function is_unknown(done, err)
        assert.is_nil(done)
        assert.are.equal("connect", err.kind)
      end
      local function other() assert(direct:put("k", "other")) end
      local version = assert(store:put("k", "1"))
      cut_behind("^%*2", other)
      is_unknown(store:put("k", "2", { if_version = version }))
      assert.are.equal("other", (direct:get "k"))
      version = select(2, direct:get "k")
      cut_behind("^:1", other)
      is_unknown(store:delete("k", { if_version = version }))
      assert(store:push("q", "item"))
      local queue, fence, items = store:claim("o", 100)
      cut_behind("^:1", function()
        assert(direct:release(queue, "o"))
        assert(direct:lease(queue, "another", 100))
      end)
      is_unknown(store:ack(queue, "o", fence, items[1].seq))
      assert(direct:release(queue, "another"))
      fence = assert(store:lease(queue, "o", 100))
      cut_behind("^:1", function() assert(direct:lease(queue, "another", 100)) end)
      is_unknown(store:unclaim(queue, "o", fence))
      assert.is_false((store:unclaim(queue, "o", fence)))
    end)
  end)

  it("a put without one fails, and is done once", function()
    through(function(store, fault, direct)
      assert(store:put("k", "1"))
      cut_next(fault, "^%*2")
      local version, err = store:put("k", "2")
      assert.is_nil(version)
      assert.are.equal("connect", err.kind)
      assert.are.equal("2", (direct:get "k"))
      local _, first = direct:get "k"
      assert.are.equal(tostring(tonumber(first) + 1), (store:put("k", "3")))
    end)
  end)

  it("a take is not repeated", function()
    through(function(store, fault, direct)
      local rate = { capacity = 10, per = 0.001 }
      assert.are.equal(0, store:take("b", 1, rate))
      cut_next(fault, "^%$")
      local seconds, err = store:take("b", 4, rate)
      assert.is_nil(seconds)
      assert.are.equal("connect", err.kind)
      assert.are.equal(0, direct:take("b", 5, rate))
      assert.is_true(direct:take("b", 1, rate) > 0)
    end)
  end)

  it("a push with an id, an ack and an unclaim are repeated, and count once", function()
    through(function(store, fault, direct)
      assert(store:push("q", "warm"))
      cut_next(fault, "^%$")
      local seq = assert(store:push("q", "item", { id = "m" }))
      local queue, fence, items = direct:claim("o", 100)
      assert.are.equal(2, #items)
      assert.are.equal(seq, items[2].seq)
      assert.is_true(store:ack(queue, "o", fence, items[1].seq))
      cut_next(fault, "^:1")
      assert.is_true(store:ack(queue, "o", fence, seq))
      assert.is_true(store:unclaim(queue, "o", fence))
      cut_next(fault, "^:1")
      assert.is_true(store:unclaim(queue, "o", fence))
      assert.is_nil((direct:claim("o", 1)))
    end)
  end)

  it("replies that dribble are whole", function()
    through(function(store, fault, direct)
      local value = ("\0\r\n*1$"):rep(30)
      assert(direct:put("k", value))
      fault.size = 1
      assert.are.equal(value, (store:get "k"))
    end)
  end)

  it("a connection that is half open costs its time, once, and is replaced", function()
    through(function(store, fault)
      assert(store:put("k", "v"))
      fault.hold = true
      local _, err = store:get "k"
      assert.are.equal("timeout", err.kind)
      fault.hold = nil
      assert.are.equal("v", (store:get "k"))
    end, { timeout = 0.2 })
  end)
end)
