-- The check of circles among the files of src and of lua: on the tree as it is, and on small ones made for it.

local files = require "spec.support.files"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local folder, page

-- Returns the output of tools/circles.lua for these files (name → text) and known circles, and whether it was content.
local function checked(sources, known)
  assert(os.execute(("mkdir -p '%s/koine/rows/one'"):format(folder)))
  for name, text in pairs(sources) do files.write(folder .. "/" .. name, text) end
  files.write(page, known and ("\n```circles\n%s\n```\n"):format(known) or "")
  local pipe = assert(io.popen(("%s tools/circles.lua '%s' '%s' 2>&1"):format(LUA, page, folder)))
  local printed, content = pipe:read "a", pipe:close()
  return printed, content == true
end

local function is_fine(sources, known)
  local printed, content = checked(sources, known)
  assert.are.equal("circles: every file can be read with what stands below it\n", printed)
  assert.is_true(content)
end

local function finds(text, sources, known)
  local printed, content = checked(sources, known)
  assert.is_false(content)
  assert(printed:find(text, 1, true), ("%q expected in:\n%s"):format(text, printed))
end

describe("the check of circles", function()
  before_each(function()
    folder, page = os.tmpname(), os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir '%s'"):format(folder)))
  end)
  after_each(function()
    assert(os.execute(("rm -r '%s'"):format(folder)))
    os.remove(page)
  end)

  it("is content with src and what the plan knows", function()
    local pipe = assert(io.popen(LUA .. " tools/circles.lua 2>&1"))
    assert.are.equal("circles: every file can be read with what stands below it\n", pipe:read "a")
    assert.is_true(pipe:close() == true)
  end)

  it("is content with calls in one direction", function()
    is_fine { ["a.c"] = "int a(int x) {\n  return b(x);\n}\n", ["b.c"] = "int b(int x) {\n  return x;\n}\n" }
  end)

  it("finds two files that call each other", function()
    finds("a.c calls b of " .. folder .. "/b.c, " .. folder .. "/b.c calls a of " .. folder .. "/a.c",
      { ["a.c"] = "int a(int x) {\n  return b(x);\n}\n", ["b.c"] = "int b(int x) {\n  return a(x);\n}\n" })
  end)

  it("finds a call behind a comparison, and takes no member for one", function()
    finds("a circle", { ["a.c"] = "int a(int x) {\n  return x > b(x);\n}\n",
      ["b.c"] = "int b(int x) {\n  return a(x);\n}\n" })
    is_fine { ["a.c"] = "int a(struct s *x) {\n  return x->b(x) + x -> b(x);\n}\n",
      ["b.c"] = "int b(int x) {\n  return a(x);\n}\n" }
  end)

  it("finds a circle through a third file, a constant and an inline function", function()
    finds("a circle", { ["h.h"] = "static inline int h(int x) {\n  return c(x);\n}\n",
      ["a.c"] = "int a(int x) {\n  return TABLE[x];\n}\n", ["b.c"] = "const int TABLE[] = { h };\n",
      ["c.c"] = "int c(int x) {\n  return a(x);\n}\n" })
  end)

  it("takes no member, type, string, comment or static function for a call", function()
    is_fine { ["a.c"] = "int a(int x) {\n  return b(x);\n}\n",
      ["b.c"] = "static int a(int x) {\n  return x;\n}\nint b(int x) {\n  return a(x);\n}\n",
      ["c.c"] = "int c(struct a *x) {\n  x->a = 1; x->y.a = '\"'; /* a() */\n  return d(\"a(\\\"\", x);\n}\n",
      ["d.c"] = "int d(int x) {\n  return \"c()\"[x];\n}\n" }
  end)

  it("finds Lua files that require each other, on first use or by a name completed at run time", function()
    local b = 'return function() return require "koine.a" end\n'
    is_fine { ["koine/a.lua"] = 'return { name = "koine.b" }\n', ["koine/b.lua"] = b }
    finds(("%s/koine/a.lua calls koine.b of %s/koine/b.lua"):format(folder, folder),
      { ["koine/a.lua"] = 'local b = require "koine.b"\nreturn b\n', ["koine/b.lua"] = b })
    finds("a circle", { ["koine/a.lua"] = 'return function(name) return require("koine.rows." .. name) end\n',
      ["koine/rows/one/init.lua"] = 'return require "koine.a"\n', ["koine/b.lua"] = "return 1\n" })
  end)

  it("lets a known circle of a folder pass, and fails when there is none", function()
    is_fine({ ["a.c"] = "int a(int x) {\n  return b(x);\n}\n", ["b.c"] = "int b(int x) {\n  return a(x);\n}\n" },
      folder .. ": for now")
    finds("there is no circle in " .. folder .. " any more", { ["b.c"] = "int b(int x) {\n  return x;\n}\n" },
      folder .. ": for now")
    finds("FOLDER: WHY", { ["b.c"] = "int b(int x) {\n  return x;\n}\n" }, folder)
  end)
end)
