-- The check of the arrows: on the plan as it is, and on plans that are wrong in one place each.

local files = require "spec.support.files"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local PAGE = files.read "docs/architecture.md"

-- Returns the output of tools/arch.lua for a page, and whether it was content.
local function checked(page)
  local path = os.tmpname()
  files.write(path, page)
  local pipe = assert(io.popen(("%s tools/arch.lua '%s' 2>&1"):format(LUA, path)))
  local printed, content = pipe:read "a", pipe:close()
  os.remove(path)
  return printed, content == true
end

-- The page with one text in the place of another, which stands there.
local function changed(old, new)
  local from, to = PAGE:find(old, 1, true)
  assert(from, old .. " is not on the page")
  return PAGE:sub(1, from - 1) .. new .. PAGE:sub(to + 1)
end

local WRONG = {
  { "an arrow that is not listed", "\nhttp: base engine\n", "\nhttp: base\n", "src/core: http may not use engine" },
  { "an arrow out of the Lua half that is not listed", "\ntask: data\n", "\ntask:\n",
    "lua/koine: task may not use data" },
  { "an arrow of files that lie deeper", "\nshared: .\n*: shared\n", "\nshared: .\nchat:\n*: shared\n",
    "src/core/codec: chat may not use shared" },
  { "an arrow of a room without a line", "\n*: shared\n", "\n*:\n", "src/core/codec: chat may not use shared" },
  { "an arrow that no room without a line uses", "\n*: shared\n", "\n*: shared .\n",
    "src/core/codec: *: nothing in it uses ." },
  { "a line for rooms without one where there are none", "\nframing: base bytes\n", "\nframing: base bytes\n*: base\n",
    "src/core: there is no room *" },
  { "a listed arrow that nobody uses", "\nfiles: base\n", "\nfiles: base json\n",
    "src/core: files: nothing in it uses json" },
  { "a folder without a line", "\nframing: base bytes\n", "\n", "src/core/framing: stands on no line" },
  { "a line without a folder", "\nframing: base bytes\n", "\nframing: base bytes\ncellar: base\n",
    "there is no room cellar" },
  { "an arrow that points up", "\nbase:\njson: base\n", "\njson: base\nbase:\n",
    "json uses base, which stands on no line above it" },
  { "two lines for a room", "\nframing: base bytes\n", "\nframing: base bytes\nframing: base bytes\n",
    "framing has two lines" },
  { "a long folder that is no shelf", "\nlua/koine/provider/rows\n", "\n",
    ("lua/koine/provider/rows: %d entries"):format(#files.below("lua/koine/provider/rows", ".lua")) },
  { "a shelf that is not there", "\nlua/koine/provider/rows\n", "\nlua/koine/provider/rows\nlua/koine/cellar\n",
    "there is no shelf lua/koine/cellar" },
  { "tests of a room that is not there", "\nspec/c: src/core support\n", "\nspec/c: src/core\n",
    "spec/c/support: there is no such room to test" },
}

describe("the check of the arrows", function()
  it("is content with the plan", function()
    local printed, content = checked(PAGE)
    assert.are.equal("arch: every arrow points down\n", printed)
    assert.is_true(content)
  end)

  for _, case in ipairs(WRONG) do
    it("finds " .. case[1], function()
      local printed, content = checked(changed(case[2], case[3]))
      assert.is_false(content)
      assert(printed:find(case[4], 1, true), ("%q expected in:\n%s"):format(case[4], printed))
    end)
  end

  it("does not take a page without a plan for a good one", function()
    local printed, content = checked "# Architecture\n"
    assert.is_false(content)
    assert(printed:find("has no plan", 1, true), printed)
  end)
end)
