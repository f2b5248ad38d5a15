-- Percentiles, and the alarm for envelopes that cost too much. Time is told, never read.

local koine = require "koine"

local packing = koine.packing

local function refuses(field, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, field .. " was taken")
  assert.are.equal("ArgumentError", err.class)
  assert.are.equal(field, err.field)
end

-- 1 to n, and the same from n down.
local function up_to(n)
  local list = {}
  for i = 1, n do list[i] = i end
  return list
end

describe("percentile", function()
  it("is the value of the nearest rank", function()
    assert.are.equal(95, packing.percentile(up_to(100), 0.95))
    assert.are.equal(96, packing.percentile(up_to(101), 0.95))
    assert.are.equal(19, packing.percentile(up_to(20), 0.95))
    assert.are.equal(19, packing.percentile(up_to(19), 0.95))
    assert.are.equal(7, packing.percentile({ 7 }, 0.95))
    assert.are.equal(3, packing.percentile({ 5, 3, 1, 4, 2 }, 0.5))
    assert.are.equal(5, packing.percentile({ 5, 3, 1, 4, 2 }, 1))
    assert.are.equal(1, packing.percentile({ 5, 3, 1, 4, 2 }, 0.2))
    assert.are.equal(1, packing.percentile({ 5, 3, 1, 4, 2 }, 0.001))
  end)

  it("counts ranks exactly", function()
    for n = 1, 100 do
      for percent = 1, 100 do
        local rank = (n * percent + 99) // 100
        assert.are.equal(rank, packing.percentile(up_to(n), percent / 100), n .. " " .. percent)
      end
    end
  end)

  it("is nil of nothing, and leaves the list as it is", function()
    assert.is_nil(packing.percentile({}, 0.95))
    local list = { 3, 1, 2 }
    packing.percentile(list, 0.5)
    assert.are.same({ 3, 1, 2 }, list)
  end)

  it("names what is wrong", function()
    for _, p in ipairs { 0, -1, 95, 0 / 0, "0.95" } do refuses("p", packing.percentile, { 1 }, p) end
    for _, list in ipairs { "1", { [1] = 1, [3] = 2 }, { 1, other = 2 } } do
      refuses("list", packing.percentile, list, 0.95)
    end
    refuses("list", packing.percentile, nil, 0.95)
    refuses("list[2]", packing.percentile, { 1, "2" }, 0.95)
  end)
end)

