-- What a dispatcher on a store does when processes die or sleep: rows of the table of docs/scaling.md. The
-- engine that is away is in away_spec.

local kit = require "spec.lua.dispatch.shared.kit"
local koine = require "koine"

describe("a dispatcher on a store", function()
  local lab, a, b

  before_each(function() lab, a, b = kit.pair() end)

  -- Lets the leases of a process that is gone end.
  local function expire() lab.time = lab.time + 61 end

  -- Has so many machines die in a turn, one after the other. look(machine, i) is called before each death.
  local function die_in_turns(n, look)
    for i = 1, n do
      local one = lab:machine("C" .. i)
      one:start_held()
      if look then look(one, i) end
      one:crash()
      expire()
    end
    lab.hold = false
  end

  -- Has a machine begin to run and die in an operation: before the store has it, or after.
  local function die_in(one, name, when)
    one[when][name] = kit.hang
    one:start()
    lab:settle()
    one:crash()
    expire()
  end

  describe("whose process dies before the history is put", function()
    it("plays the batch again elsewhere, with tries 2 and the history of before", function()
      assert(a:say("T1", "ann", "first"))
      a:drain()
      lab:words()
      assert(a:say("T1", "ann", "m"))
      koine.run(function()
        a:start_held()
        a:crash()
        lab.hold = false
        assert.are.equal("A:m", lab:words())
        assert.are.equal(0, b:drain()) -- the lease lives
        expire()
        assert.are.equal(1, b:drain())
      end)
      assert.are.equal("B:m(2) B:done:m B:ok", lab:words())
      assert.are.equal("<first>", b.turn.ctx.history)
      assert.are.equal("<first><m>", lab:history "T1")
      assert.are.equal(0, lab:left "T1")
    end)

    it("gives a message up that was begun three times: on_error, a warning, a dead letter", function()
      assert(a:say("T1", "ann", "m1"))
      assert(a:say("T1", "bob", "m2"))
      koine.run(function()
        die_in_turns(3, function(one, i) assert.are.equal(i, one.turn.ctx.tries) end)
        lab:words()
        assert(a:say("T1", "ann", "m3"))
        assert.are.equal(2, b:drain())
      end)
      assert.are.equal("B:error:m1:other B:error:m2:other B:warning B:m3 B:done:m3 B:ok", lab:words())
      assert.are.equal("max_tries", b.errors[1].code)
      assert.are.equal("given up: its turn was begun 3 times and did not come to an end", b.warnings[1].text)
      assert.are.equal(2, b.d:stats().dead)
      local count, items = lab:left("T1", true)
      assert.are.equal(2, count)
      assert.is_truthy(items[1].item:find('"m1"', 1, true))
      assert.are.equal("<m3>", lab:history "T1")
    end)

    it("does not give a message up for turns that a shutdown gave back, but counts them in ctx.tries", function()
      assert(a:say("T1", "ann", "m1"))
      koine.run(function()
        lab.hold = true
        for i = 1, 6 do
          local one = lab:machine("C" .. i)
          one:start()
          lab:settle()
          assert.are.equal(i, one.turn.ctx.tries)
          if i == 2 or i == 4 then
            one:crash()
            expire()
          else
            assert.are.equal(1, #one.d:shutdown())
          end
        end
        b:start()
        lab:settle()
        b:crash() -- the third one
        expire()
        lab.hold = false
        lab:words()
        a:drain()
      end)
      assert.are.equal("A:error:m1:other A:warning", lab:words())
    end)

    it("does not count claims in which a message only waited", function()
      a, b = lab:machine("A", { mode = "per-message" }), lab:machine("B", { mode = "per-message" })
      for i = 1, 6 do assert(a:say("T1", "ann", "m" .. i)) end
      for i = 1, 5 do
        assert.is_true(a.d:step())
        assert.are.equal(1, a.turn.ctx.tries, "m" .. i)
      end
      koine.run(function()
        b:start_held()
        b:crash()
        lab.hold = false
        expire()
        lab:words()
        a:drain()
      end)
      assert.are.equal("A:m6(2) A:done:m6 A:ok", lab:words())
    end)

    it("does not give up messages of a batch that came later than those that were begun", function()
      assert(a:say("T1", "ann", "m1"))
      koine.run(function()
        die_in_turns(3)
        assert(a:say("T1", "bob", "m2"))
        lab:words()
        b:drain()
      end)
      assert.are.equal("B:error:m1:other B:warning B:m2 B:done:m2 B:ok", lab:words())
    end)
  end)

  describe("whose process dies between put and ack", function()
    for _, case in ipairs { { "put", "after" }, { "ack", "before" } } do
      it(("(%s %s) plays nothing twice: the next owner acknowledges, and warns"):format(case[2], case[1]), function()
        assert(a:say("T1", "ann", "m1"))
        koine.run(function()
          die_in(a, case[1], case[2])
          lab:words()
          assert(b:say("T1", "ann", "m2"))
          assert.are.equal(1, b:drain())
          lab:settle()
        end)
        assert.are.equal("B:warning B:m2 B:done:m2 B:ok", lab:words())
        assert.are.equal("<m1><m2>", lab:history "T1")
        assert.are.equal(1, b.d:stats().untold)
        assert.are.equal("untold", b.warnings[1].err.code)
        assert.is_truthy(b.warnings[1].err.message:find(": 1$"))
        assert.are.equal(0, lab:left "T1")
      end)
    end

    it("plays them again where the put did not arrive", function()
      assert(a:say("T1", "ann", "m1"))
      koine.run(function()
        die_in(a, "put", "before")
        lab:words()
        b:drain()
      end)
      assert.are.equal("B:m1(2) B:done:m1 B:ok", lab:words())
      assert.are.equal("<m1>", lab:history "T1")
    end)

    it("plays the next ones once the lease is over where only unclaim is missing", function()
      assert(a:say("T1", "ann", "m1"))
      koine.run(function()
        die_in(a, "unclaim", "before")
        lab:words()
        assert(b:say("T1", "ann", "m2"))
        b:drain()
      end)
      assert.are.equal("B:m2 B:done:m2 B:ok", lab:words())
    end)
  end)

  it("that dies in any operation loses no message, and plays none that was acknowledged", function()
    local function messages(one)
      for i = 1, 3 do assert(one:say("T1", i % 2 == 0 and "ann" or "bob", "m" .. i)) end
    end
    local n = 0
    repeat
      n = n + 1
      local over = true
      for _, when in ipairs { "before", "after" } do
        lab = kit.lab()
        a = lab:machine("A", { mode = "per-lane" })
        b = lab:machine("B", { mode = "per-lane", max_tries = 1000 })
        messages(b)
        local first = a.operations
        a[when].any = function(one)
          if one.operations >= first + n then
            over = false
            kit.hang()
          end
        end
        koine.run(function()
          a:start()
          for _ = 1, 3 do lab:settle() end
          a:crash()
          expire()
          b:drain()
        end)
        local seen = {}
        for m in lab:history("T1"):gmatch "m%d" do
          assert.is_nil(seen[m], ("%s is twice in %s (%s operation %d)"):format(m, lab:history "T1", when, n))
          seen[m] = true
        end
        assert.is_true(seen.m1 and seen.m2 and seen.m3, lab:history "T1")
        assert.are.equal(0, lab:left "T1")
      end
    until over and n > 10 or n > 60
    assert.is_true(n > 12 and n < 60, n .. " operations")
  end)

  describe("whose machine sleeps past its lease", function()
    it("changes nothing when it wakes up: put and ack fail by the fence", function()
      assert(a:say("T1", "ann", "m1"))
      koine.run(function()
        a:start_held()
        expire()
        lab.hold = false
        b:drain()
        lab:settle()
        assert.are.equal("A:m1 B:m1(2) B:done:m1 B:ok", lab:words())
        assert(b:say("T1", "ann", "m2"))
        a.before.claim = kit.hang
        lab:go()
        assert.are.equal("A:lost", lab:words())
        assert.are.equal(1, a.d:stats().lost)
        assert.are.equal("lost", a.records[1].outcome)
        assert.are.equal("<m1>", lab:history "T1")
        assert.are.equal(1, lab:left "T1")
        a:crash()
      end)
    end)

    it("cancels the turn as soon as it sees that the lease is another's", function()
      a = lab:machine("A", { ttl = 0.03 }) -- of a clock that stands still; the renewals come by the machine's own
      assert(a:say("T1", "ann", "m1"))
      koine.run(function()
        a:start_held()
        while (a.counts.lease or 0) < 2 do koine.sleep(0.002) end
        assert.is_false(a.turn.ctx.cancelled())
        lab.time = lab.time + 1
        assert(lab.store:claim("B", 60))
        lab:await "A:m1 A:lost"
        assert.is_true(a.turn.ctx.cancelled())
        a:crash()
      end)
    end)

    it("releases the lease that a renewal took anew after its end", function()
      a = lab:machine("A", { ttl = 0.03 })
      assert(a:say("T1", "ann", "m1"))
      koine.run(function()
        a:start_held()
        a.before.claim = kit.hang
        lab.time = lab.time + 1
        lab:await "A:m1 A:lost"
        assert.is_truthy(lab.store:claim("B", 60))
        a:crash()
      end)
    end)

    it("does not begin a turn under a lease that ended before", function()
      a = lab:machine("A", { ttl = 0.03 })
      assert(a:say("T1", "ann", "m1"))
      a.after.get = function(one)
        one.after.get = nil
        koine.sleep(0.05)
        lab.time = lab.time + 1
        assert(lab.store:claim("B", 60))
      end
      a:drain()
      assert.are.equal("", lab:words())
      assert.are.equal(0, a.counts.put or 0)
    end)

    it("does not play the thread anew before its earlier turn has returned", function()
      local now = 0
      a = lab:machine("A", { ttl = 0.03, now_ms = function() return now end })
      a.obeys = false
      assert(a:say("T1", "ann", "m1"))
      koine.run(function()
        a:start_held()
        lab.time = lab.time + 1
        while a.d:stats().threads < 2 do koine.sleep(0.002) end
        assert.are.equal("A:m1", lab:words())
        lab:go()
        lab:await "A:lost A:m1(2) A:done:m1 A:ok"
        a:crash()
      end)
    end)

    it("keeps the thread that it claimed anew while its earlier turn loses it", function()
      a = lab:machine("A", { ttl = 0.3 })
      a.obeys = false
      assert(a:say("T1", "ann", "m1"))
      koine.run(function()
        a:start_held()
        lab.time = lab.time + 1
        assert(a:say("T1", "ann", "m2")) -- it looks at once
        lab:settle()
        assert.are.equal(2, a.d:stats().threads)
        lab.time = lab.time + 0.2
        while (a.counts.lease or 0) < 4 do koine.sleep(0.01) end -- both have asked for the lease, and asked again
        assert.is_nil(a.counts.release)
        assert.is_false((lab.store:lease("dispatch:slack:T1", "B", 60)))
        lab.hold = false
        a:crash()
      end)
    end)
  end)
end)
