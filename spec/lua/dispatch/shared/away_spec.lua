-- What a dispatcher on a store does when it loses the engine: the last row of the table of docs/scaling.md.

local kit = require "spec.lua.dispatch.shared.kit"
local koine = require "koine"

-- Whether a machine has made so many turns, and called the hooks of all of them.
local function has_made(one, turns)
  local stats = one.d:stats()
  return stats.dispatches == turns and stats.threads == 0 and stats.hooks == 0
end

describe("a dispatcher on a store", function()
  local lab, a, b

  before_each(function() lab, a, b = kit.pair() end)

  describe("whose engine is away", function()
    it("tries to put the end of a turn again", function()
      assert(a:say("T1", "ann", "m1"))
      a.before.put = kit.fail(2)
      assert.is_nil(a.d:stats().store_error)
      a:drain()
      assert.are.equal("A:m1 A:done:m1 A:ok", lab:words())
      assert.are.equal(3, a.counts.put)
      assert.are.equal(2, a.d:stats().store_errors)
      assert.are.equal("connect", a.d:stats().store_error.kind)
      assert.are.equal(0, lab:left "T1")
    end)

    it("says in stats why it claims nothing", function()
      a.before.claim = function() return nil, koine.errors.new { kind = "auth", message = "wrong password" } end
      a.before.watch = a.before.claim
      koine.run(function()
        a:start()
        local rounds = 0
        repeat
          rounds = rounds + 1
          koine.sleep(0.01)
        until rounds == 200 or a.d:stats().store_errors >= 2
        a:crash()
      end)
      assert.are.equal("auth", a.d:stats().store_error.kind)
    end)

    it("knows its own put whose answer was lost", function()
      assert(a:say("T1", "ann", "m1"))
      local store, lost = lab.store, kit.fail(1)
      a.before.put = function(one, _, ...)
        one.before.put = nil
        assert(store:put(...))
        return lost()
      end
      a:drain()
      assert.are.equal("A:m1 A:done:m1 A:ok", lab:words())
      assert.are.equal("<m1>", lab:history "T1")
    end)

    it("gives a turn up when it cannot be stored in time: it is played again", function()
      a = lab:machine("A", { store_timeout = 0 })
      assert(a:say("T1", "ann", "m1"))
      a.before.put = kit.fail()
      a:drain()
      assert.are.equal("A:m1 A:lost", lab:words())
      lab.time = lab.time + 61
      b:drain()
      assert.are.equal("B:m1(2) B:done:m1 B:ok", lab:words())
    end)

    it("lets submit fail, and keeps nothing", function()
      a.before.push = kit.fail(1)
      local accepted, err = a:say("T1", "ann", "m1")
      assert.is_nil(accepted)
      assert.are.equal("connect", err.kind)
      assert.are.equal(0, a:drain())
      assert.is_true(a:say("T1", "ann", "m1"))
      assert.are.equal(1, a:drain())
    end)

    for name, hint in pairs { ["never tells"] = false, ["tells of what is not there"] = true } do
      it("plays what comes where watch " .. name, function()
        a.before.watch = function()
          koine.sleep(0.01)
          return hint
        end
        koine.run(function()
          a:start()
          for i = 1, 3 do
            koine.sleep(0.05)
            assert(b:say("T" .. i, "ann", "m" .. i))
          end
          local rounds = 0
          repeat
            rounds = rounds + 1
            koine.sleep(0.02)
          until rounds == 500 or has_made(a, 3)
          a:crash()
        end)
        local words = lab:words()
        for i = 1, 3 do assert.are.equal(1, select(2, words:gsub("A:done:m" .. i, "")), words) end
        assert.are.same({ {}, {} }, { a.warnings, a.errors })
      end)
    end

    it("goes on when it is back: claims, watches and commands", function()
      for _, name in ipairs { "claim", "watch", "get", "ack", "unclaim" } do a.before[name] = kit.fail(1) end
      koine.run(function()
        a:start()
        assert(a:say("T1", "ann", "m1"))
        local rounds = 0
        repeat
          rounds = rounds + 1
          koine.sleep(0.02)
        until rounds == 200 or has_made(a, 1)
        a:crash()
      end)
      assert.are.equal("A:m1 A:done:m1 A:ok", lab:words())
      assert.are.equal(0, lab:left "T1")
    end)
  end)
end)
