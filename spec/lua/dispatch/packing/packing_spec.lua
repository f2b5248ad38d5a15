-- Senders, times, envelopes and estimates of packed turns, and what pack refuses.

local koine = require "koine"

local packing = koine.packing
local LUA = os.getenv "KOINE_LUA" or "lua5.4"

-- A sender with other fields: `changes` of koine.null take a field away.
local function sender(changes)
  local made = { sender_id = "U1", sender_name = "ann", display_name = "Ann", channel = "discord", channel_id = "C1",
    is_bot = false }
  for name, value in next, changes or {} do
    if value == koine.null then value = nil end
    made[name] = value
  end
  return made
end

-- Asserts that f raises an ArgumentError of that field at this file's line; returns it.
local function refuses(field, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, field .. " was taken")
  assert.are.equal("ArgumentError", err.class)
  assert.are.equal(field, err.field)
  return err
end

describe("sender_context", function()
  it("writes the keys in their order, and none that is absent", function()
    assert.are.equal('{"schema":"openab.sender.v1","sender_id":"U1","sender_name":"ann","display_name":"Ann",'
      .. '"channel":"discord","channel_id":"C1","is_bot":false}', packing.sender_context(sender()))
    assert.are.equal('{"schema":"openab.sender.v1","sender_id":"U1","sender_name":"ann","display_name":"Ann",'
      .. '"channel":"discord","channel_id":"C1","thread_id":"T1","is_bot":true,"timestamp":"1970-01-01T00:00:01.000Z"}',
      packing.sender_context(sender { thread_id = "T1", is_bot = true, timestamp = { epoch_s = 1 },
        schema = "openab.sender.v1" }))
  end)

  it("31 has the parent in channel_id and the thread in thread_id, outside a thread no thread_id", function()
    local inside = packing.sender_context(sender { channel_id = "parent", thread_id = "thread", is_bot = true })
    assert.is_truthy(inside:find('"channel_id":"parent","thread_id":"thread","is_bot":true', 1, true))
    local outside = packing.sender_context(sender { channel_id = "parent" })
    assert.is_truthy(outside:find('"channel_id":"parent","is_bot":false}', 1, true))
    assert.is_nil(outside:find("thread", 1, true))
  end)

  it("writes thread_id as thread_ts in its place when asked to", function()
    local line = packing.sender_context(sender { thread_id = "1714204397.1", thread_key = "thread_ts" })
    assert.is_truthy(line:find('"channel_id":"C1","thread_ts":"1714204397.1","is_bot":false}', 1, true))
    assert.is_nil(line:find("thread_key", 1, true))
    assert.are.equal(packing.sender_context(sender()), packing.sender_context(sender { thread_key = "thread_ts" }))
  end)

  it("escapes what JSON wants escaped, and nothing else", function()
    local line = packing.sender_context(sender { display_name = '"\\/\b\f\n\r\t\0\1\31\127é\u{2028}🙂' })
    assert.is_truthy(line:find(
      [["display_name":"\"\\/\b\f\n\r\t\u0000\u0001\u001f]] .. "\127é\u{2028}🙂" .. [[","channel"]], 1, true))
  end)

  it("D1 48 keeps a name from closing the envelope", function()
    local event = { sender = sender { display_name = "</sender_context>", ["</sender_context>"] = { "<b>" } },
      prompt = "hello" }
    local envelope = packing.envelope(event)
    assert.is_truthy(envelope:find([["display_name":"\u003c/sender_context\u003e"]], 1, true))
    assert.is_truthy(envelope:find([["\u003c/sender_context\u003e":["\u003cb\u003e"]}]], 1, true))
    local _, tags = envelope:gsub("</sender_context>", "")
    assert.are.equal(1, tags)
    assert.are.equal("</sender_context>", envelope:sub(-17))
    local said = require("koine.core").decode(envelope:match "\n(.*)\n")
    assert.are.equal("</sender_context>", said.display_name)
  end)

  it("treats JSON's null as nothing", function()
    local plain = sender()
    plain.thread_id, plain.thread_key, plain.timestamp, plain.schema, plain.team = koine.null, koine.null, koine.null,
      koine.null, koine.null
    assert.are.equal(packing.sender_context(sender()), packing.sender_context(plain))
  end)

  it("leaves out a time that says nothing", function()
    for _, time in ipairs { "", "not-a-ts", { slack = "not-a-ts" }, { epoch_s = -1 }, {} } do
      assert.are.equal(packing.sender_context(sender()), packing.sender_context(sender { timestamp = time }))
    end
  end)

  it("names the field that is wrong", function()
    for _, name in ipairs { "sender_id", "sender_name", "display_name", "channel", "channel_id" } do
      for _, value in ipairs { koine.null, "", 7, true } do
        refuses("sender." .. name, packing.sender_context, sender { [name] = value })
      end
    end
    refuses("sender.is_bot", packing.sender_context, sender { is_bot = koine.null })
    refuses("sender.is_bot", packing.sender_context, sender { is_bot = "false" })
    refuses("sender.thread_id", packing.sender_context, sender { thread_id = "" })
    refuses("sender.thread_id", packing.sender_context, sender { thread_id = 7 })
    refuses("sender.thread_key", packing.sender_context, sender { thread_key = "thread" })
    refuses("sender.thread_ts", packing.sender_context, sender { thread_ts = "1714204397.1" })
    refuses("sender.timestamp", packing.sender_context, sender { timestamp = 1714204397 })
    refuses("sender.schema", packing.sender_context, sender { schema = "openab.sender.v2" })
    refuses("sender.team.f", packing.sender_context, sender { team = { f = print } })
    refuses("sender.team", packing.sender_context, sender { team = 0 / 0 })
    refuses("sender", packing.sender_context, sender { [1] = "x" })
    refuses("sender", packing.sender_context, nil)
  end)

  it("47 is the same bytes in 100 fresh Lua states", function()
    local script = os.tmpname()
    local file = assert(io.open(script, "w"))
    assert(file:write [[
      local koine = require "koine"
      local sender = { sender_id = "U1", sender_name = "ann", display_name = "Ann", channel = "slack", channel_id = "C",
        is_bot = true, thread_id = "T", timestamp = { epoch_ms = 1777270397927 }, alpha = "1", beta = 2,
        gamma = { y = 1, x = { 2.5 }, w = true }, delta = false, Zeta = "Z", ["z-1"] = 0.1 }
      local order = {}
      for name in pairs(sender) do order[#order + 1] = name end
      print(table.concat(order, " "))
      print(koine.packing.sender_context(sender))
    ]])
    file:close()
    local expected = '{"schema":"openab.sender.v1","sender_id":"U1","sender_name":"ann","display_name":"Ann",'
      .. '"channel":"slack","channel_id":"C","thread_id":"T","is_bot":true,"timestamp":"2026-04-27T06:13:17.927Z",'
      .. '"Zeta":"Z","alpha":"1","beta":2,"delta":false,"gamma":{"w":true,"x":[2.5],"y":1},"z-1":0.1}'
    local orders, distinct = {}, 0
    for _ = 1, 100 do
      local pipe <close> = assert(io.popen(LUA .. " " .. script))
      local order = pipe:read "l"
      assert.are.equal(expected, pipe:read "l")
      if not orders[order] then orders[order], distinct = true, distinct + 1 end
    end
    os.remove(script)
    assert.is_true(distinct > 1, "all states keep tables in one order: this shows nothing")
  end)
end)

