-- A dispatcher on a store while nothing breaks: who plays what, in which order, at what cost, from which callers.

local kit = require "spec.lua.dispatch.shared.kit"
local koine = require "koine"
local raised = require "spec.support.raised"

describe("koine.dispatcher.shared", function()
  local lab, a, b

  before_each(function() lab, a, b = kit.pair() end)

  it("plays in plain Lua what another machine handed in, as one batch", function()
    assert.is_true(b:say("T1", "ann", "m1"))
    assert.is_true(b:say("T1", "bob", "m2"))
    assert.are.equal(1, a:drain())
    assert.are.equal("A:m1+m2 A:done:m2 A:ok", lab:words())
    assert.are.equal("<ann> m1 <bob> m2", kit.texts(a.turn.blocks))
    assert.are.equal(0, b:drain())
  end)

  it("gives hooks and target tables of their own, equal to what was handed in", function()
    local message = kit.message("ann", "m1", { trigger = { id = 7, at = 1.5, none = koine.null },
      extras = { { type = "text", text = "[File: a]" } }, other_bot_present = true })
    local address = { platform = "slack", thread_id = "T1", channel_id = "C1", team = "X" }
    assert(a.d:submit(address, message))
    b:drain()
    local got = b.turn.ctx.messages[1]
    assert.are.same(message, got)
    assert.are_not.equal(message, got)
    assert.are.equal("integer", math.type(got.trigger.id))
    assert.are.same(address, b.turn.ctx.thread)
    assert.is_true(b.turn.ctx.other_bot_present)
  end)

  it("takes the same id twice for one message, in one thread", function()
    assert.is_true(a:say("T1", "ann", "m1", "id-1"))
    assert.is_true(b:say("T1", "ann", "m1", "id-1"))
    a:drain()
    assert.is_true(b:say("T1", "ann", "m1", "id-1"))
    assert.are.equal(0, a:drain())
    assert.is_true(b:say("T2", "ann", "m2", "id-1"))
    a:drain()
    assert.are.equal("A:m1 A:done:m1 A:ok A:m2 A:done:m2 A:ok", lab:words())
  end)

  it("refuses what JSON cannot hold, naming the field", function()
    local cyclic = {}
    cyclic.self = cyclic
    for field, more in pairs { ["message.trigger"] = { trigger = print }, ["message.prompt"] = { prompt = "\xff" },
      ["message.more.list[2]"] = { more = { list = { 1, 0 / 0 } } }, ["message.who.name"] = { who = { name = "\xc0" } },
      ["message.sender"] = { sender = "ann" } } do
      local err = raised(a.d.submit, a.d, kit.thread "T1", kit.message("ann", "m1", more))
      assert.are.equal(field, err.field)
    end
    assert.is_truthy(raised(a.d.submit, a.d, kit.thread "T1", kit.message("ann", "m1", { c = cyclic })).field:find
      "^message%.c%.self")
    local address = kit.thread "T1"
    address.f = print
    assert.are.equal("thread.f", raised(a.d.submit, a.d, address, kit.message("ann", "m1")).field)
    for _, id in ipairs { ("x"):rep(500), "a\0b" } do
      local err = raised(a.d.submit, a.d, { platform = "p", thread_id = id }, { sender_json = "{}" })
      assert.are.equal("thread", err.field)
    end
    assert.are.equal("id", raised(a.d.submit, a.d, kit.thread "T1", kit.message("ann", "m1"), { id = 7 }).field)
    assert.are.equal("ids", raised(a.d.submit, a.d, kit.thread "T1", kit.message("ann", "m1"), { ids = "7" }).field)
    assert.are.equal(0, lab:left "")
  end)

  it("checks its options", function()
    local target = a.d.target
    for field, options in pairs { store = { target = target }, ttl = { store = lab.store, target = target, ttl = 0 },
      idle_timeout = { store = lab.store, idle_timeout = 1 }, prefix = { store = lab.store, prefix = "" },
      max_threads = { store = lab.store, max_threads = 0 }, owner = { store = lab.store, owner = "" } } do
      assert.are.equal(field, raised(koine.dispatcher.shared, options).field)
    end
    assert.are.equal("nothing (a shared dispatcher keeps no idle lanes)",
      raised(koine.dispatcher.shared, { store = lab.store, idle_timeout = 5 }).expected)
    for _, prefix in ipairs { ":", "a:b", "a:b:", "a::", "dead", "dead:", "a\0", ("a"):rep(101), ("a"):rep(100) } do
      assert.are.equal("prefix", raised(koine.dispatcher.shared, { store = lab.store, prefix = prefix }).field, prefix)
    end
    local mine = koine.dispatcher.shared { store = lab.store }
    assert.are.equal("target", raised(mine.run, mine).field)
    assert.are.equal("target", raised(mine.step, mine).field)
    assert.are_not.equal(mine.owner, koine.dispatcher.shared({ store = lab.store }).owner)
    assert.are.equal("dispatcher", raised(mine.stats, {}).field)
  end)

  it("starts the turn of an idle thread at once, without a look at any clock", function()
    koine.run(function()
      a:start()
      lab:settle()
      assert(b:say("T1", "ann", "m1"))
      lab:settle() -- in which no time passes
      assert.are.equal("A:m1 A:done:m1 A:ok", lab:words())
      a:crash()
    end)
  end)

  it("packs what comes during a turn into the next one", function()
    koine.run(function()
      lab.hold = true
      a:start()
      assert(b:say("T1", "ann", "m1"))
      lab:settle()
      assert(b:say("T1", "ann", "m2"))
      assert(b:say("T1", "bob", "m3"))
      lab:settle()
      assert.are.equal("A:m1", lab:words())
      lab:go()
      assert.are.equal("A:done:m1 A:ok A:m2+m3 A:done:m3 A:ok", lab:words())
      a:crash()
    end)
  end)

  it("has a noisy thread wait behind the others after each batch", function()
    a = lab:machine("A", { mode = "per-message" })
    for i = 1, 4 do assert(a:say("noisy", "bot", "n" .. i)) end
    for i = 1, 2 do
      lab.time = lab.time + 1
      assert(a:say("T" .. i, "ann", "m" .. i))
    end
    repeat lab.time = lab.time + 1 until not a.d:step()
    assert.are.equal("A:n1 A:m1 A:m2 A:n2 A:n3 A:n4", (lab:words():gsub(" A:done:%S+ A:ok", "")))
  end)

  it("plays no more threads at once than it may", function()
    a = lab:machine("A", { max_threads = 2 })
    koine.run(function()
      lab.hold = true
      a:start()
      for i = 1, 5 do assert(b:say("T" .. i, "ann", "m" .. i)) end
      lab:settle()
      assert.are.equal("A:m1 A:m2", lab:words())
      assert.are.equal(2, a.d:stats().turns)
      lab:go()
      assert.are.equal(5, a.d:stats().dispatches)
      assert.are.equal(0, a.d:stats().threads)
      a:crash()
    end)
  end)

  it("cuts batches by messages and by tokens", function()
    a = lab:machine("A", { max_buffered_messages = 3, max_batch_tokens = 150, count_envelope = false })
    for i = 1, 4 do assert(a:say("T1", "ann", "m" .. i)) end
    assert(a:say("T1", "ann", ("x"):rep(600)))
    assert(a:say("T1", "ann", "m6"))
    a:drain()
    local words = lab:words():gsub("x+", "x"):gsub(" A:done:%S+ A:ok", "")
    assert.are.equal("A:m1+m2+m3 A:m4 A:x A:m6", words)
  end)

  it("per-lane plays one sender's messages, senders in turns, each message once", function()
    a, b = lab:machine("A", { mode = "per-lane" }), lab:machine("B", { mode = "per-lane" })
    for i, name in ipairs { "ann", "bob", "ann", "cho", "bob", "ann" } do assert(a:say("T1", name, "m" .. i)) end
    assert.is_true(a.d:step())
    assert(a:say("T1", "ann", "m7"))
    b:drain()
    assert.are.equal("A:m1+m3+m6 B:m2+m5 B:m4 B:m7", (lab:words():gsub(" .:done:%S+ .:ok", "")))
    assert.are.equal(0, lab:left "T1")
    assert.are.equal("slack:T1:Ubob", b.records[1].thread_key)
  end)

  it("per-lane has a sender with many messages take turns with the others", function()
    a = lab:machine("A", { mode = "per-lane", max_buffered_messages = 1 })
    for i, name in ipairs { "ann", "ann", "ann", "bob", "bob" } do assert(a:say("T1", name, "m" .. i)) end
    a:drain()
    assert.are.equal("A:m1 A:m4 A:m2 A:m5 A:m3", (lab:words():gsub(" .:done:%S+ .:ok", "")))
  end)

  it("per-lane remembers what was played behind a message that is not, over a crash", function()
    a, b = lab:machine("A", { mode = "per-lane" }), lab:machine("B", { mode = "per-lane" })
    for i, name in ipairs { "ann", "bob", "ann" } do assert(a:say("T1", name, "m" .. i)) end
    assert.is_true(a.d:step())
    koine.run(function()
      a:start_held()
      a:crash()
      lab.hold = false
      lab.time = lab.time + 61
      lab:words()
      b:drain()
      lab:settle()
    end)
    assert.are.equal("B:m2(2) B:done:m2 B:ok", lab:words())
    assert.are.equal("<m1+m3><m2>", lab:history "T1")
  end)

  it("consumes a batch that fails, with what the target kept; the next one comes", function()
    assert(a:say("T1", "ann", "fail"))
    a:drain()
    assert(a:say("T1", "ann", "m2"))
    a:drain()
    assert.are.equal("A:error:fail:other A:warning A:error", lab:words():match "A:error.*A:error")
    assert.are.equal("<fail><m2>", lab:history "T1")
  end)

  it("consumes a batch whose session cannot be had, and keeps the history", function()
    a.d.target.ensure_session = function() return nil, "no model" end
    assert(a:say("T1", "ann", "m1"))
    assert(a:say("T1", "bob", "m2"))
    a:drain()
    assert.are.equal("A:error:m1:other A:error:m2:other A:warning A:session_error", lab:words())
    assert.are.equal(0, lab:left "T1")
  end)

  it("counts a hook that raises, and goes on", function()
    a = lab:machine("A", { on_done = function() error "hook" end, on_queued = function() error "hook" end })
    assert(a:say("T1", "ann", "m1"))
    a:drain()
    assert.are.equal("A:m1 A:ok", lab:words())
    assert.are.equal(2, a.d:stats().hook_errors)
    assert.is_truthy(a.d:stats().hook_error:find("shared_spec.lua:%d+: hook$"))
    assert.are.equal(0, lab:left "T1")
  end)

  it("counts what its own code raises, and plays the message once the lease is over", function()
    local broken = true
    a = lab:machine("A", { now_ms = function() return broken and error "no clock" or 0 end })
    assert(a:say("T1", "ann", "m1"))
    a:drain()
    assert.are.equal(1, a.d:stats().failures)
    assert.is_truthy(tostring(a.d:stats().failure):find "no clock")
    assert.are.equal(0, a:drain())
    broken, lab.time = false, lab.time + 61
    a:drain()
    assert.are.equal("A:m1(2) A:done:m1 A:ok", lab:words())
  end)

  it("tells the target and the record what they need", function()
    assert(a:say("T1", "ann", "m1"))
    a:drain()
    local ctx, record = a.turn.ctx, a.records[1]
    assert.are.same({ key = "dispatch:slack:T1", fence = 1, owner = "A#1" }, ctx.lease)
    assert.are.equal(1, ctx.tries)
    assert.is_nil(ctx.history)
    assert.are.equal("history", raised(ctx.keep, 7).field)
    assert.are.equal("ok", record.outcome)
    assert.are.equal("slack:T1", record.session_key)
    assert.is_true(math.type(record.wait_ms[1]) == "integer" and record.wait_ms[1] >= 0)
    assert.is_true(record.agent_dispatch_ms >= 0)
  end)

  it("has only one run at a time, and runs again after one that was ended", function()
    koine.run(function()
      a:start()
      lab:settle()
      assert.are.equal("run", raised(a.d.run, a.d).field)
      a:crash()
      a:start()
      assert(b:say("T1", "ann", "m1"))
      lab:settle()
      assert.are.equal("A:m1 A:done:m1 A:ok", lab:words())
      a.d:shutdown()
      assert.is_truthy(select(2, pcall(a.task.wait, a.task)) == nil or a.task.done)
    end)
  end)

  -- The operations that each message costs when n threads have one each, handed in, and played by a machine that runs.
  local function cost(n)
    lab = kit.lab()
    a = lab:machine "A"
    local left = n
    local d
    d = koine.dispatcher.shared { store = a.store, target = { run_turn = function()
      left = left - 1
      if left == 0 then koine.spawn(d.shutdown, d, 60) end
      return true
    end } }
    for i = 1, n do assert(d:submit({ platform = "p", thread_id = "T" .. i }, { sender_json = "{}" })) end
    local submitted = a.operations
    d:run()
    assert.are.equal(n, d:stats().dispatches)
    assert.is_nil(next(d.threads.p))
    return submitted / n, (a.operations - submitted) / n
  end

  it("costs the same operations for each message whatever the number of threads", function()
    local submit, play = cost(100)
    assert.are.equal(1, submit)
    assert.is_true(play < 8, play .. " operations")
    local submit_many, play_many = cost(2000)
    assert.are.equal(1, submit_many)
    assert.is_true(play_many <= play + 0.1, play_many .. " operations, with 100 threads " .. play)
  end)
end)
