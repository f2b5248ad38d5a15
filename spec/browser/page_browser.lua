-- The page of records in a real browser: what is shown, moved to, found and folded.

local koine = require "koine"
local logs = require "spec.browser.support.logs"
local new_page = require "spec.browser.support.page".new

local PLAIN <const> = { prompt = "What is 2 + 3?", name = "adder", result = "It is five, says the abacus.",
  answer = "Five." }

-- In each row: whether the bar is within its track, where it begins, its class.
local BARS <const> = [[[...document.querySelectorAll(".row")].map((r) => {
  const b = r.querySelector(".bar").getBoundingClientRect(), t = r.querySelector(".track").getBoundingClientRect();
  return [b.left >= t.left - 1 && b.right <= t.right + 3, b.left, r.querySelector(".bar").className]; })]]

local MODEL <const> = "chat claude-sonnet-4-5"

describe("the page of records, in Chromium:", function()
  local page, browser, records, sample

  setup(function()
    page = new_page()
    browser = page.browser
    records = logs.run(PLAIN)
    sample = assert(koine.observe.read "docs/img/trace.jsonl")
  end)
  teardown(function() page:close() end)
  before_each(function() browser:screen(1280, 720, "light") end)
  after_each(function() page:was_good() end)

  local function id_of(type, nth)
    for _, record in ipairs(sample) do
      if record.type == type and record.phase == "start" then
        nth = nth - 1
        if nth == 0 then return record.id end
      end
    end
  end

  it("shows a row for each span of a real run, behind what it is a part of, with a bar within its tree", function()
    page:open(records)
    assert.are.same({ "▾agent adder", "▾" .. MODEL .. "|1 retry", "attempt #1|rate_limit", "wait retry", "attempt #2",
      "tool add", "▾" .. MODEL, "attempt #1", "tool fail|error", "▾" .. MODEL, "attempt #1",
      "▾" .. MODEL .. "|invalid_request", "attempt #1|invalid_request", "▾" .. MODEL .. "|open", "attempt #1|open" },
      page:rows())
    assert.are.same({ 1, 2, 3, 3, 3, 2, 2, 3, 2, 2, 3, 1, 2, 1, 2 }, page:levels())
    local bars, levels = browser:eval(BARS), page:levels()
    for i, bar in ipairs(bars) do
      assert.is_true(bar[1], i)
      if i > 1 and i < 12 then assert.is_true(bar[2] >= bars[i - 1][2] or levels[i] < levels[i - 1], i) end
    end
    local totals = page:text "totals":gsub("%s+", " ")
    for _, words in ipairs { "traces 3", "spans 15", "model calls 5", "cost $0.00", "retry 1", "errors 4", "open 2" } do
      assert.is_truthy(totals:find(words, 1, true), totals .. " lacks " .. words)
    end
  end)

  it("draws the lines of the scale through the rows of its tree alone", function()
    page:open(sample)
    local function scaled()
      return browser:eval [[[...document.querySelectorAll(".row")].map((r) =>
        getComputedStyle(r.querySelector(".track")).backgroundImage === "none" ? " " : "|").join("")]]
    end
    assert.are.equal(("|"):rep(18) .. "    ", scaled())
    browser:press "End"
    assert.are.equal((" "):rep(20) .. "||", scaled())
  end)

  it("rounds numbers in rows, and sums what parts used", function()
    page:open(sample)
    assert.are.same({ "12k → 1.2k", "$0.041", "17.9 s" }, browser:eval [[["tokens", "cost", "time"]
      .map((name) => document.querySelector(".row ." + name).innerText)]])
    assert.are.same({ "3k → 131", "$0.012", "3.89 s" }, browser:eval [[["tokens", "cost", "time"]
      .map((name) => document.querySelectorAll(".row ." + name)[1].innerText)]])
    assert.are.equal("34 → 16", browser:eval "document.querySelectorAll('.row .tokens')[13].innerText") -- a tool's call
    assert.are.equal("3.0 ms", browser:eval "document.querySelectorAll('.row .time')[5].innerText")
    assert.are.equal("0\n5 s\n10 s\n15 s", page:text "scale")
    browser:press "End" -- a row of another tree
    assert.are.equal("0\n0.5 ms\n1 ms\n1.5 ms", page:text "scale")
    page:open { { v = 1, type = "session", phase = "end", id = "1", trace = "1", time = 2000000000, seconds = 1,
      usage = { input_tokens = 1234567, output_tokens = 999 }, cost = 12.5 } } -- of another program, without calls
    assert.are.same({ "1.2M → 999", "$12.50", "1.00 s" }, browser:eval [[["tokens", "cost", "time"]
      .map((name) => document.querySelector(".row ." + name).innerText)]])
  end)

  it("moves, folds and unfolds by keys and clicks", function()
    page:open(records)
    browser:press("ArrowDown", "j")
    assert.are.equal(MODEL, page:chosen())
    browser:press "ArrowLeft"
    assert.are.equal(12, page:count())
    assert.are.equal("false", browser:eval "document.querySelector('.chosen').ariaExpanded")
    assert.are.equal("▸" .. MODEL .. "|1 error|1 retry", page:rows()[2]) -- of its part, which is hidden
    browser:press("ArrowDown", "k", "ArrowRight")
    assert.are.equal(15, page:count())
    browser:press "ArrowRight"
    assert.are.equal("attempt #1", page:chosen())
    browser:press "ArrowLeft"
    assert.are.equal(MODEL, page:chosen())
    browser:press "End"
    assert.are.equal("attempt #1", page:chosen())
    browser:press "Home"
    assert.are.equal("agent adder", page:chosen())
    browser:press "x"
    assert.are.equal(3, page:count())
    browser:press "x"
    assert.are.equal(15, page:count())
    page:click_row(6)
    assert.are.equal("tool add", page:chosen())
    browser:click ".row:nth-child(2) .fold"
    assert.are.equal(12, page:count())
    assert.are.equal(MODEL, page:chosen())
  end)

  it("goes to errors, also those within what is folded, and round the end", function()
    page:open(records)
    browser:press("x", "n")
    assert.are.equal("attempt #1", page:chosen())
    assert.are.equal(11, page:count()) -- other chats stay folded
    browser:press "n"
    assert.are.equal("tool fail", page:chosen())
    browser:press("n", "n", "n")
    assert.are.equal("attempt #1", page:chosen())
    browser:press "N"
    assert.are.equal("attempt #1", page:chosen())
  end)

  it("shows its keys", function()
    page:open(records)
    browser:press "?"
    assert.is_true(browser:eval "document.getElementById('help').open")
    browser:press "j" -- moves nothing behind it
    assert.are.equal("", page:chosen())
    browser:press "Escape"
    assert.is_false(browser:eval "document.getElementById('help').open")
    browser:click "#keys"
    assert.is_true(browser:eval "document.getElementById('help').open")
    browser:press "Escape"
  end)

  it("shows what a span says, usage as lines, numbers as people read them", function()
    page:open(records)
    page:click_row(6)
    local said = page:detail()
    assert.is_truthy(said:find(PLAIN.result, 1, true), said)
    assert.is_truthy(said:find('"note": "What is 2 + 3?"', 1, true), said)
    page:click_row(2)
    said = page:detail()
    assert.is_truthy(said:find "tokens in%s+%d+\n", said)
    assert.is_truthy(said:find "tokens out%s+%d+\n", said)
    assert.is_truthy(said:find "Attempt 1 failed: 429 rate_limit%s+Tried again after %d", said)
    assert.is_truthy(said:find("Be brief.", 1, true), said)
    assert.is_truthy(said:find(PLAIN.prompt, 1, true), said)
    assert.is_nil(said:find("{", 1, true) and said:find("input_tokens", 1, true))
    browser:click "#detail details:last-child summary"
    browser:until_true "document.querySelector('#detail details:last-child pre')"
    assert.is_truthy(page:detail():find('"trace": "', 1, true))
    page:click_row(9)
    assert.is_truthy(page:detail():find("no such place", 1, true))
    page:click_row(12)
    assert.is_truthy(page:detail():find("invalid_request (RequestError · 400", 1, true))
    page:click_row(14)
    assert.is_truthy(page:detail():find("open: it has no end", 1, true))
  end)

  it("shows where a turn first differed from the one before", function()
    page:open(sample, "#" .. id_of("chat", 3))
    assert.is_truthy(page:detail():find("The first difference from the turn before: messages[2].content[0].content", 1,
      true))
    assert.is_truthy(table.concat(page:rows(), "\n"):find(MODEL .. "|cache miss", 1, true))
  end)

  it("shows conversations as messages, results with the names of their calls", function()
    page:open(sample, "#" .. id_of("chat", 3))
    local said = page:detail()
    local from = 1
    for _, words in ipairs { "system\nYou write", "user\nWrite the notes", "assistant\nI will", "calls read_file\n",
      '"path": "CHANGES.md"', "user\n", "result read_file\n", "result github_search_issues\n", '"number": 398',
      "result, an error run_tests\nok 1", "answer\n", "thinking\nThe test", "calls summarise" } do
      local _, last = said:gsub("\n+", "\n"):find(words, from, true)
      assert.is_truthy(last, words .. " is not in its place: " .. said)
      from = last
    end
    page:open(sample, "#" .. id_of("tool", 3))
    assert.is_truthy(page:detail():find("The answer is an error", 1, true))
  end)

  it("shows long texts and conversations in part until they are asked for", function()
    local long, messages = ("x"):rep(50000) .. "end", {}
    for i = 1, 100 do messages[i] = { role = i % 2 == 1 and "user" or "assistant", content = "message " .. i } end
    page:open { { v = 1, type = "chat", phase = "start", id = "1", trace = "1", time = 1000, model = "m",
      content = { system = long, messages = messages } } }
    browser:press "j"
    local said = page:detail()
    assert.is_truthy(#said < 10000 and said:find("Show all 50,003 characters", 1, true))
    assert.is_nil(said:find("message 80\n", 1, true))
    assert.is_truthy(said:find("Show 80 earlier messages", 1, true) and said:find("message 81\n", 1, true))
    browser:eval "document.querySelectorAll('.more').forEach((b) => b.click())"
    said = page:detail()
    assert.is_truthy(said:find("xend", 1, true) and said:find("message 1\n", 1, true))
    for _, words in ipairs { "message 80", "xend" } do -- what is searched is not left out
      page:search(words)
      browser:press "Enter"
      assert.is_truthy(page:detail():find(words, 1, true))
      assert.are.equal(words, browser:eval "[...CSS.highlights.get('found')].map((r) => r.toString()).join()")
      assert.is_true(browser:eval [[(() => { const hit = [...CSS.highlights.get("found")][0].getBoundingClientRect(),
        box = document.getElementById("detail").getBoundingClientRect();
        return hit.top >= box.top && hit.bottom <= box.bottom; })()]])
      browser:press "Escape"
    end
  end)

  it("searches names and contents, not the names of fields, and marks what it found", function()
    page:open(records)
    page:search "ABACUS"
    assert.is_true(page:count() >= 1 and page:count() < 15)
    local all = table.concat(page:rows(), "\n")
    assert.is_truthy(all:find("tool add in adder", 1, true), all)
    assert.is_nil(all:find("tool fail", 1, true), all)
    browser:press "Enter"
    assert.are.equal("tool add in adder", page:chosen())
    assert.are.equal("abacus", browser:eval "[...CSS.highlights.get('found')].map((r) => r.toString()).join()")
    browser:press "Escape"
    assert.are.equal(15, page:count())
    assert.are.equal("tool add", page:chosen())
    assert.are.equal("list", browser:eval "document.activeElement.id")
    page:search "raw_stop_reason"
    assert.are.equal(0, page:count())
    assert.is_truthy(page:text "list":find "No span matches")
    browser:press "Escape"
    page:search "adder"
    assert.are.same({ "agent adder" }, page:rows())
  end)

  it("filters by type and errors", function()
    page:open(records)
    page:change("kind", "value", "tool")
    assert.are.same({ "tool add in adder", "tool fail in adder|error" }, page:rows())
    page:change("failed", "checked", true)
    assert.are.same({ "tool fail in adder|error" }, page:rows())
    assert.are.equal("1 span", page:text "count")
    page:change("kind", "value", "")
    assert.are.equal(4, page:count())
    browser:click "#clear"
    assert.are.equal(15, page:count())
    browser:press "e"
    assert.are.equal(4, page:count())
  end)

  it("opens at the span and the filters that its address names, and keeps them there", function()
    local many = logs.many(2000, 10)
    local id = many[#many - 1].id
    page:open(many, "#" .. id)
    assert.are.equal("tool search", page:chosen())
    assert.is_true(browser:eval [[(() => { const r = document.querySelector(".chosen").getBoundingClientRect(),
      l = document.getElementById("list").getBoundingClientRect();
      return r.top >= l.top && r.bottom <= l.bottom; })()]])
    assert.is_true(page:count() < 100)
    browser:press "Home"
    browser:until_true(("location.hash === '#%s'"):format(many[1].id))
    browser:eval "location.hash = '#%E0%A4%A'; 0" -- which no text has
    browser:until_true "true"
    assert.are.equal("agent agent 1", page:chosen())
    page:open(records)
    page:search "five"
    page:change("kind", "value", "tool")
    browser:press "Enter"
    browser:until_true "location.hash.endsWith('&q=five&type=tool')"
    local address = browser:eval "location.hash"
    page:open(records, address)
    browser:until_true "document.body.dataset.searched === 'five'"
    assert.are.same({ "tool add in adder" }, page:rows())
    assert.are.equal("tool add in adder", page:chosen())
  end)

  it("says that a log is empty, and shows one record and points that are part of nothing", function()
    page:open {}
    assert.is_truthy(browser:eval("document.body.innerText"):find("The log holds no spans.", 1, true))
    browser:press("ArrowDown", "End", "ArrowLeft", "ArrowRight", "n", "x", "Enter", "Escape")
    page:open { { v = 1, type = "chat", phase = "start", id = "1", trace = "1", time = 1790000000000000000 } }
    assert.are.same({ "chat|open" }, page:rows())
    page:open { { v = 1, type = "dropped", phase = "point", id = "1", trace = "1", time = 1790000000000000000,
      session = "ada", messages = 2, reason = "closed" } }
    assert.are.same({ "dropped ada closed" }, page:rows())
    browser:press "j"
    assert.is_truthy(page:detail():find "messages%s+2")
  end)
end)