describe("timestamp", function()
  -- The subject of a test, and pairs of value and time.
  local CASES = {
    { "29 Slack, zero", { { slack = "0.000000" }, "1970-01-01T00:00:00.000Z" } },
    { "29 Slack, six digits", { { slack = "1714204397.123456" }, "2024-04-27T07:53:17.123Z" } },
    { "29 Slack, no fraction", { { slack = "1714204397" }, "2024-04-27T07:53:17.000Z" } },
    { "29 Slack, two digits", { { slack = "1714204397.12" }, "2024-04-27T07:53:17.120Z" } },
    { "29 Slack, one digit", { { slack = "1714204397.1" }, "2024-04-27T07:53:17.100Z" } },
    { "29 D4 Slack, garbage", { { slack = "not-a-ts" } }, { { slack = "" } }, { { slack = "-1.5" } },
      { { slack = "1714204397." } }, { { slack = ".5" } }, { { slack = "1714204397.1x" } },
      { { slack = " 1714204397" } }, { { slack = "1.2.3" } }, { { slack = ("9"):rep(40) } }, { { slack = "0x10" } } },
    { "D3 cuts and does not round", { { slack = "1714204397.999600" }, "2024-04-27T07:53:17.999Z" },
      { "2026-04-22T08:00:00.9999Z", "2026-04-22T08:00:00.999Z" } },
    { "D2 61 RFC 3339 with an offset and a long fraction",
      { "2026-04-27T14:13:17.927123456+08:00", "2026-04-27T06:13:17.927Z" },
      { "2026-04-27T06:13:17.927123456789012345678901234567890Z", "2026-04-27T06:13:17.927Z" },
      { "2026-04-26T22:13:17.9-08:00", "2026-04-27T06:13:17.900Z" },
      { "2026-04-27T11:58:17.92+05:45", "2026-04-27T06:13:17.920Z" },
      { "2026-04-27T06:13:17+00:00", "2026-04-27T06:13:17.000Z" },
      { "2026-04-27T06:13:17-00:00", "2026-04-27T06:13:17.000Z" } },
    { "61 RFC 3339 without a fraction", { "2026-04-22T08:00:00Z", "2026-04-22T08:00:00.000Z" } },
    { "61 RFC 3339 in small letters, or with a space", { "2026-04-22t08:00:00z", "2026-04-22T08:00:00.000Z" },
      { "2026-04-22 08:00:00Z", "2026-04-22T08:00:00.000Z" } },
    { "61 what is canonical already", { "2026-04-27T06:13:17.927Z", "2026-04-27T06:13:17.927Z" } },
    { "61 across days, months, years and leap days", { "2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z" },
      { "2024-02-28T23:30:00-01:00", "2024-02-29T00:30:00.000Z" },
      { "2023-02-28T23:30:00-01:00", "2023-03-01T00:30:00.000Z" },
      { "2000-02-29T12:00:00Z", "2000-02-29T12:00:00.000Z" },
      { "2100-03-01T00:00:00+00:01", "2100-02-28T23:59:00.000Z" },
      { "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z" },
      { "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z" } },
    { "counts of seconds and milliseconds", { { epoch_ms = 1777270397927 }, "2026-04-27T06:13:17.927Z" },
      { { epoch_s = 1777270397 }, "2026-04-27T06:13:17.000Z" },
      { { epoch_s = 1777270397.0 }, "2026-04-27T06:13:17.000Z" },
      { { epoch_ms = 5 }, "1970-01-01T00:00:00.005Z" }, { { epoch_s = 253402300799 }, "9999-12-31T23:59:59.000Z" } },
    { "D4 days and hours that do not exist", { "2023-02-29T00:00:00Z" }, { "2100-02-29T00:00:00Z" },
      { "2026-04-31T00:00:00Z" }, { "2026-13-01T00:00:00Z" }, { "2026-00-01T00:00:00Z" }, { "2026-01-00T00:00:00Z" },
      { "2026-01-01T24:00:00Z" }, { "2026-01-01T00:60:00Z" }, { "2016-12-31T23:59:60Z" },
      { "2026-01-01T00:00:00+24:00" }, { "2026-01-01T00:00:00+01:60" } },
    { "D4 text that is no time", { "" }, { "now" }, { "2026-04-22" }, { "2026-04-22T08:00:00" }, { "1714204397.1" },
      { "2026-04-22T08:00:00.Z" }, { "2026-04-22T08:00:00Z " }, { " 2026-04-22T08:00:00Z" },
      { "2026-04-22T08:00:00+0100" }, { "2026-4-22T08:00:00Z" }, { "2026-04-22T08:00:005Z" },
      { "2026-04-22T08:00:00ZZ" } },
    { "D4 times before 1970 and after 9999", { "1969-12-31T23:59:59Z" }, { "1970-01-01T00:30:00+01:00" },
      { "0000-01-01T00:00:00Z" }, { "9999-12-31T23:59:59-01:00" }, { { epoch_s = -1 } }, { { epoch_ms = -1 } },
      { { epoch_s = 253402300800 } }, { { epoch_ms = 2 ^ 62 } } },
    { "D4 numbers that are no count", { { epoch_s = 1.5 } }, { { epoch_s = 0 / 0 } }, { { epoch_ms = math.huge } } },
    { "what is absent", { koine.null }, { {} }, { { slack = koine.null } } },
  }
  for _, case in ipairs(CASES) do
    it(case[1], function()
      for i = 2, #case do
        local value, time = case[i][1], case[i][2]
        assert.are.equal(time, packing.timestamp(value), "case " .. i - 1)
      end
    end)
  end

  it("30 of now has 24 characters, the separators in their places", function()
    local now = packing.timestamp { epoch_s = os.time() }
    assert.are.equal(24, #now)
    assert.is_truthy(now:find "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.000Z$")
    assert.is_nil(packing.timestamp(nil))
  end)

  it("wants the unit stated", function()
    refuses("timestamp", packing.timestamp, 1714204397)
    refuses("timestamp", packing.timestamp, true)
    refuses("timestamp", packing.timestamp, { epoch = 1714204397 })
    refuses("timestamp", packing.timestamp, { epoch_s = 1, epoch_ms = 1000 })
    refuses("timestamp.slack", packing.timestamp, { slack = 1714204397.1 })
    refuses("timestamp.epoch_s", packing.timestamp, { epoch_s = "1714204397" })
  end)
end)

describe("estimate", function()
  local function estimate(prompt, extras) return packing.estimate { prompt = prompt, extras = extras } end
  local IMAGE = { type = "image", source = "aW1n", media_type = "image/png" }

  it("1 of an empty event is 1", function()
    assert.are.equal(1, estimate("", {}))
    assert.are.equal(1, packing.estimate {})
  end)

  it("2 of 400 bytes is 101", function() assert.are.equal(101, estimate(("a"):rep(400), {})) end)

  it("3 of one image is 513", function() assert.are.equal(513, estimate("", { IMAGE })) end)

  it("10 of a prompt of 96,000 bytes is more than 24,000", function()
    assert.is_true(estimate(("a"):rep(96000), {}) > 24000)
  end)

  it("11 of 80,000 bytes fits under 24,000, with 50,000 more it does not", function()
    local first, second = estimate(("a"):rep(80000), {}), estimate(("a"):rep(50000), {})
    assert.is_true(first <= 24000)
    assert.is_true(first + second > 24000)
  end)

  it("counts bytes, text extras, and 512 for every block of another type", function()
    assert.are.equal(2, estimate "éé")
    assert.are.equal(1 + 3, estimate("abc", { { type = "text", text = "elevenbytes" } }))
    assert.are.equal(1 + 2 * 512, estimate("", { IMAGE, { type = "document", source = "aW1n" } }))
  end)

  it("has the envelope apart", function()
    assert.are.equal(10, packing.envelope_tokens { sender_json = "{}" }) -- 37 bytes
    local slack = { sender_json = ("x"):rep(221) }
    assert.are.equal(256, #packing.envelope(slack))
    assert.are.equal(65, packing.envelope_tokens(slack))
  end)
end)

describe("pack", function()
  local A, B = { sender_json = '{"a":1}' }, { sender_json = '{"b":2}' }
  local IMAGE = { type = "image", source = "aW1n", media_type = "image/png" }
  local VOICE = { type = "text", text = "[Voice message transcript]: hello" }

  local function T(words) return { type = "text", text = words } end
  local function D(who) return T("<sender_context>\n" .. who.sender_json .. "\n</sender_context>") end
  local function event(who, prompt, ...) return { sender_json = who.sender_json, prompt = prompt, extras = { ... } } end

  it("4 text only: the delimiter has both tags and not the prompt, the prompt is a block", function()
    local blocks = packing.pack { event(A, "fix the bug") }
    assert.are.equal(2, #blocks)
    assert.are.equal('<sender_context>\n{"a":1}\n</sender_context>', blocks[1].text)
    assert.are.same({ type = "text", text = "fix the bug" }, blocks[2])
  end)

  it("5 transcript and image: delimiter, transcript, prompt, image", function()
    local blocks = packing.pack { event(A, "look", IMAGE, VOICE) }
    assert.are.same({ D(A), VOICE, T "look", IMAGE }, blocks)
  end)

  it("6 two events: four blocks, each prompt outside its envelope", function()
    local blocks = packing.pack { event(A, "one"), event(B, "two") }
    assert.are.equal(4, #blocks)
    for i, prompt in ipairs { "one", "two" } do
      assert.is_nil(blocks[2 * i - 1].text:find(prompt, 1, true))
      assert.are.equal(prompt, blocks[2 * i].text)
    end
  end)

  it("7 text, then only an image: the image right after the second delimiter", function()
    local blocks = packing.pack { event(A, "see"), event(A, "", IMAGE) }
    assert.are.same({ D(A), T "see", D(A), IMAGE }, blocks)
  end)

  it("8 two senders interleaved: order kept, the image at the third event", function()
    local blocks = packing.pack { event(A, "see"), event(B, "what?"), event(A, "", IMAGE) }
    assert.are.same({ D(A), T "see", D(B), T "what?", D(A), IMAGE }, blocks)
  end)

  it("9 only a voice in the middle: seven blocks, the transcript right after its delimiter", function()
    local blocks = packing.pack { event(A, "look", IMAGE), event(B, "", VOICE), event(A, "what?") }
    assert.are.same({ D(A), T "look", IMAGE, D(B), VOICE, D(A), T "what?" }, blocks)
  end)

  it("33 does not look at what else an event carries", function()
    local plain, routed = event(A, "hi"), event(A, "hi")
    routed.origin_event_id, routed.trigger, routed.other_bot_present = "m1", {}, true
    assert.are.same(packing.pack { plain }, (packing.pack { routed }))
    assert.are.equal("m1", routed.origin_event_id)
  end)

  it("takes sender_json byte for byte, whatever it is, before sender", function()
    for _, line in ipairs { "{}", '{"display_name":"</sender_context>"}', "not json", "" } do
      local blocks = packing.pack { { sender = 7, sender_json = line, prompt = "x" } }
      assert.are.equal("<sender_context>\n" .. line .. "\n</sender_context>", blocks[1].text)
    end
  end)

  it("packs nothing to nothing", function() assert.are.same({ {}, {} }, { packing.pack {} }) end)

  it("passes on blocks it does not know", function()
    local odd = { type = "image", media_type = "image/png", data = "aW1n" }
    assert.are.equal(odd, packing.pack({ event(A, "", odd) })[2])
  end)

  it("60 changes neither the events nor their blocks", function()
    local deep = require "spec.support.deep"
    local batch = { { sender = sender { timestamp = { slack = "1.5" } }, prompt = "p", extras = { IMAGE, VOICE } },
      event(A, "", VOICE) }
    local before = deep.copy(batch)
    for _, layout in ipairs { "split", "combined" } do
      local blocks = packing.pack(batch, { layout = layout })
      packing.estimate(batch[1])
      packing.envelope_tokens(batch[1])
      blocks[1].text, blocks[#blocks + 1] = "mine", "mine"
      assert.is_nil(deep.difference(before, batch))
    end
  end)

  it("names what is wrong, counted from 1", function()
    local good = event(A, "x")
    refuses("batch", packing.pack, nil)
    refuses("batch", packing.pack, { good, nil, good })
    refuses("batch", packing.pack, { sender_json = "{}" })
    refuses("batch[2]", packing.pack, { good, "x" })
    refuses("batch[2].sender", packing.pack, { good, { prompt = "x" } })
    refuses("batch[2].sender.channel", packing.pack, { good, { sender = sender { channel = koine.null } } })
    refuses("batch[1].sender_json", packing.pack, { { sender_json = {} } })
    refuses("batch[1].prompt", packing.pack, { { sender_json = "{}", prompt = false } })
    refuses("batch[1].extras", packing.pack, { { sender_json = "{}", extras = "x" } })
    refuses("batch[1].extras", packing.pack, { { sender_json = "{}", extras = { VOICE, nil, VOICE } } })
    refuses("batch[1].extras[2]", packing.pack, { { sender_json = "{}", extras = { VOICE, "x" } } })
    refuses("batch[1].extras[1].type", packing.pack, { { sender_json = "{}", extras = { {} } } })
    refuses("batch[1].extras[1].text", packing.pack, { { sender_json = "{}", extras = { { type = "text" } } } })
    refuses("event", packing.envelope, nil)
    refuses("event.sender", packing.envelope, {})
    refuses("event.prompt", packing.estimate, { prompt = 7 })
    refuses("options", packing.pack, { good }, "combined")
    refuses("layout", packing.pack, { good }, { layout = "merged" })
    refuses("layout", packing.pack, { good }, { layout = false })
    local err = refuses("layuot", packing.pack, { good }, { layuot = "split" })
    assert.is_truthy(tostring(err):find('did you mean "layout"?', 1, true))
  end)
end)
