-- Who waits for a peer, and how that ends: two peers on one wire in this process; cancelled and late callers; handlers
-- that ask back; closing.

local kit = require "spec.lua.protocol.rpc.kit"
local koine = require "koine"
local rpc = require "koine.protocol.rpc"

local CANCEL = { cancel = function(id, method)
  if method ~= "initialize" then return "cancelled", { id = id } end
end }

describe("two peers", function()
  for name, loop in pairs(kit.loops) do
    describe("in " .. name, function()
      it("ask each other at once, and back while they are asked", function()
        local near, far, close = kit.wires(3)
        local a, b
        local function requests(other)
          return {
            add = function(params)
              koine.sleep(0)
              return params[1] + params[2]
            end,
            -- n! with a request to the other side for each factor
            factorial = function(params)
              if params.n == 0 then return 1 end
              return params.n * assert(other():request("factorial", { n = params.n - 1 }, { timeout = kit.SAFETY }))
            end,
          }
        end
        a = rpc.new(near, { requests = requests(function() return a end) })
        b = rpc.new(far, { requests = requests(function() return b end) })
        local sums, left, functions = 0, 20, {}
        for i = 1, 20 do
          functions[i] = function()
            local peer = i % 2 == 0 and a or b
            for j = 1, 20 do
              local sum = assert(peer:request("add", { i, j }, { timeout = kit.SAFETY }))
              sums = sums + sum
            end
            assert.equal(3628800, assert(peer:request("factorial", { n = 10 }, { timeout = kit.SAFETY })))
            left = left - 1
            if left == 0 then close() end
          end
        end
        functions[21] = function() assert.is_true(a:serve()) end
        functions[22] = function() assert.is_true(b:serve()) end
        loop(table.unpack(functions))
        assert.equal(20 * 210 * 2, sums)
        assert.is_true(a.calls:is_empty() and b.calls:is_empty())
        a:close()
        b:close()
      end)

      it("take updates in order before the answer, from a side that writes faster than is read", function()
        local near, far, close = kit.wires(5)
        local b
        b = rpc.new(far, { requests = { turn = function(params)
          for i = 1, params.n do assert(b:notify("update", { session = params.session, n = i })) end
          return "end"
        end } })
        local seen = { x = 0, y = 0 }
        local a = rpc.new(near, { queue_max = 7, notifications = { update = function(params)
          assert.equal(seen[params.session] + 1, params.n)
          seen[params.session] = params.n
          if params.n % 50 == 0 then koine.sleep(0) end
        end }, session = function(_, params) return params.session end })
        local left = 2
        local function turn(session)
          return function()
            assert.equal("end", assert(a:request("turn", { n = 200, session = session }, { session = session })))
            assert.equal(200, seen[session])
            left = left - 1
            if left == 0 then close() end
          end
        end
        loop(turn "x", turn "y", function() b:serve() end)
        a:close()
        b:close()
      end)
    end)
  end
end)

describe("a wire that always has a line", function()
  for name, loop in pairs(kit.all) do
    it("holds up nobody in " .. name, function()
      for _, line in ipairs { '{"method":"nothing"}', '{"method":"update"}', '{"method":"ask","id":1}', '{"id":7}' } do
        local err
        local peer <close> = rpc.new({ line = function() return line end, write = function() return true end }, {
          requests = { ask = function() return 1 end }, notifications = { update = function() end },
          session = function() return "s" end })
        loop(function() err = select(2, peer:request("m", nil, { timeout = 0.05, session = "s" })) end, function()
          while not err do assert(koine.sleep(0.001)) end
        end)
        assert.equal("timeout", err.kind)
      end
    end)
  end
end)

