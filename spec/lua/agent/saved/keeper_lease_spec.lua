-- Runs that are kept in a store: losing the lease, renewing it, a store that is away.

local koine = require "koine"
local keepers = require "spec.lua.agent.saved.keeper_kit"
local kit = require "spec.lua.agent.kit"
local watched = require "spec.lua.agent.saved.watched_store"

local KEY = keepers.KEY
local calls, play, use = kit.calls, kit.play, kit.use
local adder, assert_lost, keeper, robber = keepers.adder, keepers.assert_lost, keepers.keeper, keepers.robber

describe("koine.agent.keeper", function()
  before_each(keepers.begin)

  describe("loses the lease", function()
    it("while a model is silent: the call is broken off", function()
      local server <close> = assert(koine.testing.start())
      assert(server:script { { content = "", fault = { stall_after = 0 } }, { content = "From two." } })
      local function agent()
        local claude = koine.anthropic { model = "m", base_url = server.url, key = "k", retry = false }
        return koine.agent { adapter = claude }
      end
      for _, driver in ipairs { function(f) f() end, koine.run } do
        local over = koine.store.memory {}
        local run = assert(keeper("one", over, { ttl = 0.06 }):start(agent(), "Go"))
        server:reset()
        assert(server:script { { content = "", fault = { stall_after = 0 } }, { content = "From two." } })
        local seen = watched(over)
        run.hold.store = seen
        seen.hooks.lease = function(go, ...)
          if seen.calls.lease == 3 then
            over:release(KEY, "one")
            assert(over:lease(KEY, "two", 60))
          end
          return go(...)
        end
        driver(function() assert_lost(run, run:step()) end)
        assert.are.equal(3, seen.calls.lease)
        local other = keeper("two", over)
        local result = assert(assert(other:take(agent())):result())
        assert.are.equal("From two.", result.text)
      end
    end)

    it("while a tool runs: no further one begins, and the survivor runs those alone", function()
      local over
      local book = play(calls(use "c1", use "c2"), { content = "Done." })
      local events = 0
      local one = keeper "one"
      local run = assert(one:start(adder(book, function(id)
        if id == "c1" then over = robber(book) end
      end), "Go", { on_event = function() events = events + 1 end }))
      assert(run:step())
      local before = events
      assert_lost(run, run:step())
      assert.are.equal(before, events)
      assert.are.same({ "c1" }, keepers.ran)
      local result = assert(over:result())
      assert.are.same({ "c1", "c2" }, keepers.ran)
      assert.is_truthy(result.messages[3].content[1].content:find "^interrupted: ")
      assert.is_true(one:close())
    end)

    it("while it saves before a tool: the tool does not begin", function()
      local over
      local book = play(calls(use "c1"), { content = "Done." })
      local seen = watched(keepers.store)
      local run = assert(keeper("one", seen):start(adder(book), "Go"))
      seen.hooks.put = function(go, ...)
        if seen.calls.put == 3 then over = robber(book) end
        return go(...)
      end
      assert(run:step())
      assert_lost(run, run:step())
      assert.are.same({}, keepers.ran)
      assert.are.equal("Done.", assert(over:result()).text)
      assert.are.same({ "c1" }, keepers.ran)
    end)

    it("while it saves the end: the answer is not handed out", function()
      local book = play({ content = "Mine." }, { content = "Theirs." })
      local seen, events = watched(keepers.store), 0
      local function count() events = events + 1 end
      local run = assert(keeper("one", seen):start(adder(book), "Go", { on_event = count }))
      local over
      seen.hooks.put = function(go, ...)
        seen.hooks.put = nil
        over = robber(book)
        return go(...)
      end
      assert_lost(run, run:result())
      assert.are.equal(0, events)
      assert.are.equal("Theirs.", assert(over:result()).text)
    end)

    it("with several tools at once: those that wait are broken off", function()
      local book = play(calls(use "c1", use "c2", use "c3"), { content = "Done." })
      local done, over = {}, nil
      local run = assert(keeper "one":start(adder(book, function(id)
        if id == "c2" then over = robber(play { content = "Done." }) end
        if id == "c1" then koine.sleep(60) end
        done[#done + 1] = id
      end, { parallel = true }), "Go"))
      assert(run:step())
      koine.run(function() assert_lost(run, run:step()) end)
      assert.are.same({ "c1", "c2" }, { keepers.ran[1], keepers.ran[2] })
      assert.are.equal("c2", done[1])
      local n = #keepers.ran
      assert(over:result())
      assert.are.equal(n, #keepers.ran)
    end)

    it("when the value is deleted or replaced, or other owners came and went", function()
      for _, change in ipairs {
        function() keepers.store:delete(KEY) end,
        function() keepers.store:put(KEY, "mine now") end,
        function()
          keepers.time = keepers.time + 61
          keepers.store:lease(KEY, "two", 1)
          keepers.time = keepers.time + 1
        end,
        function()
          keepers.store:release(KEY, "one")
          keepers.store:lease(KEY, "two", 1)
          keepers.store:release(KEY, "two")
        end,
      } do
        keepers.store:delete(KEY)
        keepers.ran = {}
        local run = assert(keeper "one":start(adder(play(calls(use "c1", use "c2"))), "Go"))
        assert(run:step())
        change()
        assert_lost(run, run:step())
        assert.are.same({}, keepers.ran)
        keepers.time = keepers.time + 100
      end
    end)

    it("but goes on where it ended unnoticed and nobody else had it", function()
      local fences = {}
      local run = assert(keeper("one", koine.store.memory {}, { ttl = 0.01 }):start(adder(nil, function(_, ctx)
        fences[#fences + 1] = ctx.lease.fence
        koine.block({}, 0.02)
      end), "Go"))
      assert.are.equal("Done.", assert(run:result()).text)
      assert.is_true(fences[2] > fences[1])
      assert.are.same({ "c1", "c2" }, keepers.ran)
    end)
  end)

  describe("renews the lease", function()
    -- A tool that waits until the lease was asked for so often.
    local function patient(seen, n)
      return function() repeat koine.sleep(0.005) until seen.calls.lease >= n end
    end

    for name, driver in pairs { ["in plain Lua"] = function(f) f() end, ["in koine.run"] = koine.run } do
      it("while a tool waits, " .. name, function()
        local over = koine.store.memory {}
        local seen = watched(over)
        local run = assert(keeper("one", seen, { ttl = 0.06 }):start(adder(nil, patient(seen, 6)), "Go"))
        driver(function() assert.are.equal("Done.", assert(run:result()).text) end)
        local n = seen.calls.lease
        koine.sleep(0.05)
        assert.are.equal(n, seen.calls.lease) -- nothing is left behind
      end)
    end

    it("before a save, where the thread was blocked", function()
      local seen = watched(koine.store.memory {})
      local run = assert(keeper("one", seen, { ttl = 0.03 }):start(adder(nil, function()
        koine.block({}, 0.02)
      end), "Go"))
      assert.are.equal("Done.", assert(run:result()).text)
      assert.is_true(seen.calls.lease >= 3)
    end)

    it("and does not mind a store that is away meanwhile", function()
      local over = koine.store.memory {}
      local seen = watched(over)
      local failures = 0
      seen.hooks.lease = function(go, ...)
        if seen.calls.lease % 2 == 0 then
          failures = failures + 1
          return nil, koine.errors.new { kind = "connect", message = "away" }
        end
        return go(...)
      end
      local run = assert(keeper("one", seen, { ttl = 0.06 }):start(adder(nil, patient(seen, 8)), "Go"))
      assert.are.equal("Done.", assert(run:result()).text)
      assert.is_true(failures >= 2)
    end)
  end)

  describe("with a store that is away", function()
    local away = function(kind) return koine.errors.new { kind = kind or "connect", message = "no route" } end

    it("tries a save again", function()
      local seen = watched(keepers.store)
      seen.hooks.put = function(go, ...)
        if seen.calls.put % 2 == 0 then return nil, away(seen.calls.put % 4 == 0 and "overloaded") end
        return go(...)
      end
      local run = assert(keeper("one", seen):start(adder(), "Go"))
      assert.are.equal("Done.", assert(run:result()).text)
      assert.are.same({ "c1", "c2" }, keepers.ran)
    end)

    it("recognises a put that had happened", function()
      local seen = watched(keepers.store)
      seen.hooks.put = function(go, ...)
        local version, current = go(...)
        if seen.calls.put % 2 == 1 then return nil, away "timeout" end
        return version, current
      end
      local run = assert(keeper("one", seen):start(adder(), "Go"))
      assert.are.equal("Done.", assert(run:result()).text)
      assert.are.same({ "c1", "c2" }, keepers.ran)
    end)

    it("gives the error after its timeout, begins no tool, and loses nothing", function()
      local seen = watched(keepers.store)
      local run = assert(keeper("one", seen, { timeout = 0 }):start(adder(), "Go"))
      local gone = function() return nil, away() end
      seen.hooks.put = gone
      local made, err, events = run:step()
      assert.is_nil(made)
      assert.are.same({ "connect", 'keeper: run "runs/42": it could not be saved: no route', true },
        { err.kind, err.message, err.retryable })
      assert.are.equal("tool_call", events[1].kind)
      assert.are.equal("failed", run:summary().status)
      made, err = run:step()
      assert.is_nil(made)
      assert.are.equal("connect", err.kind)
      seen.hooks.put = nil
      assert.are.same({}, run:step()) -- saves
      assert.are.same({}, keepers.ran)
      seen.hooks.put = gone
      assert.is_nil((run:step()))
      assert.are.same({}, keepers.ran)
      seen.hooks.put = nil
      local result = assert(run:result())
      assert.are.same({ "Done.", 3 }, { result.text, result.steps })
      assert.are.same({ "c1", "c2" }, keepers.ran)
    end)

    it("does not count a run as ended before its end is saved", function()
      local seen = watched(keepers.store)
      local one = keeper("one", seen, { timeout = 0 })
      local run = assert(one:start(adder(play { content = "Done." }), "Go"))
      seen.hooks.put = function() return nil, away() end
      for _ = 1, 2 do
        local result, err = run:result()
        assert.is_nil(result)
        assert.are.equal("connect", err.kind)
      end
      local closed, err = one:close()
      assert.is_nil(closed)
      assert.are.equal("connect", err.kind)
    end)

    it("gives errors that will not pass at once", function()
      local seen = watched(keepers.store)
      local run = assert(keeper("one", seen):start(adder(), "Go"))
      seen.hooks.put = function() return nil, away "permission" end
      local made, err = run:step()
      assert.is_nil(made)
      assert.are.same({ "permission", 2 }, { err.kind, seen.calls.put })
      for _, name in ipairs { "lease", "get", "put" } do
        local shaky = watched(koine.store.memory {})
        shaky.hooks[name] = function() return nil, away() end
        local started
        started, err = keeper("one", shaky, { timeout = 0 }):start(adder(), "Go")
        assert.is_nil(started)
        assert.are.equal("connect", err.kind)
        if name ~= "put" then
          started, err = keeper("one", shaky):take(adder())
          assert.is_nil(started)
          assert.are.equal("connect", err.kind)
        end
      end
    end)

    it("is cancelled while it waits, and goes on elsewhere", function()
      local seen = watched(keepers.store)
      local one = keeper("one", seen)
      local run = assert(one:start(adder(), "Go"))
      seen.hooks.put = function(go, ...)
        go(...)
        run.tried = true
        return nil, away "timeout"
      end
      koine.run(function()
        local task = koine.spawn(function() return run:result() end)
        repeat koine.sleep(0) until run.tried
        assert.is_true(run:cancel())
        assert.are.equal("cancelled", assert(task:wait()).status)
      end)
      seen.hooks.put = nil
      assert.is_true(one:close()) -- though the put before it had happened
      assert.are.equal("cancelled", assert(keeper "two":take(adder())):summary().status)
      assert.are.same({}, keepers.ran)
    end)
  end)
end)
