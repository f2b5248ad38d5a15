-- The executor's tools for files: what they take, what they say, how files look afterwards.

local core = require "koine.core"
local kit = require "spec.lua.system.executor.kit"
local lfs = require "lfs"
local strerror = require "spec.support.strerror"

local LINES <const> = 4 << 20 -- an instruction for each would be 4,000 steps, and the least loop takes four

describe("the executor's tool", function()
  local place = kit.place()
  local steps_of = kit.steps_of
  local bad, get, good, path, put = place.bad, place.get, place.good, place.path, place.put

  before_each(place.open)
  after_each(place.close)

  describe("read_file", function()
    it("returns a file as it is", function()
      for _, bytes in ipairs { "one\ntwo\n", "no end", "\n", "\n\nx", "cr\r\nlf\r\n", "é\tü\n" } do
        put("f", bytes)
        assert.are.equal(bytes, good("read_file", { path = "f" }))
      end
      put("f", "")
      assert.are.equal("(empty file)", good("read_file", { path = "f" }))
    end)

    it("returns the lines that are asked for, and says of how many", function()
      put("f", "a\nb\nc\nd")
      assert.are.equal("b\nc\n[lines 2 to 3 of 4]", good("read_file", { path = "f", offset = 2, limit = 2 }))
      assert.are.equal("d\n[lines 4 to 4 of 4]", good("read_file", { path = "f", offset = 4 }))
      assert.are.equal("a\nb\nc\nd", good("read_file", { path = "f", limit = 4 }))
      assert.are.equal("a\nb\nc\nd", good("read_file", { path = "f", limit = math.maxinteger }))
      assert.are.equal("Error: offset: the file has 4 lines", bad("read_file", { path = "f", offset = 5 }))
    end)

    it("returns 2,000 lines unless told otherwise", function()
      put("f", ("x\n"):rep(2001))
      assert.are.equal(("x\n"):rep(2000) .. "[lines 1 to 2000 of 2001]", good("read_file", { path = "f" }))
    end)

    it("keeps to the cap in whole lines, and within a line that is longer", function()
      place.renew { output_max = 10 }
      put("f", "1234\n5678\n9\n")
      assert.are.equal("1234\n5678\n[lines 1 to 2 of 3]", good("read_file", { path = "f" }))
      put("f", "ééééééé\nx\n")
      assert.are.equal("ééééé\n[lines 1 to 1 of 2]", good("read_file", { path = "f" }))
    end)

    it("cuts the only line, too, and one in the middle of nothing", function()
      place.renew { output_max = 10 }
      put("f", ("x"):rep(11))
      assert.are.equal(("x"):rep(10) .. "\n[lines 1 to 1 of 1]", good("read_file", { path = "f" }))
      put("f", ("é"):rep(8 << 20))
      assert.are.equal("ééééé\n[lines 1 to 1 of 1]", good("read_file", { path = "f" }))
      put("f", ("x"):rep(10))
      assert.are.equal(("x"):rep(10), good("read_file", { path = "f" }))
      put("f", ("\xFF"):rep(1 << 20))
      assert.are.equal("\u{FFFD}\u{FFFD}\u{FFFD}\n[lines 1 to 1 of 1]\n"
        .. "[bytes that are no UTF-8 are shown as U+FFFD]", good("read_file", { path = "f" }))
    end)

    it("takes an offset with any limit", function()
      put("f", "a\nb\nc\n")
      assert.are.equal("b\nc\n[lines 2 to 3 of 3]", good("read_file", { path = "f", offset = 2,
        limit = math.maxinteger }))
    end)

    it("takes no step for each of a million lines", function()
      put("f", ("\n"):rep(LINES))
      for _, input in ipairs { { path = "f" }, { path = "f", offset = LINES }, { path = "f", limit = 1 << 40 } } do
        local steps = steps_of(function() good("read_file", input) end)
        assert.is_true(steps < 8000, steps) -- what is shown, and nothing else
      end
    end)

    it("says what is binary, and shows what is no UTF-8 as U+FFFD", function()
      put("f", "ab\0cd")
      assert.are.equal("Error: f: a binary file of 5 bytes", bad("read_file", { path = "f" }))
      put("f", "caf\xE9\n")
      assert.are.equal("caf\u{FFFD}\n\n[bytes that are no UTF-8 are shown as U+FFFD]",
        good("read_file", { path = "f" }))
    end)

    it("says what is too large", function()
      local file <close> = assert(io.open(path "f", "wb"))
      assert(file:seek("set", 17 << 20))
      assert(file:write "x")
      file:close()
      assert.are.equal("Error: f: larger than 16777216 bytes", bad("read_file", { path = "f" }))
    end)

    it("says what is no file", function()
      assert(lfs.mkdir(path "d"))
      assert.are.equal("Error: d: a directory", bad("read_file", { path = "d" }))
      assert.are.equal("Error: none/f: " .. strerror "ENOENT", bad("read_file", { path = "none/f" }))
    end)
  end)

  describe("write_file", function()
    it("makes a file and the directories above it", function()
      assert.are.equal("Wrote 4 bytes to a/b/f.", good("write_file", { path = "a/b/f", content = "x\r\ny" }))
      assert.are.equal("x\r\ny", get "a/b/f")
    end)

    it("replaces a file and keeps its mode", function()
      put("f", "old")
      os.execute(("chmod 751 '%s'"):format(path "f"))
      good("write_file", { path = "f", content = "" })
      assert.are.equal("", get "f")
      assert.are.equal("rwxr-x--x", lfs.attributes(path "f", "permissions"))
      assert.are.equal("f", good("list_dir", {}))
    end)

    it("writes no directory", function()
      assert.are.equal("Error: .: a directory", bad("write_file", { path = ".", content = "" }))
    end)
  end)

  describe("edit_file", function()
    it("replaces a text that is there once", function()
      put("f", "one\ntwo\nthree\n")
      assert.are.equal("Edited f at line 2.", good("edit_file", { path = "f", old_str = "two\n", new_str = "2\n2\n" }))
      assert.are.equal("one\n2\n2\nthree\n", get "f")
    end)

    it("takes texts as they are, not as patterns", function()
      put("f", "a.c %d %1")
      good("edit_file", { path = "f", old_str = "%d", new_str = "%1%%" })
      assert.are.equal("a.c %1%% %1", get "f")
      local refused = bad("edit_file", { path = "f", old_str = "a.. ", new_str = "" })
      assert.is_truthy(refused:find("not in the file", 1, true))
    end)

    it("leaves the file alone otherwise", function()
      put("f", "x x")
      for message, input in pairs { ["f: old_str is not in the file"] = { old_str = "y", new_str = "z" },
        ["f: old_str is in the file more than once"] = { old_str = "x", new_str = "z" },
        ["old_str: the text to replace expected"] = { old_str = "", new_str = "z" },
        ["old_str and new_str are the same"] = { old_str = "x x", new_str = "x x" } } do
        input.path = "f"
        assert.are.equal("Error: " .. message, bad("edit_file", input):sub(1, #message + 7))
      end
      assert.are.equal("x x", get "f")
    end)

    -- Comparing at every byte anew would take days.
    it("finds at once what is nearly there at every byte", function()
      put("f", ("a"):rep(8 << 20))
      local near = ("a"):rep(4 << 20)
      for _, old in ipairs { near .. "b", "b" .. near, ("a"):rep(2 << 20) .. "b" .. ("a"):rep(2 << 20) } do
        assert.is_truthy(bad("edit_file", { path = "f", old_str = old, new_str = "" }):find("not in the file", 1, true))
      end
      assert.is_truthy(bad("edit_file", { path = "f", old_str = near, new_str = "" }):find("more than once", 1, true))
    end)

    it("keeps line ends of Windows, and bytes that are no UTF-8", function()
      put("f", "a\r\nb\r\n\xFF\r\n")
      good("edit_file", { path = "f", old_str = "a\nb", new_str = "1\n2\n3" })
      assert.are.equal("1\r\n2\r\n3\r\n\xFF\r\n", get "f")
      good("edit_file", { path = "f", old_str = "1\r\n2", new_str = "x\r\ny" })
      assert.are.equal("x\r\ny\r\n3\r\n\xFF\r\n", get "f")
      put("f", "a\r\nb\n")
      good("edit_file", { path = "f", old_str = "b\n", new_str = "c\nd\n" })
      assert.are.equal("a\r\nc\nd\n", get "f")
    end)
  end)

  describe("list_dir", function()
    it("lists sorted by bytes, with a mark for what is no file", function()
      put("b", "")
      put("B", "")
      put(".hidden", "")
      assert(lfs.mkdir(path "a"))
      assert(lfs.link("nowhere", path "link", true))
      assert(os.execute(("mkfifo '%s'"):format(path "pipe")))
      assert.are.equal(".hidden\nB\na/\nb\nlink@\npipe?", good("list_dir", {}))
      assert.are.equal("(empty directory)", good("list_dir", { path = "a" }))
      assert.are.equal("Error: b: no directory", bad("list_dir", { path = "b" }))
    end)

    it("shows a name with a line break in one line", function()
      put("a\nb", "")
      assert.are.equal("a?b", good("list_dir", {}))
    end)
  end)

  for _, editor in ipairs { "text_editor", "str_replace_based_edit_tool" } do
    describe(editor .. " (107)", function()
      it("views a file with line numbers, a range of it, and a directory", function()
        put("f", "one\ntwo\nthree")
        assert.are.equal("     1\tone\n     2\ttwo\n     3\tthree", good(editor, { command = "view", path = "f" }))
        for text, range in pairs { ["     2\ttwo\n     3\tthree"] = { 2, 3 }, ["     3\tthree"] = { 3, -1 } } do
          assert.are.equal(text, good(editor, { command = "view", path = "f", view_range = range }))
        end
        for _, range in ipairs { { 0, 1 }, { 2, 1 }, { 1, 4 }, { 4, -1 }, { 1 }, { 1, 2, 3 }, core.array {} } do
          local refused = bad(editor, { command = "view", path = "f", view_range = range })
          assert.are.equal("Error: view_range: ", refused:sub(1, 19))
        end
        assert(lfs.mkdir(path "d"))
        assert.are.equal("d/\nf", good(editor, { command = "view", path = "." }))
        put("f", "")
        assert.are.equal("(empty file)", good(editor, { command = "view", path = "f" }))
        assert.are.equal("Error: none: " .. strerror "ENOENT", bad(editor, { command = "view", path = "none" }))
      end)

      it("creates, nested too", function()
        good(editor, { command = "create", path = "a/b/f", file_text = "x\n" })
        assert.are.equal("x\n", get "a/b/f")
        good(editor, { command = "create", path = "a/b/f", file_text = "" })
        assert.are.equal("", get "a/b/f")
        assert.are.equal("Error: file_text: string expected, got nothing",
          bad(editor, { command = "create", path = "f" }))
      end)

      it("replaces: once, none, many", function()
        put("f", "a b b")
        good(editor, { command = "str_replace", path = "f", old_str = "a", new_str = "c" })
        assert.are.equal("c b b", get "f")
        good(editor, { command = "str_replace", path = "f", old_str = "c " })
        assert.are.equal("b b", get "f")
        assert.is_truthy(bad(editor, { command = "str_replace", path = "f", old_str = "x" }):find("not in", 1, true))
        assert.is_truthy(bad(editor, { command = "str_replace", path = "f", old_str = "b" }):find("more than", 1, true))
        assert.are.equal("Error: old_str: string expected, got nothing",
          bad(editor, { command = "str_replace", path = "f" }))
      end)

      it("inserts after a line", function()
        for _, case in ipairs { { 0, "a\nb\n", "x\na\nb\n" }, { 1, "a\nb\n", "a\nx\nb\n" }, { 0, "", "x\n" },
          { 2, "a\nb\n", "a\nb\nx\n" }, { 1, "a", "a\nx\n" }, { 1, "a\r\nb\r\n", "a\r\nx\r\nb\r\n" } } do
          put("f", case[2])
          good(editor, { command = "insert", path = "f", insert_line = case[1], insert_text = "x" })
          assert.are.equal(case[3], get "f")
        end
        put("f", "a\n")
        good(editor, { command = "insert", path = "f", insert_line = 1, insert_text = "x\ny\n" })
        assert.are.equal("a\nx\ny\n", get "f")
        assert.are.equal("Error: insert_line: the file has 3 lines",
          bad(editor, { command = "insert", path = "f", insert_line = 4, insert_text = "x" }))
        for _, field in ipairs { "insert_line", "insert_text" } do
          local input = { command = "insert", path = "f", insert_line = 1, insert_text = "x" }
          input[field] = nil
          assert.are.equal("Error: " .. field, bad(editor, input):sub(1, 7 + #field))
        end
      end)

      it("views as much as a result may hold, and says what it shows", function()
        put("f", ("x"):rep(8) .. "\n" .. ("y"):rep(8) .. "\nz\n")
        place.renew { output_max = 33 }
        assert.are.equal("     1\txxxxxxxx\n     2\tyyyyyyyy\n[lines 1 to 2 of 3]", good(editor,
          { command = "view", path = "f" }))
        assert.are.equal("     2\tyyyyyyyy\n     3\tz", good(editor, { command = "view", path = "f",
          view_range = { 2, 3 } }))
        put("f", ("é"):rep(100))
        assert.are.equal("     1\t" .. ("é"):rep(16) .. "\n[lines 1 to 1 of 1]", good(editor,
          { command = "view", path = "f" }))
        put("f", "a\n\xFF")
        assert.are.equal("     1\ta", good(editor, { command = "view", path = "f", view_range = { 1, 1 } }))
        assert.are.equal("     2\t\u{FFFD}\n[bytes that are no UTF-8 are shown as U+FFFD]", good(editor,
          { command = "view", path = "f", view_range = { 2, 2 } }))
        for i = 1, 20 do put("name" .. i, "") end
        assert.is_truthy(good(editor, { command = "view", path = "." }):find("more bytes left out]", 1, true))
      end)

      it("takes no step for each of a million lines", function()
        put("f", ("\n"):rep(LINES))
        for _, input in ipairs { { command = "view" }, { command = "view", view_range = { LINES - 1000, -1 } },
          { command = "insert", insert_line = LINES - 1000, insert_text = "x" } } do
          input.path = "f"
          local steps = steps_of(function() good(editor, input) end)
          assert.is_true(steps < 1000, steps)
        end
      end)

      it("says which commands there are", function()
        assert.is_truthy(bad(editor, { command = "undo_edit", path = "f" }):find('"view", "create"', 1, true))
      end)
    end)
  end
end)
