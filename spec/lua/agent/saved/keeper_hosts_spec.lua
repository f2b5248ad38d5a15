-- Kept runs in the loops of other programs: the lease is renewed while a tool waits, and its loss breaks the tool off,
-- while other coroutines go on.

local koine = require "koine"
local kit = require "spec.lua.agent.kit"
local loops = require "spec.lua.task.hosts.loops"
local watched = require "spec.lua.agent.saved.watched_store"

for _, name in ipairs { "cqueues", "luv", "poll" } do
  describe("a kept run in " .. name, function()
    before_each(koine.hosts[name].install)
    after_each(koine.hosts[name].uninstall)

    it("keeps its lease while a tool waits, and stops at once without it", function()
      local store = koine.store.memory {}
      local seen = watched(store)
      local keeper = koine.agent.keeper { store = seen, key = "k", owner = "one", ttl = 0.06 }
      local agent = kit.make(kit.play(kit.calls(kit.use "c1"), kit.calls(kit.use "c2")), { tools = { kit.add(
        function(_, ctx)
          if ctx.call.id == "c2" then koine.sleep(60) end
          repeat koine.sleep(0.005) until seen.calls.lease >= 4
          return "done"
        end) } })
      local run, err, calls
      local others = 0
      loops[name](function()
        run = assert(keeper:start(agent, "Go"))
        local _
        _, err = run:result()
        calls = run:summary().calls
      end, function()
        while not run or run:summary().steps < 2 do
          others = others + 1
          koine.sleep(0.002)
        end
        repeat koine.sleep(0.002) until run.state.calls and run.state.calls[1].started
        store:release("k", "one")
        assert(store:lease("k", "two", 60))
      end)
      assert.is_true(others > 5)
      assert.are.same({ "cancelled", "lease_lost" }, { err.kind, err.code })
      assert.are.same({ 1, "c1", false }, { #calls, calls[1].id, calls[1].is_error })
    end)
  end)
end
