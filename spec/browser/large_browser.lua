-- The page of 50 MB of records in a real browser: how long it takes, how long it does not answer, what memory it needs.
-- These are printed; asserted is that it answers.

local cli = require "spec.support.cli"
local koine = require "koine"
local logs = require "spec.browser.support.logs"
local new_page = require "spec.browser.support.page".new
local socket = require "socket"

local KEYS <const> = { "ArrowDown", "ArrowDown", "PageDown", "End", "ArrowUp", "ArrowLeft", "Home", "ArrowRight", "x" }
local FREEZE_MAX <const> = 2000 -- ms; a safety net: what is longer looks like a page that hangs

-- The longest task of the page's thread so far, in ms; those below 50 ms are not told, and count as 50.
local LONGEST <const> = [[new Promise((ok) => { new PerformanceObserver((list) =>
  ok(Math.max(50, ...list.getEntries().map((e) => e.duration)))).observe({ type: "longtask", buffered: true });
  setTimeout(() => ok(50), 100); })]]

-- Makes a page of a log, and prints the most memory that it needed, in bytes.
local MAKE <const> = [[
  local observe = require "koine".observe
  local page <close> = assert(io.open(arg[2], "wb"))
  assert(page:write(observe.page(assert(observe.read(arg[1])))))
  for line in io.lines "/proc/self/status" do
    local kilobytes = line:match "VmHWM:%s*(%d+)"
    if kilobytes then print(kilobytes * 1024) end
  end
]]

describe("the page of a large log, in Chromium:", function()
  local page, browser

  before_each(function()
    page = new_page()
    browser = page.browser
    browser:screen(1280, 720, "light")
  end)
  after_each(function() page:close() end)

  -- Makes the page of records in a program of its own: the log's bytes, the seconds that it took, its memory in MB.
  local function make(records)
    local path = page.place .. "/log.jsonl"
    local log <close> = assert(koine.observe.jsonl(path))
    for _, record in ipairs(records) do log:record(record) end
    log:close()
    local program = cli.file(page.place .. "/make.lua", MAKE)
    local began = socket.gettime()
    local done = assert(koine.process.run { os.getenv "KOINE_LUA" or "lua5.4", program, path, page:path() })
    assert.are.equal(0, done.code, done.stderr)
    return require "lfs".attributes(path, "size"), socket.gettime() - began, tonumber(done.stdout) / 1e6
  end
  local function measure(what, records)
    local bytes, seconds, memory = make(records)
    local began = socket.gettime()
    page:visit()
    browser:until_true "document.querySelector('.row')"
    local first = socket.gettime() - began
    local loading = browser:eval(LONGEST)
    local slowest = 0
    local function timed(f, ...)
      local from = socket.gettime()
      f(browser, ...)
      browser:eval "new Promise((ok) => requestAnimationFrame(() => setTimeout(ok, 0)))"
      slowest = math.max(slowest, socket.gettime() - from)
    end
    for _, key in ipairs(KEYS) do timed(browser.press, key) end
    for i = 1, 10 do
      timed(browser.eval, ("{ const l = document.getElementById('list'); l.scrollTop = l.scrollHeight * %d / 10; 0 }")
        :format(i))
    end
    browser:press "/"
    began = socket.gettime()
    timed(browser.type, "needle") -- the page still answers while it looks through all of them
    timed(browser.eval, "0")
    browser:until_true "document.body.dataset.searched === 'needle'"
    local searched = socket.gettime() - began
    assert.are.same({ "tool search in agent " .. #records // 6 .. "|error" }, page:rows())
    local longest = browser:eval(LONGEST)
    print(("\n%s: %.1f MB, %d records; page made in %.1f s with %.0f MB; first row after %.2f s; longest freeze " ..
      "%.0f ms at the beginning, %.0f ms in all; slowest answer %.0f ms; search %.2f s; page's process %.0f MB at most")
      :format(what, bytes / 1e6, #records, seconds, memory, first, loading, longest, slowest * 1000, searched,
        browser:peak() / 1e6))
    assert.is_true(longest < FREEZE_MAX, longest)
    page:was_good()
    return bytes
  end

  it("opens 50 MB, mostly content", function()
    assert.is_true(measure("content", logs.many(4200, 3000)) > 50e6)
  end)

  it("opens 50 MB, mostly spans", function()
    assert.is_true(measure("spans", logs.many(38000, 20)) > 50e6)
  end)
end)
