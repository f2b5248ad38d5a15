-- The pages of `make docs` in a real browser: every one fits a narrow screen, asks nobody for anything, raises nothing,
-- and can be read in light and dark. Where KOINE_SHOTS names a folder, pictures are written there, for people.

local chromium = require "spec.browser.support.chromium"
local contrast = require "spec.browser.support.contrast"
local find = dofile("tools/source.lua").find
local lfs = require "lfs"

local FOLDER <const> = "build/docs"

-- What is wider than the window, in words; "" where nothing is.
local WIDE <const> = [[(() => { if (document.documentElement.scrollWidth <= innerWidth) return "";
  const wide = [...document.querySelectorAll("main *")].find((e) => e.getBoundingClientRect().right > innerWidth + 1 &&
    !e.closest("pre, table"));
  return wide ? wide.tagName + ": " + wide.textContent.slice(0, 60) : "something"; })()]]

describe("the guide and the reference, in Chromium:", function()
  local browser, pages, root

  setup(function()
    assert(os.execute((os.getenv "KOINE_LUA" or "lua5.4") .. " tools/reference/build.lua build >/dev/null"))
    pages, root = find(FOLDER .. " -name '*.html'"), "file://" .. lfs.currentdir() .. "/"
    browser = chromium.start()
  end)
  teardown(function() browser:close() end)

  local function open(path)
    browser:open(root .. path)
    for _, sent in ipairs(browser:all "Network.requestWillBeSent") do
      assert.are.equal(root, sent.request.url:sub(1, #root), path .. " asks somebody else")
    end
    assert.are.same({}, browser:all "Log.entryAdded", path)
    assert.are.same({}, browser:all "Runtime.exceptionThrown", path)
  end

  it("every page fits a narrow screen", function()
    browser:screen(390, 760, "light")
    assert.is_true(#pages > 80)
    for _, path in ipairs(pages) do
      open(path)
      assert.are.equal("", browser:eval(WIDE), path)
    end
  end)

  for _, scheme in ipairs { "light", "dark" } do
    it("pages can be read in " .. scheme, function()
      browser:screen(1280, 900, scheme)
      for _, name in ipairs { "index", "modules/agent", "topics/adapter.md", "examples/agent.lua" } do
        open(("%s/%s.html"):format(FOLDER, name))
        browser:shot(("docs-%s-%s"):format(scheme, name:gsub("/", "-")))
        local least = browser:eval(contrast)
        assert.is_true(least[1] >= 4.5, ("%s in %s: %s %s"):format(name, scheme, least[1], least[2]))
      end
    end)
  end

  it("the contents are closed on a narrow screen, and open to the page that is seen on a wide one", function()
    local OPEN <const> = "document.querySelector('.menu').open"
    browser:screen(390, 760, "light")
    open(FOLDER .. "/modules/agent.html")
    assert.is_false(browser:eval(OPEN))
    browser:screen(1280, 900, "light")
    open(FOLDER .. "/modules/agent.html")
    assert.is_true(browser:eval(OPEN))
    assert.are.equal("Agents", browser:eval "document.querySelector('nav [aria-current]').textContent")
  end)

  it("the first page finds a name", function()
    browser:screen(1280, 900, "light")
    open(FOLDER .. "/index.html")
    browser:eval "document.getElementById('find').focus()"
    browser:type "agent.st"
    assert.are.same({ "koine.agent.steps" }, browser:eval
      "[...document.querySelectorAll('#names li')].filter((e) => !e.hidden).map((e) => e.textContent)")
  end)
end)