describe("a caller", function()
  local peer, far

  local function open(opts) peer, far = kit.alone(opts) end

  after_each(function()
    if peer then peer:close() end
    peer = nil
  end)

  it("that is cancelled is forgotten at once, and the other side is told", function()
    open(CANCEL)
    koine.run(function()
      local others, done = {}, 0
      for i = 1, 4 do
        others[i] = koine.spawn(function()
          local result, err = peer:request(i == 1 and "initialize" or "m", { i })
          done = done + 1
          return result, err
        end)
      end
      koine.sleep(0)
      assert.equal(4, #far.heard())
      for _, i in ipairs { 1, 2 } do -- the first one carries the tasks of the peer
        others[i]:cancel()
        assert.is_nil(peer.calls.by_id[i])
      end
      assert.same({ { jsonrpc = "2.0", method = "cancelled", params = { id = 2 } } }, far.heard())
      for i = 4, 1, -1 do far.say { id = i, result = i } end
      assert.same({ 3, 4 }, { others[3]:wait(), others[4]:wait() })
      assert.same({ 2, 2 }, { done, peer.counts.late })
    end)
  end)

  it("that is cancelled before its request is written asks nothing", function()
    peer, far = kit.alone(CANCEL, 0) -- the first one is being written, until it is heard
    koine.run(function()
      local tasks = {}
      for i = 1, 3 do tasks[i] = koine.spawn(function() return peer:request("m", { i }) end) end
      koine.sleep(0)
      tasks[2]:cancel()
      local names = {}
      for _ = 1, 5 do
        for _, message in ipairs(far.heard()) do names[#names + 1] = message.method .. message.id end
        koine.sleep(0.001)
      end
      assert.same({ "m1", "m3" }, names)
      peer:close()
    end)
  end)

  it("that is late is told so, in time; the other side too", function()
    open(CANCEL)
    local _, err = peer:request("m", nil, { timeout = 0.01 })
    assert.same({ "timeout", "total", false, "m: no answer in time" },
      { err.kind, err.code, err.retryable, err.message })
    local heard = far.heard()
    assert.same({ "m", "cancelled" }, { heard[1].method, heard[2].method })
    koine.run(function()
      local result, late = koine.timeout(0.01, function() return peer:request "m" end)
      assert.is_nil(result)
      assert.equal("timeout", late.kind)
      assert.same({ "m", "cancelled" }, { far.heard()[1].method, "cancelled" })
    end)
    assert.is_true(peer.calls:is_empty())
  end)

  it("in plain Lua has the handlers run that it leaves behind, and the next one has them end", function()
    local ended = 0
    open { requests = { m = function()
      koine.sleep(0.02)
      ended = ended + 1
      return "slept"
    end } }
    far.say { id = 0, method = "m" }
    far.say { id = 1, result = "first" }
    assert.equal("first", peer:request "x")
    assert.equal(0, ended)
    assert.equal("timeout", select(2, peer:request("x", nil, { timeout = 0.1 })).kind)
    assert.equal(1, ended)
  end)

  it("in a run finds the tasks that plain Lua left, and the other way round", function()
    open { requests = { m = function(params)
      koine.sleep(0.005)
      return params
    end } }
    local n = 0
    local function ask()
      n = n + 1
      far.say { id = n, method = "m", params = { n } }
      far.say { id = n, result = n }
      assert.equal(n, peer:request "x")
    end
    for _ = 1, 3 do
      ask()
      koine.run(ask)
      for _, loop in pairs(kit.loops) do loop(ask) end
      coroutine.wrap(ask)()
      koine.run(function() coroutine.wrap(ask)() end)
    end
    assert.is_true(peer:settle(kit.SAFETY))
    local answers = 0
    for _, message in ipairs(far.heard()) do answers = answers + (message.result and 1 or 0) end
    assert.equal(n, answers)
  end)

  it("that blocks the thread in a handler, where its answer cannot come, is refused", function()
    local err
    open { requests = { m = function()
      local asked = coroutine.wrap(function() return select(2, peer:request "back") end)
      err = asked()
    end } }
    far.say { id = 0, method = "m" }
    peer.shared:turn()
    assert.same({ "timeout", "lock" }, { err.kind, err.code })
  end)

  it("that waits while the peer is closed has an error; handlers are cancelled", function()
    local closed = false
    open { requests = { m = function()
      local gone <close> = setmetatable({}, { __close = function() closed = true end }) -- luacheck: ignore gone
      koine.sleep(kit.SAFETY)
    end } }
    koine.run(function()
      local tasks = { koine.spawn(function() return select(2, peer:request "a") end),
        koine.spawn(function() return select(2, peer:serve()) end) }
      far.say { id = 0, method = "m" }
      koine.sleep(0.001)
      peer:close()
      for _, task in ipairs(tasks) do assert.equal("cancelled", task:wait().kind) end
    end)
    assert.is_true(closed)
    assert.equal("cancelled", select(2, peer:request "a").kind)
    assert.equal("cancelled", select(2, peer:notify "a").kind)
    peer:close()
  end)

  it("may close the peer in a handler of its own", function()
    open { requests = { m = function() peer:close() end } }
    far.say { id = 0, method = "m" }
    assert.equal("cancelled", select(2, peer:request "a").kind)
  end)

  it("may ask again in the handler of a notification", function()
    local inner
    open { notifications = { update = function()
      far.say { id = 2, result = "inner" }
      inner = assert(peer:request("inner", nil, { session = "s" }))
      far.say { id = 1, result = "outer" }
    end }, session = function() return "s" end }
    far.say { method = "update", params = {} }
    assert.equal("outer", peer:request("m", nil, { session = "s" }))
    assert.equal("inner", inner)
  end)

  it("that nobody keeps is collected with its peer", function()
    local weak = setmetatable({}, { __mode = "v" })
    do
      local one, other = kit.alone { requests = { m = function() koine.sleep(kit.SAFETY) end } }
      other.say { id = 0, method = "m" }
      one:request("x", nil, { timeout = 0.001 })
      weak[1] = one
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(weak[1])
  end)

  it("is one of a thousand", function()
    open()
    local N, sum, functions = 1000, 0, {}
    for i = 1, N do
      functions[i] = function()
        local one = assert(peer:request("m", { i }))
        sum = sum + one
      end
    end
    functions[N + 1] = function()
      local heard = 0
      while heard < N do
        for _, request in ipairs(far.heard()) do
          far.say { id = request.id, result = request.params[1] }
          heard = heard + 1
        end
        koine.sleep(0)
      end
    end
    kit.loops.run(table.unpack(functions))
    assert.equal(N * (N + 1) // 2, sum)
  end)
end)
