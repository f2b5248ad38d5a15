-- Runs that are kept in a store: saving, taking up, who has it. Leases are in keeper_lease_spec, processes that are
-- killed in keeper_kill_spec.

local koine = require "koine"
local keepers = require "spec.lua.agent.saved.keeper_kit"
local kit = require "spec.lua.agent.kit"
local raised = require "spec.support.raised"
local watched = require "spec.lua.agent.saved.watched_store"

local KEY = keepers.KEY
local calls, make, play, use = kit.calls, kit.make, kit.play, kit.use
local adder, assert_lost, keeper, robber, survivor = keepers.adder, keepers.assert_lost, keepers.keeper, keepers.robber,
  keepers.survivor

describe("koine.agent.keeper", function()
  before_each(keepers.begin)

  it("keeps a run from its start to its end, and gives the lease back", function()
    local one = keeper "one"
    local run = assert(one:start(adder(), "Go"))
    assert.are.same({ false, 60 }, { keepers.store:lease(KEY, "two", 1) })
    local result = assert(run:result())
    assert.are.same({ "completed", "Done." }, { result.status, result.text })
    assert.is_true(one:close())
    assert.is_true(one:close())
    assert.are.equal("Done.", run:summary().text)
    assert.is_truthy(keepers.store:lease(KEY, "two", 1))
    keepers.store:release(KEY, "two")
    local other = keeper "two"
    assert.are.same({ "completed", "Done." }, { assert(other:take(adder())):result().status, "Done." })
    assert.are.same({ "c1", "c2" }, keepers.ran)
  end)

  it("saves before a tool runs: another process goes on, and runs no call again that was started", function()
    local died = {}
    local book = play(calls(use "c1", use "c2"), { content = "Done." })
    local one = keeper "one"
    local run = assert(one:start(adder(book, function(id)
      if id == "c1" then
        keepers.store.put = function() error(died) end -- the process ends inside the tool
      end
    end), "Go"))
    assert(run:step())
    assert.are.equal(died, raised(run.step, run))
    keepers.store.put = nil
    local over, other = survivor(book)
    local result = assert(over:result())
    assert.are.same({ "c1", "c2" }, keepers.ran)
    local blocks = result.messages[3].content
    assert.is_truthy(blocks[1].content:find "^interrupted: ")
    assert.are.equal("5", blocks[2].content)
    assert.is_true(other:close())
    local closed, err = one:close()
    assert.is_nil(closed)
    assert.are.equal("lease_lost", err.code)
    assert.is_true(one:close())
  end)

  it("says who has a run, that there is none, and that there is one", function()
    local one, two = keeper("one", nil, { ttl = 10 }), keeper "two"
    local none, err = two:take(adder())
    assert.is_true(none == nil and err == nil)
    local run = assert(one:start(adder(), "Go"))
    assert.are.same({ false, 10 }, { two:take(adder()) })
    assert.are.same({ false, 10 }, { two:start(adder(), "Go") })
    assert.is_true(one:close())
    local started
    started, err = two:start(adder(), "Go")
    assert.is_nil(started)
    assert.are.same({ "other", "exists" }, { err.kind, err.code })
    assert.are.equal(run:summary().steps, assert(two:take(adder())):summary().steps)
    assert.are.equal("keeper", raised(two.take, two, adder()).field)
  end)

  it("refuses wrong arguments, and leaves no lease behind", function()
    local store = keepers.store
    for field, given in pairs { store = { key = KEY }, key = { store = store }, ttl = { store = store, key = KEY,
      ttl = 0 }, owner = { store = store, key = KEY, owner = "" }, timeout = { store = store, key = KEY,
      timeout = -1 } } do
      assert.are.equal(field, raised.as("ArgumentError", koine.agent.keeper, given).field)
    end
    local long = { store = store, key = ("k"):rep(513), owner = "one" }
    assert.are.equal("key", raised.as("ArgumentError", koine.agent.keeper, long).field)
    long.key, long.owner = KEY, ("o"):rep(513)
    assert.are.equal("owner", raised.as("ArgumentError", koine.agent.keeper, long).field)
    local one = keeper "one"
    assert.are.equal("agent", raised.as("ArgumentError", one.take, one, {}).field)
    assert.are.equal("messages", raised.as("ArgumentError", one.start, one, adder(), {}).field)
    assert(one:start(adder(), "Go"))
    assert(one:close())
    assert.are.equal("nonsense", raised.as("ArgumentError", one.take, one, adder(), { nonsense = 1 }).field)
    assert.is_truthy(keepers.store:lease(KEY, "two", 1))
    assert.are.equal("keeper", raised.as("ArgumentError", one.close, {}).field)
  end)

  it("does not touch a value that is no dump", function()
    local version = assert(keepers.store:put(KEY, "shopping list"))
    local run, err = keeper "one":take(adder())
    assert.is_nil(run)
    assert.are.same({ "protocol", "bad_dump" }, { err.kind, err.code })
    assert.is_truthy(err.message:find(KEY, 1, true))
    assert.are.same({ "shopping list", version }, { keepers.store:get(KEY) })
    assert.is_truthy(keepers.store:lease(KEY, "two", 1))
  end)

  it("makes up an owner of its own", function()
    local one, two = keeper(nil), keeper(nil)
    assert(one:start(adder(), "Go"))
    assert.is_false((two:take(adder())))
  end)

  it("lets the same owner take its run up at once", function()
    assert(keeper "one":start(adder(), "Go")) -- and dies
    local run = assert(keeper "one":take(adder()))
    assert.are.equal("Done.", assert(run:result()).text)
  end)

  it("hands tools the lease, whose fence tells a tool that the run is elsewhere", function()
    local seen, put
    local one = keeper "one"
    local run = assert(one:start(adder(nil, function(id, ctx)
      seen = ctx.lease
      if id == "c2" then robber() end
      put = keepers.store:put("effect/" .. id, "x", { fence = { seen.key, seen.fence } })
    end), "Go"))
    assert(run:step())
    assert(run:step())
    assert.are.same({ KEY, "one", "integer" }, { seen.key, seen.owner, math.type(seen.fence) })
    assert.is_truthy(put)
    assert(run:step())
    assert_lost(run, run:step())
    assert.is_false(put)
  end)
  it("saves several tools at once one after the other", function()
    local seen, inside = watched(keepers.store), 0
    local book = play(calls(use "c1", use "c2", use "c3"), { content = "Done." })
    local run = assert(keeper("one", seen):start(adder(book, nil, { parallel = true }), "Go"))
    seen.hooks.put = function(go, ...)
      inside = inside + 1
      assert.are.equal(1, inside)
      koine.sleep(0.001)
      local version, current = go(...)
      inside = inside - 1
      return version, current
    end
    koine.run(function() assert.are.equal("Done.", assert(run:result()).text) end)
    assert.are.equal(1 + 1 + 1 + 3 + 1 + 1, seen.calls.put)
  end)

  it("saves what has happened until it is its turn", function()
    local seen, answered = watched(keepers.store), {}
    local book = play(calls(use "c1", use "c2", use "c3"), { content = "Done." })
    local run = assert(keeper("one", seen):start(adder(book, nil, { parallel = true }), "Go"))
    seen.hooks.put = function(go, key, value, options)
      koine.sleep(0.001)
      answered[#answered + 1] = select(2, value:gsub('"content":"5"', ""))
      return go(key, value, options)
    end
    koine.run(function() assert(run:result()) end)
    assert.are.equal(0, answered[2])
    assert.is_true(answered[3] >= 1)
    assert.are.same({ 3, 3 }, { answered[4], answered[5] })
  end)

  it("calls the agent's own checkpoint first, and saves nothing where that raises", function()
    local fail
    local seen = watched(keepers.store)
    local run = assert(keeper("one", seen):start(adder(nil, nil, { checkpoint = function(one)
      assert.is_string(one:dump())
      if fail then error("disk full", 0) end
    end }), "Go"))
    assert(run:step())
    local n = seen.calls.put
    fail = true
    assert.are.equal("disk full", raised(run.step, run))
    assert.are.same({ n, {} }, { seen.calls.put, keepers.ran })
    fail = false
    assert.are.equal("Done.", assert(run:result()).text)
  end)

  it("hands a run over when it is closed, whatever it is doing", function()
    local one = keeper "one"
    local book = play(calls(use "c1", use "c2"), { content = "Done." })
    local run = assert(one:start(adder(book, function() koine.sleep(60) end), "Go"))
    koine.run(function()
      local task = koine.spawn(function() return table.pack(run:result()) end)
      repeat koine.sleep(0) until keepers.ran[1]
      assert.is_true(one:close())
      local result = task:wait()
      assert.is_nil(result[1])
      assert.are.same({ "cancelled", "closed" }, { result[2].kind, result[2].code })
    end)
    local result = assert(assert(keeper "two":take(adder(book))):result())
    assert.are.equal("Done.", result.text)
    assert.are.same({ "c1", "c2" }, keepers.ran)
  end)

  it("is closed when its block is left, and an approval waits for whoever takes the run up", function()
    local book = play(calls(use "c1"), { content = "Done." })
    local careful = make(book, { tools = { kit.add(nil, { needs_approval = true }) } })
    do
      local one <close> = keeper "one"
      assert.are.equal("paused", assert(assert(one:start(careful, "Go")):result()).status)
    end
    local two <close> = keeper "two"
    local run = assert(two:take(careful))
    run:approve "c1"
    assert.are.equal("Done.", assert(run:result()).text)
  end)
end)
