-- Peers on real programs, in plain Lua, in tasks and in every host: answers, turns, ends, and programs that do not
-- read.

local core = require "koine.core"
local kit = require "spec.lua.protocol.rpc.kit"
local koine = require "koine"
local process_kit = require "spec.lua.system.process_kit"
local rpc = require "koine.protocol.rpc"

local LUA = arg and arg[-1] or "lua5.4"

describe("a peer on a program", function()
  local dir, program, peer

  before_each(function() dir = process_kit.begin() end)

  local function close()
    if peer then peer:close() end
    if program then program:close() end
    peer, program = nil, nil
  end

  after_each(function()
    close()
    process_kit.finish(dir)
  end)

  -- Starts the program with that manner, and a peer on it.
  local function open(opts, ...)
    local argv, process_opts = { LUA, "spec/lua/protocol/rpc/other_side.lua", ... }, opts.process or {}
    opts.process, process_opts.grace = nil, 0.01
    program = assert(koine.process.open(argv, process_opts))
    peer = rpc.new(program, opts)
  end

  for name, loop in pairs(kit.all) do
    describe("in " .. name, function()
      it("hears its answers behind a banner", function()
        loop(function()
          open({}, "banner")
          for i = 1, 20 do assert.same({ i }, { table.unpack(assert(peer:request("m", { i }))) }) end
          assert.same({ 3, "{ not json" }, { peer.counts.stray, peer.said })
          close()
        end)
      end)

      it("hears answers that come a byte at a time", function()
        loop(function()
          open({}, "bytes")
          assert.same({ "ä\n", core.null, 1 << 60 }, { table.unpack(assert(peer:request("m", { "ä\n", core.null,
            1 << 60 }))) })
          close()
        end)
      end)

      it("plays a turn with requests and notifications of both sides", function()
        loop(function()
          local updates, asked = {}, {}
          open({ requests = { ask = function(params, request)
            koine.sleep(0.002)
            asked[#asked + 1] = { request.id, params[1] }
            return { "told", params[1] }
          end }, notifications = { update = function(params) updates[#updates + 1] = params.n end },
            session = function(_, params) return params.session end }, "turn")
          for turn = 1, 3 do
            local heard = assert(peer:request("turn", {}, { session = "s", timeout = kit.SAFETY }))
            local by_id = {}
            for _, answer in ipairs(heard) do by_id[answer.id] = answer end
            assert.same({ 1, 2, 3, 4, 5, 6 }, updates)
            assert.equal(1, by_id[0].result[2])
            assert.equal(-32601, by_id["0"].error.code)
            assert.same({ 4, 5 }, { by_id.one.result[2], by_id[2.5].result[2] })
            assert.equal("told", by_id[turn].result[1])
            updates = {}
          end
          assert.equal(15, #asked)
          close()
        end)
      end)

      it("hears of its death", function()
        loop(function()
          open({}, "dies", "1")
          local _, err = peer:request "m"
          assert.same({ "connect", "closed" }, { err.kind, err.code })
          assert.equal("I am gone\n", program:result().stderr)
          local _, again = peer:request "m"
          assert.equal("connect", again.kind)
          close()
        end)
      end)

      it("does not wait longer than it was told for a side that never pauses", function()
        for _, method in ipairs { "update", "nothing" } do
          for _, session in ipairs { "s", "other" } do
            loop(function()
              local n = 0
              open({ queue_max = 10, notifications = { update = function() n = n + 1 end },
                session = function(_, params) return params.session end }, "floods", method, session)
              repeat -- the program may need longer to begin
                local _, err = peer:request("m", nil, { timeout = 0.03, session = "s" })
                assert.equal("timeout", err.kind)
              until n > 0 or peer.counts.unknown > 0 or peer.inbox.boxes.other
              assert.equal(method == "update" and session == "s", n > 0)
              close()
            end)
          end
        end
      end)

      it("does not wait longer than it was told", function()
        loop(function()
          open({}, "deaf", dir .. "/go")
          local before = os.time()
          local big = { ("x"):rep(1 << 20) }
          for i = 1, 3 do
            local _, err = peer:request("m", { i, big[1] }, { timeout = 0.02 })
            assert.same({ "timeout", "total" }, { err.kind, err.code })
          end
          assert.equal("timeout", select(2, peer:notify("m", big, { timeout = 0.02 })).kind)
          assert.is_true(os.time() - before < kit.SAFETY)
          assert(io.open(dir .. "/go", "w")):close()
          local result = assert(peer:request("m", { "after" }, { timeout = kit.SAFETY }))
          assert.equal("after", result[1])
          close()
        end)
      end)
    end)
  end

  for name, loop in pairs(kit.loops) do
    describe("among others in " .. name, function()
      it("hears answers that come in reverse", function()
        local N, results = 50, {}
        open({}, "reverse", tostring(N))
        local askers = {}
        for i = 1, N do
          askers[i] = function() results[i] = assert(peer:request("m", { i }, { timeout = kit.SAFETY }))[1] end
        end
        loop(table.unpack(askers))
        for i = 1, N do assert.equal(i, results[i]) end
        assert.is_true(peer.calls:is_empty())
      end)

      it("fails three calls at its death", function()
        open({}, "dies", "3")
        local kinds, askers = {}, {}
        for i = 1, 3 do askers[i] = function() kinds[i] = select(2, peer:request "m").kind end end
        loop(table.unpack(askers))
        assert.same({ "connect", "connect", "connect" }, kinds)
      end)

      it("that never pauses holds up nobody else", function()
        open({}, "floods", "nothing", "s")
        local n, err = 0, nil
        loop(function() err = select(2, peer:request("m", nil, { timeout = 0.1 })) end, function()
          while not err do
            assert(koine.sleep(0.001))
            n = n + 1
          end
        end)
        assert.equal("timeout", err.kind)
        assert.is_true(n > 5, n)
      end)

      it("that does not read holds up nobody else", function()
        open({}, "deaf", dir .. "/go")
        local other_program <close> = assert(koine.process.open({ LUA, "spec/lua/protocol/rpc/other_side.lua", "echo" },
          { grace = 0.01 }))
        local other <close> = rpc.new(other_program, {})
        local n = 0
        loop(function()
          assert.equal("timeout", select(2, peer:request("m", { ("x"):rep(1 << 20) }, { timeout = 0.3 })).kind)
        end, function()
          assert.equal("timeout", select(2, peer:request("m", { ("x"):rep(1 << 20) }, { timeout = 0.3 })).kind)
        end, function()
          for i = 1, 50 do
            assert(other:request("m", { i }))
            n = n + 1
          end
        end)
        assert.equal(50, n)
      end)
    end)
  end

  it("hears a line of 10 MiB, and breaks at one that is too long", function()
    open({ process = { line_max = 11 << 20 } }, "big")
    assert.equal(10 << 20, #assert(peer:request("m", { 10 << 20 })))
    local _, err = peer:request("m", { 12 << 20 })
    assert.same({ "limit", "line" }, { err.kind, err.code })
  end)

  it("stops the program while nobody takes what it says", function()
    local N, taken = 3000, 0
    open({ queue_max = 100, notifications = { update = function(params)
      taken = taken + 1
      assert.equal(taken, params.n)
    end }, session = function(_, params) return params.session end }, "updates", tostring(N), dir .. "/count")
    local function count() return tonumber(process_kit.read(dir .. "/count")) end
    koine.run(function()
      local task = koine.spawn(function() return peer:request("turn", { "end" }, { timeout = kit.SAFETY }) end)
      local before
      repeat
        before = count() or -1
        koine.sleep(0.1)
      until count() == before
      assert.is_true(before < N, before)
      assert.equal(0, taken)
      while not task.done do
        peer:take "s"
        koine.sleep(0)
      end
      assert.equal("end", task:wait()[1])
    end)
    peer:take "s"
    assert.equal(N, taken)
  end)

  it("that babbles is broken, and no more is read", function()
    open({}, "babbles")
    assert.equal("protocol", select(2, peer:request "m").kind)
    assert.equal(100, peer.counts.stray)
  end)

  it("keeps what on_stderr raises, as its error", function()
    open({ process = { on_stderr = function() error("no such log", 0) end } }, "dies", "1")
    local _, err = peer:request "m"
    assert.is_truthy(err.kind == "other" and err.message == "no such log" or err.kind == "connect", err.message)
  end)
end)