describe("overhead_alarm", function()
  local HOUR, DAY = 3600, 86400

  local function record(tokens, channel, adapter)
    return { envelope_tokens_per_dispatch = tokens, channel_id = channel or "C1", adapter = adapter or "slack" }
  end

  -- Adds a record every `every` seconds from `from` on, up to and with `to`; the last state.
  local function feed(alarm, tokens, from, to, every, channel)
    local state
    for now = from, to, every do state = alarm:add(record(tokens, channel), now) end
    return state
  end

  it("is raised by a day above the threshold, not sooner", function()
    local alarm = packing.overhead_alarm()
    local state = feed(alarm, 501, 0, DAY, 60) -- the twentieth dispatch, at 1140 s, makes it over
    assert.are.same({ dispatches = 60, over = true, held = DAY - 1140, raised = false }, state)
    assert.is_false(feed(alarm, 501, DAY + 60, DAY + 1080, 60).raised)
    state = feed(alarm, 501, DAY + 1140, DAY + 1140, 60)
    assert.are.same({ dispatches = 60, over = true, held = DAY, raised = true }, state)
  end)

  it("is not raised at the threshold", function()
    assert.are.same({ dispatches = 60, over = false, held = 0, raised = false },
      feed(packing.overhead_alarm(), 500, 0, 2 * DAY, 60))
  end)

  it("looks at the 95th percentile: one in twenty may be over", function()
    local alarm, state = packing.overhead_alarm(), nil
    for i = 1, 20 do state = alarm:add(record(i == 7 and 9000 or 10), i) end
    assert.is_false(state.over)
    alarm = packing.overhead_alarm()
    for i = 1, 20 do state = alarm:add(record((i == 7 or i == 8) and 9000 or 10), i) end
    assert.is_true(state.over)
  end)

  it("agrees with the percentile", function()
    math.randomseed(4)
    for n = 1, 60 do
      local alarm, list, state = packing.overhead_alarm { min = 1, threshold = 50 }, {}, nil
      for i = 1, n do
        list[i] = math.random() < 0.08 and 60 or 40
        state = alarm:add(record(list[i]), i)
      end
      assert.are.equal(packing.percentile(list, 0.95) > 50, state.over)
    end
  end)

  it("starts anew when the percentile comes down", function()
    local alarm = packing.overhead_alarm()
    assert.is_true(feed(alarm, 900, 0, 20 * HOUR, 60).held > 19 * HOUR)
    local state = feed(alarm, 10, 20 * HOUR + 60, 20 * HOUR + 56 * 60, 60) -- 4 of 60 are still large
    assert.is_true(state.over)
    state = alarm:add(record(10), 20 * HOUR + 57 * 60) -- 3 of 60: no more than one in twenty
    assert.are.same({ dispatches = 60, over = false, held = 0, raised = false }, state)
    assert.is_false(feed(alarm, 900, 21 * HOUR, 44 * HOUR, 60).raised)
  end)

  it("starts anew also where it came down and went up again between two dispatches", function()
    local alarm = packing.overhead_alarm { min = 1, window = 100 }
    alarm:add(record(900), 0)
    assert.are.same({ dispatches = 20, over = false, held = 0, raised = false }, feed(alarm, 10, 1, 19, 1))
    assert.is_true(alarm:add(record(900), 20).over) -- 2 in 21
    -- at 100 the first leaves: 1 in 20 is not over; at 101 the second: 1 in 19 is
    assert.are.same({ dispatches = 11, over = true, held = 9, raised = false }, alarm:add(record(10), 110))
  end)

  it("neither counts nor forgets the time with too few dispatches", function()
    local alarm = packing.overhead_alarm()
    local before = feed(alarm, 900, 0, 10 * HOUR, 60).held
    assert.are.equal(10 * HOUR - 1140, before)
    -- silence: the window empties one dispatch a minute, and with the fortieth of its sixty there are too few
    local state = alarm:add(record(900), 30 * HOUR)
    assert.are.equal(1, state.dispatches)
    assert.is_nil(state.over)
    assert.are.equal(before + 41 * 60, state.held)
    local held = feed(alarm, 900, 30 * HOUR + 60, 30 * HOUR + 1140, 60).held -- the twentieth: it counts from now on
    assert.are.equal(state.held, held)
    assert.are.equal(held + 60, alarm:add(record(900), 30 * HOUR + 1200).held)
    -- a few small ones in a quiet hour do not start it anew either
    assert.is_true(feed(alarm, 10, 50 * HOUR, 50 * HOUR + 600, 60).held > held)
  end)

  it("does not start anew for what lasted no time: dispatches of one moment leave the window together", function()
    local alarm = packing.overhead_alarm { min = 1, window = 100 }
    for _, tokens in ipairs { 900, 10 } do alarm:add(record(tokens), 0) end
    alarm:add(record(900), 1)
    assert.are.same({ dispatches = 21, over = true, held = 19, raised = false }, feed(alarm, 10, 2, 19, 1))
    -- without the first there is 1 in 20, without the second too 1 in 19
    assert.are.same({ dispatches = 20, over = true, held = 100, raised = false }, alarm:add(record(900), 100))
  end)

  it("keeps channels and adapters apart", function()
    local alarm = packing.overhead_alarm { sustain = 100, min = 1 }
    assert.is_true(feed(alarm, 900, 0, 100, 10, "C1").raised)
    assert.is_false(feed(alarm, 10, 0, 100, 10, "C2").raised)
    assert.are.equal(1, alarm:add(record(900, "C1", "discord"), 100).dispatches)
    assert.is_true(alarm:add(record(900, "C1"), 110).raised)
  end)

  it("takes a clock that goes back for one that stands", function()
    local alarm = packing.overhead_alarm { min = 1 }
    alarm:add(record(900), 100)
    assert.are.equal(0, alarm:add(record(900), 50).held)
    assert.are.equal(10, alarm:add(record(900), 110).held)
  end)

  it("is crossed by eight envelopes of a thread on Slack, not by seven", function()
    local tokens = packing.envelope_tokens { sender_json = ("x"):rep(221) }
    local alarm = packing.overhead_alarm { min = 1 }
    assert.is_false(alarm:add(record(7 * tokens, "seven"), 0).over)
    assert.is_true(alarm:add(record(8 * tokens, "eight"), 0).over)
  end)

  it("names what is wrong", function()
    refuses("threshold", packing.overhead_alarm, { threshold = 0 })
    refuses("window", packing.overhead_alarm, { window = "1h" })
    refuses("sustian", packing.overhead_alarm, { sustian = 1 })
    refuses("options", packing.overhead_alarm, 500)
    local alarm = packing.overhead_alarm()
    refuses("record", alarm.add, alarm, nil, 1)
    refuses("record.envelope_tokens_per_dispatch", alarm.add, alarm, {}, 1)
    refuses("now", alarm.add, alarm, record(1))
  end)
end)
