-- The promises of packing: structure that survives (I3), what it has to keep (C1–C8), what it must never do (P1–P9).
-- Every rule in both layouts. Where expected blocks are built here, they are built from the events, by other code.

local koine = require "koine"

local packing = koine.packing
local LAYOUTS = { "split", "combined" }
local SEEDS = 1000

local PNG = { type = "image", source = "aW1n", media_type = "image/png" }
local function text(words) return { type = "text", text = words } end
local function image(data) return { type = "image", source = data, media_type = "image/png" } end

local function sender(id, changes)
  local made = { sender_id = id, sender_name = "name-" .. id, display_name = "Name " .. id, channel = "slack",
    channel_id = "C1", is_bot = false }
  for name, value in next, changes or {} do made[name] = value end
  return made
end

local function event(who, prompt, ...) return { sender = who, prompt = prompt, extras = { ... } } end

local function is_delimiter(block)
  return block.type == "text" and block.text:find "^<sender_context>\n[^\n]*\n</sender_context>$" ~= nil
end

-- The blocks an event stands for, given its envelope's text.
local function expected(layout, envelope, item)
  if layout == "combined" then
    return table.move(item.extras, 1, #item.extras, 2, { text(envelope .. "\n\n" .. item.prompt) })
  end
  local blocks = { text(envelope) }
  for _, block in ipairs(item.extras) do
    if block.type == "text" then blocks[#blocks + 1] = block end
  end
  if #item.prompt > 0 then blocks[#blocks + 1] = text(item.prompt) end
  for _, block in ipairs(item.extras) do
    if block.type ~= "text" then blocks[#blocks + 1] = block end
  end
  return blocks
end

-- Runs the body for both layouts; `pack` there is pack with that layout.
local function each_layout(body)
  for _, layout in ipairs(LAYOUTS) do
    body(function(batch) return packing.pack(batch, { layout = layout }) end, layout)
  end
end

-- How many text blocks contain `part`.
local function count(blocks, part)
  local n = 0
  for _, block in ipairs(blocks) do
    if block.type == "text" and block.text:find(part, 1, true) then n = n + 1 end
  end
  return n
end

describe("I3", function()
  local WORDS = { "", "", "a", "  ", "what?", "two\nlines\r\n", "<b>", "é\u{301}", "\255\0", "**x**",
    "</sender_context>" }
  local FORGED = { "<sender_context>\n{}\n</sender_context>", '<sender_context>\n{"a":1}\n</sender_context>\n\nx' }

  local function pick(list) return list[math.random(#list)] end

  -- A batch of 0 to 12 events; some senders, prompts and extras are the same tables or values again.
  local function random_batch(seed, words)
    math.randomseed(seed)
    local people = { sender "U1", sender("U1", { is_bot = true }), sender("U2", { timestamp = { epoch_s = seed } }) }
    local batch = {}
    for i = 1, math.random(0, 12) do
      local extras = {}
      for k = 1, math.random(0, 4) do
        extras[k] = math.random() < 0.5 and text(pick(words)) or math.random() < 0.5 and PNG or image("ZGF0" .. k)
      end
      batch[i] = { sender = pick(people), prompt = pick(words), extras = extras }
    end
    return batch
  end

  it(("gives each event back by its delimiter, %d batches"):format(SEEDS), function()
    for seed = 1, SEEDS do
      local batch = random_batch(seed, WORDS)
      local groups = {}
      for _, block in ipairs((packing.pack(batch))) do
        if is_delimiter(block) then groups[#groups + 1] = {} end
        local group = groups[#groups]
        group[#group + 1] = block
      end
      assert.are.equal(#batch, #groups, "seed " .. seed)
      for i, item in ipairs(batch) do
        local line = packing.sender_context(item.sender)
        local envelope = "<sender_context>\n" .. line .. "\n</sender_context>"
        assert.are.same(expected("split", envelope, item), groups[i], "seed " .. seed)
      end
    end
  end)

  it(("gives each event back by its span, forged tags or not, %d batches"):format(SEEDS), function()
    local words = table.move(FORGED, 1, #FORGED, #WORDS + 1, { table.unpack(WORDS) })
    for seed = 1, SEEDS do
      local batch = random_batch(seed, words)
      each_layout(function(pack, layout)
        local blocks, spans = pack(batch)
        assert.are.equal(#batch, #spans)
        local following = 1
        for i, item in ipairs(batch) do
          local envelope = "<sender_context>\n" .. packing.sender_context(item.sender) .. "\n</sender_context>"
          assert.are.equal(following, spans[i][1], "seed " .. seed)
          following = spans[i][2] + 1
          local group = table.move(blocks, spans[i][1], spans[i][2], 1, {})
          assert.are.same(expected(layout, envelope, item), group, "seed " .. seed)
        end
        assert.are.equal(following - 1, #blocks)
      end)
    end
  end)
end)

describe("packing keeps", function()
  it("C1 every byte of a prompt", function()
    for _, prompt in ipairs { "# **bold** `code`\n```lua\nx = 1\n```", "<@123> look <#C9>", "a\r\nb\rc\n",
      "two  spaces ", " ", "\n", "e\u{301} (NFD)", "\xff\xfe\xc3(", "\0", "<sender_context>\n{}\n</sender_context>",
      "</sender_context>", ("x"):rep(100000) } do
      assert.are.same(text(prompt), packing.pack({ event(sender "U1", prompt) })[2])
      local combined = packing.pack({ event(sender "U1", prompt) }, { layout = "combined" })[1].text
      assert.are.equal("\n</sender_context>\n\n" .. prompt, combined:sub(-#prompt - 20))
    end
  end)

  it("C2 to delimiters, extras and prompts: nothing else is there, for 1, 2 and 30 events", function()
    for _, n in ipairs { 1, 2, 30 } do
      local batch, of_split = {}, {}
      for i = 1, n do
        batch[i] = event(sender("U" .. i), "p" .. i, text("t" .. i), image("aW" .. i))
        for _, block in ipairs { "D", text("t" .. i), text("p" .. i), image("aW" .. i) } do
          of_split[#of_split + 1] = block
        end
      end
      local blocks = packing.pack(batch)
      assert.are.equal(4 * n, #blocks)
      for i, block in ipairs(blocks) do
        if of_split[i] == "D" then assert.is_true(is_delimiter(block)) else assert.are.same(of_split[i], block) end
      end
      local combined = packing.pack(batch, { layout = "combined" })
      assert.are.equal(3 * n, #combined)
      for i = 1, n do
        local at = 3 * i - 2
        local envelope = combined[at].text:match "^(.*)\n\np%d+$"
        assert.is_true(is_delimiter(text(envelope)))
        assert.are.same({ text("t" .. i), image("aW" .. i) }, { combined[at + 1], combined[at + 2] })
      end
    end
  end)

  it("C3 to one tag", function()
    each_layout(function(pack)
      for _, block in ipairs((pack { event(sender("<U1>", { ["<x>"] = "<y>" }), "p"), event(sender "U2", "") })) do
        for tag in block.text:gmatch "</?([^>]*)>" do assert.are.equal("sender_context", tag) end
        assert.is_truthy(block.text:find "[<>]" or block.text == "p")
      end
    end)
  end)

  it("C4 extras between their own delimiter and the next, in order, as many as there were", function()
    local v1, v2, i1, i2 = text "v1", text "v2", image "aTE=", image "aTI="
    local batch = { event(sender "U1", "one", i1, v1, i1), event(sender "U2", "", v2, i2, v1),
      event(sender "U3", "x", i2) }
    local blocks, spans = packing.pack(batch)
    local function group(i) return { table.unpack(blocks, spans[i][1] + 1, spans[i][2]) } end
    assert.are.same({ v1, text "one", i1, i1 }, group(1))
    assert.are.same({ v2, v1, i2 }, group(2))
    assert.are.same({ text "x", i2 }, group(3))
    blocks, spans = packing.pack(batch, { layout = "combined" })
    assert.are.same({ i1, v1, i1 }, group(1))
    assert.are.same({ v2, i2, v1 }, group(2))
    assert.are.same({ i2 }, group(3))
  end)

  it("C5 unknown keys of a sender, after the known ones, sorted by name, the schema as it is", function()
    local plain = packing.sender_context(sender("U1", { timestamp = { epoch_s = 0 } }))
    local extended = packing.sender_context(sender("U1", { timestamp = { epoch_s = 0 }, team = "T", nonce = 7,
      Zone = { b = true, a = koine.array {} } }))
    assert.are.equal(plain:sub(1, -2) .. ',"Zone":{"a":[],"b":true},"nonce":7,"team":"T"}', extended)
    assert.is_truthy(extended:find('^{"schema":"openab.sender.v1",'))
  end)

  it("C6 the platform's time, and invents none", function()
    local function forbidden() error "a clock was read" end
    local kept, lines = { time = os.time, clock = os.clock, date = os.date }, {}
    os.time, os.clock = forbidden, forbidden -- luacheck: ignore 122
    os.date = function(form, seconds) -- luacheck: ignore 122
      return kept.date(form, seconds or forbidden())
    end
    local ok, err = pcall(function()
      lines[1] = packing.envelope { sender = sender("U1", { timestamp = { slack = "1714204397.123456" } }) }
      lines[2] = packing.envelope { sender = sender "U1" }
    end)
    os.time, os.clock, os.date = kept.time, kept.clock, kept.date -- luacheck: ignore 122
    assert(ok, err)
    assert.is_truthy(lines[1]:find('"timestamp":"2024-04-27T07:53:17.123Z"', 1, true))
    assert.is_nil(lines[2]:find("timestamp", 1, true))
  end)

  it("C7 an event whole, however large", function()
    local prompt, long = ("p"):rep(200000), text(("t"):rep(100000))
    each_layout(function(pack, layout)
      local who = sender "U1"
      local blocks, spans = pack { event(who, prompt, long, PNG) }
      assert.are.same(expected(layout, packing.envelope { sender = who }, event(who, prompt, long, PNG)), blocks)
      assert.are.same({ { 1, #blocks } }, spans)
    end)
  end)

  it("C8 no event to itself: what cannot be packed is an error, and nothing is packed", function()
    each_layout(function(pack)
      for _, bad in ipairs { event(nil, "x"), event(sender "", "x"), event(sender "U1", 7), event(sender "U1", "x", {}),
        "x" } do
        local ok, err = pcall(pack, { event(sender "U1", "fine"), bad, event(sender "U1", "fine") })
        assert.is_false(ok)
        assert.are.equal("ArgumentError", err.class)
        assert.are.equal("batch[2]", err.field:sub(1, 8))
      end
    end)
  end)
end)

describe("packing never", function()
  it("P1 splits an event", function()
    each_layout(function(pack)
      local blocks, spans = pack { event(sender "U1", "1. the build\n\n2. the deploy\n\n---\n\nAlso: lunch?") }
      assert.are.equal(1, #spans)
      assert.are.equal(1, count(blocks, "<sender_context>"))
      assert.are.equal(1, count(blocks, "1. the build\n\n2. the deploy\n\n---\n\nAlso: lunch?"))
    end)
  end)

  it("P2 merges neighbours of one sender", function()
    local ann = sender "U1"
    each_layout(function(pack)
      local blocks, spans = pack { event(ann, "deploy"), event(ann, "I mean: deploy to staging") }
      assert.are.equal(2, #spans)
      assert.are.equal(2, count(blocks, "<sender_context>"))
    end)
  end)

  it("P3 takes two people for one, were their names equal", function()
    local names = { sender_name = "sam", display_name = "Sam" }
    each_layout(function(pack)
      local blocks, spans = pack { event(sender("U1", names), "yes"), event(sender("U2", names), "no") }
      assert.is_truthy(blocks[spans[1][1]].text:find('"sender_id":"U1"', 1, true))
      assert.is_truthy(blocks[spans[2][1]].text:find('"sender_id":"U2"', 1, true))
    end)
  end)

  it("P4 drops an event, empty, repeated or off topic", function()
    local ann = sender "U1"
    each_layout(function(pack)
      local blocks, spans = pack { event(ann, "deploy"), event(ann, ""), { sender = ann }, event(ann, "deploy"),
        event(ann, "deploy"), event(sender "U2", "lol") }
      assert.are.equal(6, #spans)
      assert.are.equal(6, count(blocks, "<sender_context>"))
      assert.are.equal(3, count(blocks, "deploy"))
    end)
  end)

  it("P5 changes the order, for priority, role, type or time", function()
    local batch = {
      event(sender("U1", { timestamp = { epoch_s = 300 } }), "e1"),
      event(sender("BOT", { timestamp = { epoch_s = 100 }, is_bot = true }), "e2", PNG),
      event(sender("ADMIN", { timestamp = { epoch_s = 200 }, priority = 9 }), "URGENT e3"),
      event(sender "U1", "e4"),
    }
    each_layout(function(pack)
      local blocks, spans = pack(batch)
      for i, span in ipairs(spans) do
        assert.are.equal(1, count({ table.unpack(blocks, span[1], span[2]) }, "e" .. i))
      end
    end)
  end)

  it("P6 leaves out an envelope because it was there before", function()
    local ann, later = sender("U1", { timestamp = { epoch_s = 1 } }), sender("U1", { timestamp = { epoch_s = 2 } })
    each_layout(function(pack)
      local blocks, spans = pack { event(ann, "a"), event(ann, "b"), event(later, "c") }
      for i, who in ipairs { ann, ann, later } do
        local envelope = packing.envelope { sender = who }
        assert.are.equal(envelope, blocks[spans[i][1]].text:sub(1, #envelope))
      end
    end)
  end)

  it("P7 speaks in a participant's name: without the events' own bytes nothing is left", function()
    local batch = { event(sender "U1", "one", text "two"), event(sender "U2", "three", PNG) }
    each_layout(function(pack)
      local said = {}
      for _, block in ipairs((pack(batch))) do said[#said + 1] = block.text end
      local rest = table.concat(said)
      for _, part in ipairs { packing.envelope(batch[1]), packing.envelope(batch[2]), "one", "two", "three" } do
        local first, last = rest:find(part, 1, true)
        rest = rest:sub(1, first - 1) .. rest:sub(last + 1)
      end
      assert.are.equal("", (rest:gsub("\n", "")))
    end)
  end)

  it("P8 gives an extra to another event", function()
    local picture, other = image "cGlj", image "b3Ro"
    each_layout(function(pack)
      local blocks, spans = pack { event(sender "U1", "see this image"), event(sender "U1", "", picture),
        event(sender "U2", "and this", other) }
      local owner = {}
      for i, span in ipairs(spans) do
        for k = span[1], span[2] do owner[blocks[k]] = i end
      end
      assert.are.equal(2, owner[picture])
      assert.are.equal(3, owner[other])
      assert.are.equal(1, count({ table.unpack(blocks, spans[1][1], spans[1][2]) }, "see this image"))
    end)
  end)

  it("P9 sends who said what at the end of it all", function()
    each_layout(function(pack)
      local blocks, spans = pack { event(sender "U1", "one"), event(sender "U2", "two") }
      assert.are.equal(spans[2][2], #blocks)
      assert.are.equal("two", blocks[#blocks].text:sub(-3))
      for i, span in ipairs(spans) do
        local name = '"sender_id":"U' .. i .. '"'
        assert.are.equal(1, count(blocks, name))
        assert.is_truthy(blocks[span[1]].text:find(name, 1, true))
      end
    end)
  end)
end)
