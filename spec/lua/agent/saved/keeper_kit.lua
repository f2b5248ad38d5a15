--- What the specs of keepers share: a store in memory with a clock of the test's, agents whose tools are noted, other
-- processes that take a run up.

local assert = require "luassert"
local koine = require "koine"
local kit = require "spec.lua.agent.kit"

local KEY = "runs/42"
local calls, make, play, use = kit.calls, kit.make, kit.play, kit.use

local self = { KEY = KEY, time = 1000, store = nil, ran = {} } -- store and ran: those of the test that runs

--- Begins a test: a store in memory whose clock is self.time, and no tool that has run.
function self.begin()
  self.time, self.ran = 1000, {}
  self.store = koine.store.memory { clock = function() return self.time end }
end

--- A keeper of the run; `over` in place of the store, `more` options.
function self.keeper(owner, over, more)
  local given = { store = over or self.store, key = KEY, owner = owner }
  for name, value in pairs(more or {}) do given[name] = value end
  return koine.agent.keeper(given)
end

--- An agent that adds twice and says so; what runs is noted. `hook(id, ctx)` is called in each tool.
function self.adder(book, hook, more)
  return make(book or play(calls(use "c1"), calls(use "c2"), { content = "Done." }), { tools = { kit.add(
    function(args, ctx)
      self.ran[#self.ran + 1] = ctx.call.id
      if hook then hook(ctx.call.id, ctx) end
      return args.a + args.b
    end) }, parallel = more and more.parallel, checkpoint = more and more.checkpoint })
end

--- Another process, whose lease has ended ours: its keeper and run.
function self.survivor(book, hook)
  self.time = self.time + 61
  local other = self.keeper "two"
  return assert(other:take(self.adder(book, hook))), other
end

--- The same while ours is renewed by the minute.
function self.robber(book, hook)
  assert(self.store:release(KEY, "one"))
  local other = self.keeper "two"
  return assert(other:take(self.adder(book, hook))), other
end

--- Asserts that the run ended because its lease was lost, and stays so.
function self.assert_lost(run, made, err)
  assert.is_nil(made)
  assert.are.same({ "cancelled", "lease_lost", "CancelledError" }, { err.kind, err.code, err.class })
  assert.is_truthy(err.message:find('keeper: run "runs/42": ', 1, true))
  local again, same = run:step()
  assert.is_nil(again)
  assert.are.equal(err, same)
  local summary = run:summary()
  assert.are.same({ "cancelled", "lease_lost", err }, { summary.status, summary.reason, summary.error })
  assert.is_false(run:cancel())
end

return self
