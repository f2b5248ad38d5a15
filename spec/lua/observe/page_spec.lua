-- The page of records: what stands in it. A browser's part is in spec/browser.

local core = require "koine.core"
local koine = require "koine"

local HOSTILE <const> = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> \u{2028}"

local function chat(id, more)
  local start = { v = 1, type = "chat", phase = "start", trace = "t", id = id, time = 1000000000, model = "m" }
  for name, value in pairs(more or {}) do start[name] = value end
  return start
end

-- The values of the blocks of JSON in a page, by their ids.
local function blocks_of(page)
  local blocks = {}
  for id, text in page:gmatch '<script type="application/json" id="([%w-]+)">(.-)</script>' do
    blocks[id] = assert(core.decode(text))
  end
  return blocks
end

describe("the page of records", function()
  it("holds spans behind what they are a part of, and their records", function()
    local blocks = blocks_of(koine.observe.page {
      chat("1"), chat("2", { parent = "1", type = "tool", name = "search", time = 3000000000 }),
      { v = 1, type = "chat", phase = "end", trace = "t", id = "1", time = 6000000000, seconds = 5, cost = 0.25,
        usage = { input_tokens = 3, output_tokens = 4 } },
    })
    assert.are.same({ type = "chat", name = "m", up = -1, id = "1", trace = "t", at = 0.0, ms = 5000, cost = 0.25,
      input = 3, output = 4 }, blocks.spans[1])
    assert.are.same({ type = "tool", name = "search", up = 0, id = "2", trace = "t", at = 2000.0 }, blocks.spans[2])
    assert.are.equal(5, blocks["records-0"][1].finish.seconds)
    assert.is_nil(blocks["records-0"][2].finish)
  end)

  it("says in its list what went otherwise than one expects", function()
    local blocks = blocks_of(koine.observe.page {
      chat("1"), { v = 1, type = "retry", phase = "point", id = "2", parent = "1", time = 1000000000, kind = "server" },
      { v = 1, type = "cache_miss", phase = "point", id = "3", parent = "1", time = 1000000000, path = "system" },
      { v = 1, type = "chat", phase = "end", id = "1", time = 2000000000, seconds = 1, first_delta = 0.5, attempts = 3,
        error = { kind = "server" }, usage = { cache_read_tokens = 1, cache_creation_tokens = 2 } },
      { v = 1, type = "tool", phase = "end", id = "4", time = 3000000000, seconds = 1, is_error = true },
      { v = 1, type = "tool", phase = "end", id = "5", time = 3000000001, is_error = true, blocked = true },
      { v = 1, type = "dropped", phase = "point", id = "6", time = 4000000000, session = "ada", reason = "closed" },
    })
    local call, tool, blocked, dropped = table.unpack(blocks.spans)
    assert.are.same({ 2, "system", "server" }, { call.retries, call.miss, call.failed })
    assert.are.same({ 500, 3 }, { call.first, call.cached })
    assert.are.same({ "error", 1000, 1000 }, { tool.failed, tool.at, tool.ms }) -- it began when it ended, less a second
    assert.are.equal("blocked", blocked.failed)
    assert.are.same({ "dropped", "ada closed", true, 0 }, { dropped.type, dropped.name, dropped.point, dropped.ms })
    assert.are.equal("closed", blocks["records-0"][4].point.reason)
    assert.are.equal(1000, blocks.page.first)
  end)

  it("keeps what records say out of its markup", function()
    local page = koine.observe.page { chat("1", { model = HOSTILE, content = { system = HOSTILE } }) }
    local blocks = blocks_of(page)
    assert.are.equal(HOSTILE, blocks.spans[1].name)
    assert.are.equal(HOSTILE, blocks["records-0"][1].start.content.system)
    assert.is_nil(page:find("alert(1)</script>", 1, true))
    assert.is_nil(page:find("<img", 1, true))
    local _, scripts = page:gsub("<script", "")
    assert.are.equal(4, scripts) -- three of JSON, and its own
  end)

  it("allows its own script and style alone", function()
    local page = koine.observe.page {}
    local script, style = page:match "<script>(.*)</script>", page:match "<style>(.*)</style>"
    local function source(text) return "'sha256-" .. koine.base64(core.sha256(text)) .. "'" end
    local policy = ("default-src 'none'; script-src %s; style-src %s;"):format(source(script), source(style))
    assert.is_truthy(page:find(policy, 1, true))
    assert.is_nil(page:find "https?://")
  end)

  it("takes no records, broken ones and 20,000 in a chain", function()
    assert.are.same({}, blocks_of(koine.observe.page {}).spans)
    local broken = koine.observe.page { { id = "1", type = "chat", time = "x", seconds = {} }, 5 }
    assert.are.equal(1, #blocks_of(broken).spans)
    local huge = koine.observe.page { { id = "1", type = "chat", phase = "start", time = math.mininteger },
      { id = "1", type = "chat", phase = "end", time = math.maxinteger, seconds = 1e308, first_delta = -1e308,
        cost = 1e308, attempts = 1e308,
        usage = { input_tokens = 1e308, cache_read_tokens = 1e308, cache_creation_tokens = 1e308 } },
      { id = "2", type = "chat", phase = "end", time = 1e300, seconds = 1e300 } }
    assert.are.equal(2, #blocks_of(huge).spans)
    local records = {}
    for i = 1, 20000 do records[i] = chat(tostring(i), { parent = i > 1 and tostring(i - 1) or nil }) end
    local blocks = blocks_of(koine.observe.page(records))
    assert.are.equal(20000, #blocks.spans)
    assert.are.equal(500, #blocks["records-39"])
    assert.is_nil(blocks["records-40"])
  end)
end)
