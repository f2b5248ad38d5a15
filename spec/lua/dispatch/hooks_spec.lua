-- The dispatcher's hooks: when they are called, with what, and what their errors do. Clocks stand still, turns end when
-- the spec says so. The letters in names are those of the rules in docs/dispatcher.md and docs/turns.md; the numbers
-- only tell the cases apart.

local chat_lab = require "spec.lua.dispatch.kit"

local thread, message = chat_lab.thread, chat_lab.message

describe("hooks", function()
  it("43: the mark of receipt is set for each message, in order, before the turn begins", function()
    local lab = chat_lab.new()
    for i = 1, 3 do lab:say("T1", "alice", "m" .. i) end
    lab.d:step()
    assert.are.equal("queued:m1 queued:m2 queued:m3 turn:m1+m2+m3", lab:words())
  end)

  it("D8: run beside the turns, in their order", function()
    local seen, open = {}, false
    local lab
    lab = chat_lab.new { on_queued = function(m)
      seen[#seen + 1] = "begin " .. m.prompt
      while not open do coroutine.yield() end
      seen[#seen + 1] = "end " .. m.prompt
    end, on_done = function() seen[#seen + 1] = "done" end }
    lab:say("T1", "alice", "m1")
    lab:say("T1", "alice", "m2")
    lab.d:step()
    assert.are.equal("turn:m1+m2", lab:words()) -- I1: the slow hook does not hold it up
    assert.are.same({ "begin m1" }, seen)
    lab:finish()
    lab:say("T1", "alice", "m3")
    lab:settle()
    assert.is_truthy(lab:words():find("turn:m3", 1, true)) -- nor the next
    open = true
    for _ = 1, 5 do lab.d:step() end
    assert.are.same({ "begin m1", "end m1", "begin m2", "end m2", "done", "begin m3", "end m3" }, seen)
  end)

  it("52: what they raise harms nothing, and is counted", function()
    local function broken() error("hook") end
    local dispatched = 0
    local lab = chat_lab.new { on_queued = broken, on_done = broken, on_error = broken, on_warning = broken,
      on_dispatch = function()
        dispatched = dispatched + 1
        error("hook")
      end }
    lab.target.cancel = broken
    lab:say("T1", "alice", "m1")
    lab:settle()
    lab:finish("fail")
    lab:say("T1", "alice", "m2")
    lab:settle()
    lab.d:cancel_turn(thread "T1")
    lab:finish()
    lab:settle()
    assert.are.equal("turn:m1 end:m1 turn:m2 end:m2", lab:words())
    assert.are.equal(2, dispatched)
    assert.is_truthy(lab.d:stats().hook_error:find("hooks_spec.lua:%d+: hook$"))
    assert.are.equal(8, lab.d:stats().hook_errors) -- queued 2, error, warning, done, dispatch 2, cancel
  end)

  it("get the message and the address that were submitted", function()
    local seen = {}
    local function keep(m, at) seen[#seen + 1] = { m, at } end
    local lab = chat_lab.new { on_queued = keep, on_done = keep }
    local given, at = message("alice", "hello", { trigger = {} }), thread "T1"
    lab.d:submit(at, given)
    lab:settle()
    lab:finish()
    assert.are.equal(2, #seen)
    for _, pair in ipairs(seen) do
      assert.are.equal(given, pair[1])
      assert.are.equal(at, pair[2])
    end
  end)

  it("41: other bots are as the last message of a batch says", function()
    local lab = chat_lab.new()
    local seen = {}
    for _, batch in ipairs { { true, false }, { false, true }, { true } } do
      for _, present in ipairs(batch) do lab:say("T1", "alice", "m", { other_bot_present = present }) end
      lab:settle()
      seen[#seen + 1] = lab:finish().ctx.other_bot_present
    end
    assert.are.same({ false, true, true }, seen)
  end)
end)
