-- The page of records in a real browser, where the records are hostile: nothing that they say runs or asks anybody.

local core = require "koine.core"
local koine = require "koine"
local logs = require "spec.browser.support.logs"
local new_page = require "spec.browser.support.page".new
local socket = require "socket"

-- What runs says so in window.ran, asks the server at `url`, or opens a dialog.
local function evils(url)
  local run = ("window.ran=1;alert(1);fetch('%s')"):format(url)
  return {
    ("</script><script>%s</script>"):format(run),
    ("<!--<script>%s</script>"):format(run),
    ("--></script></style></title></textarea><script src='%s'></script>"):format(url),
    ("<img src='%s' onerror=\"%s\">"):format(url, run),
    ("<svg onload=\"%s\"><iframe srcdoc=\"<script>%s</script>\">"):format(run, run),
    ("<a href=\"javascript:%s\" onclick=\"%s\">x</a><form action='%s'>"):format(run, run, url),
    ("javascript:%s"):format(run),
    ("\" onmouseover=\"%s\" x=\""):format(run),
    ("<style>@import '%s';*{background:url('%s')}</style>"):format(url, url),
    ("<meta http-equiv=refresh content='0;%s'><base href='%s'><link rel=prefetch href='%s'>"):format(url, url, url),
    ("\u{2028}%s\u{2029}\"];%s;//"):format(run, run),
    "\0\x1b[2J\u{202E}\u{FEFF}\xff\xfe\xed\xa0\x80\xed\xbf\xbf", -- no UTF-8; halves of pairs
    "${window.ran=1}{{window.ran=1}}]]>&lt;script&gt;",
    "__proto__", "constructor", "%3Cscript%3E&q=</script>&errors",
  }
end

-- Records of a run in which every string is hostile, and some that are hostile by their form.
local function hostile_records(evil, index)
  local records = logs.run { prompt = evil, name = "run", result = evil, answer = evil }
  local function poison(value, depth)
    for key, member in pairs(value) do
      if type(member) == "string" and not (depth == 0 and (key == "id" or key == "parent" or key == "phase")) then
        value[key] = evil
      elseif type(member) == "table" then
        poison(member, depth + 1)
      end
    end
  end
  for i, record in ipairs(records) do
    if i % 3 > 0 then
      local type, trace = record.type, record.trace
      poison(record, 0)
      if i % 2 == 0 then record.type, record.trace = type, trace end
    end
    record[evil] = evil
    record.__proto__ = { polluted = true }
  end
  records[#records + 1] = { v = 1, id = evil .. index, type = evil, phase = "start", time = 1, name = evil }
  records[#records + 1] = { v = 1, id = "__proto__", type = "constructor", phase = "point", points = evil }
  return records
end

describe("the page of hostile records, in Chromium:", function()
  local page, browser, listener, url

  setup(function()
    page = new_page()
    browser = page.browser
    browser:screen(1280, 720, "dark")
    listener = assert(socket.bind("127.0.0.1", 0))
    local _, port = listener:getsockname()
    url = ("http://127.0.0.1:%d/"):format(math.tointeger(tonumber(port)))
    listener:settimeout(0)
  end)
  teardown(function()
    listener:close()
    page:close()
  end)

  local function nothing_ran()
    assert.is_true(browser:eval "window.ran === undefined && ({}).polluted === undefined")
    assert.are.equal(0,
      browser:eval "document.querySelectorAll('img, svg, a, iframe, link, base, meta[http-equiv=refresh]').length")
    assert.is_nil((listener:accept()))
    page:was_good()
  end

  it("runs nothing, asks nobody, and shows it all as text", function()
    for index, evil in ipairs(evils(url)) do
      page:open(hostile_records(evil, index))
      for _ = 1, page:count() do
        browser:press "ArrowDown"
        browser:eval "document.querySelectorAll('details').forEach((d) => d.open = true); 0"
      end
      assert.is_true(page:count() > 10)
      page:change("kind", "selectedIndex", 1)
      browser:press "Escape"
      page:search "run"
      browser:eval "new Promise((ok) => setTimeout(ok, 0))"
      nothing_ran()
    end
  end)

  it("says hostile words as they are", function()
    local evil = evils(url)[1]
    page:open { { v = 1, id = "1", trace = "1", type = "tool", phase = "start", time = 1000, name = evil,
      content = { arguments = { x = evil } } } }
    browser:press "j"
    assert.are.equal("tool " .. evil, page:chosen())
    assert.is_truthy(page:detail():find(core.encode(evil), 1, true))
    nothing_ran()
  end)

  it("takes an address that is hostile", function()
    page:open(logs.many(1, 10), "#<img src=x onerror=window.ran=1>&q=<script>window.ran=1</script>&type=__proto__" ..
      "&errors")
    browser:until_true "'searched' in document.body.dataset"
    assert.are.equal(0, page:count())
    nothing_ran()
  end)

  it("would tell: what is written into the page past its script is stopped by its policy", function()
    page:open {}
    local file <close> = assert(io.open(page:path(), "a"))
    assert(file:write("<script>window.ran = 1</script><img src='", url, "' onerror='window.ran = 1'>",
      "<b style='color:red' onclick='window.ran = 1'>x</b>"))
    file:close()
    page:visit()
    browser:until_true "window.violations.length >= 5"
    assert.is_true(browser:eval "window.ran === undefined")
    assert.is_nil((listener:accept()))
    -- and without the policy it would have run, and asked
    local text
    do
      local whole <close> = assert(io.open(page:path(), "rb"))
      text = whole:read "a":gsub('<meta http%-equiv="Content%-Security%-Policy".-">', "")
    end
    local bare <close> = assert(io.open(page:path(), "wb"))
    assert(bare:write(text))
    bare:close()
    listener:settimeout(30)
    browser.events = {}
    browser:call("Page.navigate", { url = "file://" .. page:path() .. "?again" })
    assert(listener:accept()):close()
    listener:settimeout(0)
    browser:await "Page.loadEventFired"
    assert.are.equal(1, browser:eval "window.ran")
  end)

  it("takes records of any form", function()
    local odd = { core.null, true, -1, 0.5, 1e300, "", "words", core.array {}, { x = { y = { z = { {} } } } },
      { {}, 5, "x" } }
    local records = assert(koine.observe.read "docs/img/trace.jsonl")
    local list, n = {}, 0
    for _, record in ipairs(records) do
      for key in pairs(record) do
        if key ~= "id" and key ~= "type" and key ~= "v" then
          local changed = core.decode(core.encode(record))
          n = n + 1
          changed[key], changed.id, changed.parent = odd[n % #odd + 1], changed.id .. n, nil
          if key == "parent" then changed.parent = odd[n % #odd + 1] end
          if key == "content" and type(record.content) == "table" then
            changed.content = core.decode(core.encode(record.content))
            for name in pairs(record.content) do
              n = n + 1
              changed.content[name] = odd[n % #odd + 1]
            end
          end
          list[#list + 1] = changed
        end
      end
    end
    page:open(list)
    local count = browser:eval "JSON.parse(document.getElementById('spans').textContent).length"
    assert.is_true(count > 300, count)
    browser:eval(("for (let i = 0; i < %d; i++) document.body.dispatchEvent(new KeyboardEvent('keydown', " ..
      "{ key: 'j', bubbles: true })); 0"):format(count))
    page:search "words"
    nothing_ran()
  end)
end)
