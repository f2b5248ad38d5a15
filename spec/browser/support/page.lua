-- The page of records in a browser, for specs: opened, and asked what it shows.
--
--   local page = require("spec.browser.support.page").new()
--   page:open(records); page.browser:press "ArrowDown"; assert.are.equal("tool add", page:chosen())

local assert = require "luassert"
local chromium = require "spec.browser.support.chromium"
local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"

local page = {}

local methods = {}
local page_mt = { __index = methods }

-- A label's words: those of its badges come behind a bar.
local ROWS <const> = [[[...document.querySelectorAll(".row")].map((r) =>
  [r.querySelector(".fold").innerText + r.querySelector(".named").innerText,
   ...[...r.querySelectorAll(".badge")].map((b) => b.innerText)].join("|"))]]

-- The name of the row that is chosen, where programs that read screens are told that it is the active one.
local CHOSEN <const> = [[(() => {
  const r = document.querySelector(".row.chosen"), l = document.getElementById("list");
  return !r ? "" : r.id === l.getAttribute("aria-activedescendant") && r.ariaSelected === "true" &&
    r.querySelector(".named").innerText; })()]]

--- Starts a browser; files come into a folder of its own.
function page.new()
  return setmetatable({ place = folder.new(), browser = chromium.start() }, page_mt)
end

--- Ends the browser.
function methods:close()
  self.browser:close()
  folder.remove(self.place)
end

--- Where the page lies.
function methods:path() return self.place .. "/page.html" end

--- Opens the page of records, at this part of its address (nil: none).
function methods:open(records, at)
  local file <close> = assert(io.open(self:path(), "wb"))
  assert(file:write(koine.observe.page(records)))
  assert(file:close())
  self:visit(at)
end

--- Opens the page that lies there.
function methods:visit(at) self.browser:open("file://" .. self:path() .. (at or "")) end

--- Asserts that the page asked for nothing but itself, broke no rule of its policy, and raised nothing.
function methods:was_good()
  for _, sent in ipairs(self.browser:all "Network.requestWillBeSent") do
    assert.are.equal("file://" .. self:path(), (sent.request.url:gsub("#.*", "")))
  end
  for _, raised in ipairs(self.browser:all "Runtime.exceptionThrown") do
    assert.is_nil((raised.exceptionDetails.exception or {}).description or raised.exceptionDetails.text)
  end
  assert.are.same({}, self.browser:all "Log.entryAdded")
  assert.are.same({}, self.browser:all "Page.javascriptDialogOpening")
  assert.are.same({}, self.browser:eval "window.violations")
end

--- The words of the rows in the document, with their badges behind bars.
function methods:rows() return self.browser:eval(ROWS) end
function methods:count() return self.browser:eval "document.querySelectorAll('.row').length" end
function methods:levels()
  return self.browser:eval "[...document.querySelectorAll('.row')].map((r) => Number(r.ariaLevel))"
end
function methods:chosen() return self.browser:eval(CHOSEN) end
function methods:detail() return self.browser:eval "document.getElementById('detail').innerText" end
function methods:text(id) return self.browser:eval(("document.getElementById(%q).innerText"):format(id)) end

--- Clicks on the row at this place, from 1.
function methods:click_row(place) self.browser:click((".row:nth-child(%d)"):format(place)) end

--- Searches words by the keyboard, and waits until all records were looked through.
function methods:search(words)
  self.browser:press "/"
  self.browser:type(words)
  self.browser:until_true(("document.body.dataset.searched === %s"):format(core.encode(words:lower())))
end

--- Sets a field of the tool bar, and waits as `search` does.
function methods:change(id, name, value)
  self.browser:eval(("{ const e = document.getElementById(%q); e.%s = %s; e.dispatchEvent(new Event('change')); 0 }")
    :format(id, name, core.encode(value)))
  self.browser:until_true "'searched' in document.body.dataset"
end

return page
