-- How the page of records looks in a real browser: contrast, focus, narrow screens. Where KOINE_SHOTS names a folder,
-- pictures of it are written there, for people.

local contrast = require "spec.browser.support.contrast"
local koine = require "koine"
local logs = require "spec.browser.support.logs"
local new_page = require "spec.browser.support.page".new

describe("the page of records, in Chromium:", function()
  local page, browser, sample

  setup(function()
    page = new_page()
    browser = page.browser
    sample = assert(koine.observe.read "docs/img/trace.jsonl")
  end)
  teardown(function() page:close() end)
  after_each(function() page:was_good() end)

  for _, scheme in ipairs { "light", "dark" } do
    it("can be read where the system is " .. scheme .. ", whatever is chosen", function()
      browser:screen(1440, 900, scheme)
      page:open(sample)
      browser:shot(scheme)
      for i = 1, page:count() do
        browser:press "ArrowDown"
        browser:eval "new Promise((ok) => setTimeout(ok, 80))" -- colours change in 60 ms
        local least = browser:eval(contrast)
        assert.is_true(least[1] >= 4.5, scheme .. " row " .. i .. ": " .. least[1] .. " " .. least[2])
        browser:shot(("%s-%02d"):format(scheme, i))
      end
      assert.are_not.equal("none", browser:eval "getComputedStyle(document.querySelector('.chosen')).boxShadow")
      page:search "queue" -- pictures only: of a search, and of the keys
      browser:press "Enter"
      browser:shot(scheme .. "-search")
      browser:press("Escape", "?")
      browser:shot(scheme .. "-keys")
      browser:press "Escape"
    end)
  end

  it("fits a narrow screen, with names and words that do not end", function()
    browser:screen(390, 760, "light")
    local long = logs.run { prompt = ("x"):rep(3000), name = ("name"):rep(50), result = ("y"):rep(3000), answer = "ok" }
    page:open(long)
    for _ = 1, 15 do
      browser:press "ArrowDown"
      for _, id in ipairs { "list", "detail" } do
        assert.is_true(browser:eval(("(() => { const e = document.getElementById(%q); " ..
          "return e.scrollWidth <= e.clientWidth; })()"):format(id)), id)
      end
      assert.is_true(browser:eval "document.documentElement.scrollWidth <= innerWidth")
    end
    page:open(sample)
    browser:shot "narrow"
    browser:press("j", "j", "j")
    browser:shot "narrow-chosen"
    browser:screen(390, 760, "dark")
    browser:shot "narrow-dark"
  end)

  it("takes many traces, an empty log, one record", function()
    browser:screen(1440, 900, "light")
    page:open(logs.many(300, 40))
    assert.is_true(page:count() < 100)
    browser:shot "many"
    page:open {}
    browser:shot "empty"
    page:open { { v = 1, type = "chat", phase = "start", id = "1", trace = "1", time = 1790000000000000000 } }
    browser:press "j"
    browser:shot "one"
  end)
end)
