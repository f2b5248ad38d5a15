-- The dispatcher: how messages become turns. Clocks stand still, turns end when the spec says so. The letters in names
-- are those of the rules in docs/dispatcher.md and docs/turns.md; the numbers only tell the cases apart.

local chat_lab = require "spec.lua.dispatch.kit"

local thread, message = chat_lab.thread, chat_lab.message

describe("a message", function()
  it("I1: starts its turn at once when nothing runs, the clock standing still", function()
    local lab = chat_lab.new { mode = "per-message" }
    assert.is_true(lab:say("T1", "alice", "hello"))
    assert.are.equal("", lab:words()) -- submit itself runs nothing
    lab.d:step()
    assert.are.equal("queued:hello turn:hello", lab:words())
    assert.are.equal(0, lab.now)
  end)

  it("24: alone is one turn of two blocks, without other bots", function()
    local lab = chat_lab.new()
    lab:say("T1", "alice", "hello")
    lab:settle()
    local turn = lab:finish()
    assert.are.equal("<alice> hello", chat_lab.texts(turn.blocks))
    assert.is_false(turn.ctx.other_bot_present)
    assert.are.equal("slack:T1", turn.key)
    assert.are.equal("queued:hello turn:hello end:hello done:hello:answer record:ok", lab:words())
  end)

  it("25: three that are there before the first step are one turn of six blocks", function()
    local lab = chat_lab.new()
    for i, name in ipairs { "alice", "bob", "alice" } do lab:say("T1", name, "m" .. i) end
    lab:settle()
    local turn = lab:finish()
    assert.are.equal("<alice> m1 <bob> m2 <alice> m3", chat_lab.texts(turn.blocks))
    assert.are.same({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, turn.ctx.spans)
    assert.are.equal("queued:m1 queued:m2 queued:m3 turn:m1+m2+m3 end:m1+m2+m3 done:m3:answer record:ok", lab:words())
  end)

  it("35: that arrives during a turn joins the next one", function()
    local lab = chat_lab.new()
    lab:say("T1", "alice", "m1")
    lab:settle()
    lab:say("T1", "bob", "m2")
    lab:say("T1", "alice", "m3")
    lab:settle()
    assert.are.equal("queued:m1 turn:m1", lab:words())
    lab:finish()
    assert.are.equal("end:m1 done:m1:answer record:ok queued:m2 queued:m3 turn:m2+m3", lab:words())
  end)

  it("per-message: is a turn of its own, in order", function()
    local lab = chat_lab.new { mode = "per-message" }
    lab:say("T1", "alice", "m1")
    lab:settle()
    lab:say("T1", "alice", "m2")
    assert.are.same({ nil, "full" }, { lab:say("T1", "alice", "m3") })
    lab:finish()
    lab:finish()
    assert.are.equal("queued:m1 turn:m1 end:m1 done:m1:answer record:ok "
      .. "queued:m2 turn:m2 end:m2 done:m2:answer record:ok", lab:words())
  end)

  it("50: for a full lane is given back where the caller cannot wait", function()
    local lab = chat_lab.new { max_buffered_messages = 2 }
    for i = 1, 2 do assert.is_true(lab:say("T1", "alice", "m" .. i)) end
    local accepted, why = lab:say("T1", "alice", "m3")
    assert.is_nil(accepted)
    assert.are.equal("full", why)
    local co = coroutine.wrap(function() return lab:say("T1", "alice", "m4") end) -- a user's own coroutine
    accepted, why = co()
    assert.is_nil(accepted)
    assert.are.equal("full", why)
    assert.is_true(lab:say("T2", "alice", "elsewhere"))
    lab:settle()
    assert.are.equal("turn:m1+m2", lab:words():match "turn:m%S*")
  end)

  it("layout and what the packer is given go through unchanged", function()
    local extras = { { type = "image", media_type = "image/png", source = "aW1n" }, { type = "text", text = "voice" } }
    for layout, expected in pairs { split = "<alice> voice  p  image", combined = "<alice> image voice" } do
      local lab = chat_lab.new { layout = layout }
      lab:say("T1", "alice", " p ", { extras = extras })
      lab:settle()
      assert.are.equal(expected, chat_lab.texts(lab:finish().blocks))
    end
    assert.are.equal("image", extras[1].type) -- 60: as they were
  end)

  it("keeps the sender that it came with, whatever becomes of the caller's table", function()
    local lab = chat_lab.new()
    local given = message("alice", "hello")
    lab.d:submit(thread "T1", given)
    given.sender.sender_name = "mallory"
    lab:settle()
    assert.are.equal("<alice> hello", chat_lab.texts(lab.turns[1].blocks))
    assert.are.equal(given, lab.turns[1].ctx.messages[1])
  end)

  it("C9: of a bot is a message: guards count before submit, a batch is one turn", function()
    local lab = chat_lab.new()
    local consecutive, stopped = 0, 0
    local function guarded(prompt) -- what an adapter does
      consecutive = consecutive + 1
      if consecutive > 3 then
        stopped = stopped + 1
        return
      end
      local from_bot = message("robot", prompt)
      from_bot.sender.is_bot = true
      lab.d:submit(thread "T1", from_bot)
    end
    for i = 1, 5 do guarded("b" .. i) end
    lab:settle()
    lab:finish()
    assert.are.equal(2, stopped)
    assert.are.equal(1, #lab.records)
    assert.are.equal(3, lab.records[1].events_per_dispatch)
    assert.is_truthy(lab:words():find("turn:b1+b2+b3", 1, true))
  end)
end)

describe("a batch", function()
  -- The prompts of the batches that come of messages with these estimated tokens.
  local function batches(options, tokens)
    options.count_envelope = options.count_envelope or false
    local lab = chat_lab.new(options)
    for i, n in ipairs(tokens) do lab:say("T1", "alice", "m" .. i, { estimated_tokens = n }) end
    lab:settle()
    local list = {}
    while lab.turns[1] do
      list[#list + 1] = #lab.turns[1].ctx.messages
      lab:finish()
    end
    return list, lab
  end

  it("26: is cut where the tokens end, in order", function()
    local list, lab = batches({ max_batch_tokens = 100 }, { 80, 80 })
    assert.are.same({ 1, 1 }, list)
    assert.is_truthy(lab:words():find("turn:m1.*turn:m2"))
  end)

  it("57: takes what fits exactly", function()
    assert.are.same({ 2 }, (batches({ max_batch_tokens = 100 }, { 60, 40 })))
    assert.are.same({ 1, 1 }, (batches({ max_batch_tokens = 100 }, { 60, 41 })))
  end)

  it("holds ten messages and 24,000 tokens unless told", function()
    assert.are.same({ 2 }, (batches({}, { 12000, 12000 })))
    assert.are.same({ 1, 1 }, (batches({}, { 12000, 12001 })))
    local lab = chat_lab.new()
    for i = 1, 10 do assert.is_true(lab:say("T1", "alice", "m" .. i)) end
    assert.are.same({ nil, "full" }, { lab:say("T1", "alice", "m11") })
    lab:settle()
    assert.are.equal(10, #lab:finish().ctx.messages)
  end)

  it("does not look past the one that does not fit", function()
    assert.are.same({ 1, 2 }, (batches({ max_batch_tokens = 100 }, { 60, 50, 10 })))
  end)

  it("42, C7: with a message above the cap is that message, whole, and its error comes through", function()
    local list, lab = batches({ max_batch_tokens = 100 }, { 10, 500, 20 })
    assert.are.same({ 1, 1, 1 }, list)
    assert.is_truthy(lab:words():find("turn:m1.*turn:m2.*turn:m3"))
    lab = chat_lab.new { max_batch_tokens = 10 }
    lab:say("T1", "alice", ("x"):rep(96000))
    lab:settle()
    assert.are.equal(96000, #lab:finish("fail").blocks[2].text)
    assert.is_truthy(lab:words():find("error:x+:server"))
  end)

  it("10, 11: is estimated at a quarter of its bytes", function()
    local lab = chat_lab.new { count_envelope = false }
    lab:say("T1", "alice", ("a"):rep(80000))
    lab:say("T1", "alice", ("b"):rep(50000))
    lab:settle()
    assert.are.equal(1, #lab:finish().ctx.messages)
    assert.are.equal(1, #lab:finish().ctx.messages)
    assert.are.same({ { 20001 }, { 12501 } }, { lab.records[1].tokens_per_event, lab.records[2].tokens_per_event })
  end)

  it("D6: counts the envelopes, unless told not to", function()
    local function envelopes(options)
      local list, lab = batches(options, { 50, 50 })
      return list, lab.records[1].context_tokens_per_event[1]
    end
    local list, envelope = envelopes { max_batch_tokens = 100, count_envelope = true }
    assert.are.same({ 1, 1 }, list)
    assert.is_true(envelope > 0)
    assert.are.same({ 2 }, (envelopes { max_batch_tokens = 100 + 2 * envelope, count_envelope = true }))
    assert.are.same({ 1, 1 }, (envelopes { max_batch_tokens = 99 + 2 * envelope, count_envelope = true }))
    assert.are.same({ 2 }, (envelopes { max_batch_tokens = 100, count_envelope = false }))
  end)

  it("has at most so many messages as a lane holds", function()
    local lab = chat_lab.new { max_buffered_messages = 3 }
    for i = 1, 3 do lab:say("T1", "alice", "m" .. i) end
    lab:settle()
    for i = 4, 6 do lab:say("T1", "alice", "m" .. i) end
    lab:finish()
    lab:finish()
    assert.are.same({ 3, 3 }, { lab.records[1].events_per_dispatch, lab.records[2].events_per_dispatch })
  end)

  it("a message that is held back leaves its place in the queue", function()
    local lab = chat_lab.new { max_buffered_messages = 2, max_batch_tokens = 100, count_envelope = false }
    for i = 1, 2 do lab:say("T1", "alice", "m" .. i, { estimated_tokens = 80 }) end
    lab:settle()
    for i = 3, 4 do assert.is_true(lab:say("T1", "alice", "m" .. i, { estimated_tokens = 1 })) end
    assert.are.same({ nil, "full" }, { lab:say("T1", "alice", "m5") })
    assert.are.equal(3, lab.d:stats().queued)
    lab:finish()
    assert.are.equal("turn:m2+m3", lab:words():match "turn:m2%S*") -- at most two in a batch
  end)
end)
