-- The executor's tools that search, glob and grep: what they find, what they cost, and that they let others run.

local glob = require "koine.system.executor.glob"
local kit = require "spec.lua.system.executor.kit"
local koine = require "koine"
local lfs = require "lfs"
local strerror = require "spec.support.strerror"
local wait = require "koine.task.wait"

describe("the executor's search", function()
  local place = kit.place()
  local bad, good, path, put = place.bad, place.good, place.path, place.put
  local steps_of = kit.steps_of

  before_each(place.open)
  after_each(place.close)

  -- How many turns another task has while f runs.
  local function turns_during(f)
    local turns, over = 0, false
    koine.run(function()
      koine.spawn(function()
        while not over do
          turns = turns + 1
          koine.sleep(0)
        end
      end)
      f()
      over = true
    end)
    return turns
  end

  describe("glob", function()
    before_each(function()
      for _, name in ipairs { "src", "src/deep", "src/deep/er", ".git", ".github" } do assert(lfs.mkdir(path(name))) end
      for _, name in ipairs { "a.lua", "b.c", "src/c.lua", "src/deep/d.lua", "src/deep/er/e.lua", ".git/config",
        ".github/f.lua" } do
        put(name, "")
      end
      assert(lfs.link("src", path "again", true))
    end)

    it("finds files by patterns", function()
      for pattern, found in pairs {
        ["*.lua"] = "a.lua", ["**/*.lua"] = "a.lua\nsrc/c.lua\nsrc/deep/d.lua\nsrc/deep/er/e.lua",
        ["src/*"] = "src/c.lua", ["src/**"] = "src/c.lua\nsrc/deep/d.lua\nsrc/deep/er/e.lua",
        ["src/**/e.lua"] = "src/deep/er/e.lua", ["src/**/c.lua"] = "src/c.lua", ["**/deep/*"] = "src/deep/d.lua",
        ["*.{lua,c}"] = "a.lua\nb.c", ["[ab].*"] = "a.lua\nb.c", ["[!a].?"] = "b.c",
        ["**/.git*/*.lua"] = ".github/f.lua", ["./src/./*"] = "src/c.lua",
        ["none"] = "(nothing found)", ["again"] = "again", [".git/*"] = "(nothing found)",
      } do
        assert.are.equal(found, good("glob", { pattern = pattern }), pattern)
      end
    end)

    it("begins where it is told", function()
      assert.are.equal("src/deep/d.lua", good("glob", { pattern = "*.lua", path = "src/deep" }))
      assert.are.equal("src/deep/d.lua", good("glob", { pattern = "*.lua", path = "src/deep/" }))
      assert.are.equal("Error: a.lua: no directory", bad("glob", { pattern = "*", path = "a.lua" }))
    end)

    it("refuses patterns that mean no path below", function()
      for _, pattern in ipairs { "", "/etc/*", "../*", "a/../../*", "{a,/../../}*" } do
        assert.are.equal("Error: pattern: ", bad("glob", { pattern = pattern }):sub(1, 16))
      end
      assert.is_truthy(bad("glob", { pattern = ("{a,b}"):rep(7) }):find("64 alternatives", 1, true))
      assert.is_truthy(bad("glob", { pattern = ("{a}"):rep(33) }):find("32 pairs of braces", 1, true))
      assert.is_truthy(bad("glob", { pattern = ("a"):rep(4097) }):find("4096 bytes", 1, true))
      assert.is_truthy(bad("grep", { text = "x", glob = ("{"):rep(33) }):find("32 pairs of braces", 1, true))
      good("glob", { pattern = ("{a}"):rep(32) })
      good("glob", { pattern = ("a"):rep(4096) })
    end)

    it("refuses before it works: patterns of megabytes cost nothing", function()
      for _, piece in ipairs { "{a}", "{", "{a,", "*", "**/", "[" } do
        local steps = steps_of(function() bad("glob", { pattern = piece:rep(1 << 20) }) end)
        assert.is_true(steps < 100, piece .. " took thousands of instructions: " .. steps)
      end
    end)

    it("ends after 1,000 names and says so", function()
      for i = 1, 1001 do put(("src/n%d"):format(i), "") end
      local lines = {}
      for line in good("glob", { pattern = "src/n*" }):gmatch "[^\n]+" do lines[#lines + 1] = line end
      assert.are.equal(1001, #lines)
      assert.are.equal("[there may be more: the search was ended here]", lines[1001])
    end)

    -- Whether a pattern of a, b, * and ? matches a name: every way tried.
    local function fits(pattern, name)
      local first, rest = pattern:sub(1, 1), pattern:sub(2)
      if first == "" then return name == "" end
      if first == "*" then return fits(rest, name) or name ~= "" and fits(pattern, name:sub(2)) end
      return name ~= "" and (first == "?" or first == name:sub(1, 1)) and fits(rest, name:sub(2))
    end

    -- The same for a path as an array of names.
    local function fits_path(parts, names, p, n)
      if not parts[p] then return not names[n] end
      if parts[p] == "**" then
        return fits_path(parts, names, p + 1, n) or names[n] ~= nil and fits_path(parts, names, p, n + 1)
      end
      return names[n] ~= nil and fits(parts[p], names[n]) and fits_path(parts, names, p + 1, n + 1)
    end

    it("matches what trying every way would match (2,000 random patterns)", function()
      math.randomseed(20260101)
      local function some(choices, most)
        local list = {}
        for i = 1, math.random(most) do list[i] = choices[math.random(#choices)] end
        return list
      end
      for _ = 1, 2000 do
        local parts, names = some({ "**", "a", "*", "a*b", "?*", "*b*", "b?" }, 4), {}
        for i = 1, math.random(4) do names[i] = table.concat(some({ "a", "b" }, 4)) end
        local compiled = assert(glob.compile(table.concat(parts, "/")))
        local state, done, more = glob.start(compiled), false, true
        for _, name in ipairs(names) do
          local alive = more
          state, done, more = glob.step(compiled, state, name)
          assert.is_true(alive or not done and not more)
        end
        local pattern, path_ = table.concat(parts, "/"), table.concat(names, "/")
        assert.are.equal(fits_path(parts, names, 1, 1), done, pattern .. " for " .. path_)
      end
    end)

    it("takes no more steps than pattern times name", function()
      local compiled, done = glob.compile(("*a"):rep(60) .. "b"), nil
      local steps = steps_of(function() done = select(2, glob.step(compiled, glob.start(compiled), ("a"):rep(250))) end)
      assert.is_false(done)
      assert.is_true(steps < 2000) -- trying every split would take 10^50
      compiled = glob.compile(("**/"):rep(1000) .. "b")
      steps = steps_of(function() done = select(2, glob.step(compiled, glob.start(compiled), ("a"):rep(250))) end)
      assert.is_false(done)
      assert.is_true(steps < 100, steps)
    end)

    it("lets other tasks run the more, the more a pattern costs", function()
      for i = 1, 20 do put(("src/%s%d"):format(("a"):rep(240), i), "") end
      local pattern = "**/" .. ("*a"):rep(1900) .. "{b,c}{b,c}{b,c}{b,c}{b,c}{b,c}"
      assert.is_true(turns_during(function() good("glob", { pattern = pattern }) end) >= 20)
    end)
  end)

  describe("grep", function()
    before_each(function()
      assert(lfs.mkdir(path "src"))
      put("a.lua", "local x = 1\nreturn x\r\nLOCAL\n")
      put("src/b.c", "no match\nint local;")
      put("src/c.bin", "\0local")
      put("src/latin", "local caf\xE9\n")
    end)

    it("shows path, line number and line", function()
      assert.are.equal("a.lua:1:local x = 1\nsrc/b.c:2:int local;\nsrc/latin:1:local caf\u{FFFD}",
        good("grep", { text = "local" }))
      assert.are.equal("a.lua:2:return x", good("grep", { text = "return" }))
      assert.are.equal("(nothing found)", good("grep", { text = "loc.l" }))
    end)

    it("looks where it is told", function()
      assert.are.equal("a.lua:1:local x = 1\na.lua:3:LOCAL", good("grep", { text = "Local", ignore_case = true,
        glob = "*.lua" }))
      assert.are.equal("src/b.c:2:int local;", good("grep", { text = "local", glob = "src/*.c" }))
      assert.are.equal("src/b.c:2:int local;", good("grep", { text = "local", path = "src/b.c" }))
      assert.are.equal("src/b.c:1:no match", good("grep", { text = "match", path = "src" }))
      assert.are.equal("Error: none: " .. strerror "ENOENT", bad("grep", { text = "x", path = "none" }))
      assert.are.equal("Error: text: ", bad("grep", { text = "" }):sub(1, 13))
      assert.are.equal("Error: text: ", bad("grep", { text = "a\nb" }):sub(1, 13))
      assert.are.equal("Error: glob: ", bad("grep", { text = "a", glob = "/x" }):sub(1, 13))
    end)

    it("ends after 200 lines, and cuts a long line", function()
      put("many", ("hit\n"):rep(300))
      local found = good("grep", { text = "hit" })
      assert.is_truthy(found:find("many:200:hit\n[there may be more: the search was ended here]", 1, true))
      put("many", ("x"):rep(400) .. "here" .. ("é"):rep(400))
      assert.are.equal("many:1:" .. ("x"):rep(300) .. " …", good("grep", { text = "here" }))
    end)

    it("takes the text in one line of at most 4096 bytes", function()
      good("grep", { text = ("x"):rep(4096) })
      assert.is_truthy(bad("grep", { text = ("x"):rep(4097) }):find("4096 bytes", 1, true))
    end)

    it("finds what each line holds, wherever it lies in a large file", function()
      local lines, expected = {}, {}
      math.randomseed(20260102)
      for i = 1, 3000 do
        local hit = i % 100 == 0
        lines[i] = ("x"):rep(math.random(0, 150)) .. (hit and "Needle" or "needl") .. ("y"):rep(math.random(0, 150))
        if hit then expected[#expected + 1] = ("big:%d:%s"):format(i, lines[i]:sub(1, 300)) end
        if hit and #lines[i] > 300 then expected[#expected] = expected[#expected] .. " …" end
      end
      put("big", table.concat(lines, "\r\n"))
      expected = table.concat(expected, "\n")
      assert.are.equal(expected, good("grep", { text = "Needle", path = "big" }))
      assert.are.equal(expected, good("grep", { text = "nEEDLE", path = "big", ignore_case = true }))
    end)

    -- Comparing at every byte anew would take minutes.
    it("finds nothing in what is nearly it, at once", function()
      put("big", ("a"):rep(16 << 20))
      for i = 1, 3 do assert(lfs.link(path "big", path("again" .. i))) end
      assert.are.equal("(nothing found)", good("grep", { text = ("a"):rep(4095) .. "b" }))
      assert.are.equal("(nothing found)", good("grep", { text = ("a"):rep(2000) .. "b" .. ("a"):rep(2000) }))
    end)

    it("ends after a gigabyte and says so", function()
      local file <close> = assert(io.open(path "src/many", "wb"))
      assert(file:seek("set", (16 << 20) - 1))
      assert(file:write "x")
      file:close()
      for i = 1, 64 do assert(lfs.link(path "src/many", path(("src/many%02d"):format(i)))) end
      put("src/z", "here")
      assert.are.equal("(nothing found)\n[there may be more: the search was ended here]",
        good("grep", { text = "here" }))
      assert.are.equal("src/z:1:here", good("grep", { text = "here", glob = "z" }))
    end)

    it("finds what lies across any border of 64 KiB", function()
      for at = 65536 - 7, 65536 + 2 do
        put("big", ("\n"):rep(at) .. "needle")
        assert.are.equal(("big:%d:needle"):format(at + 1), good("grep", { text = "needle", path = "big" }))
      end
    end)

    it("shows a line of 300 bytes whole, without its end", function()
      put("f", ("x"):rep(300) .. "\r\n" .. ("x"):rep(301) .. "\r\n" .. ("x"):rep(300) .. "\rx\n")
      local whole, cut = ("x"):rep(300), ("x"):rep(300) .. " …"
      assert.are.equal(("f:1:%s\nf:2:%s\nf:3:%s"):format(whole, cut, cut), good("grep", { text = "xx", path = "f" }))
    end)

    it("lets other tasks run meanwhile: between entries, within a file and within a line", function()
      for i = 1, 1200 do put(("src/n%d"):format(i), "") end
      assert.is_true(turns_during(function() good("grep", { text = "nothing like it" }) end) >= 2)
      for _, line in ipairs { "", ("x"):rep(99), ("x"):rep(1 << 20) } do
        put("big", (line .. "\n"):rep((4 << 20) // (#line + 1)) .. "here")
        local turns = turns_during(function() good("grep", { text = "here", path = "big" }) end)
        assert.is_true(turns >= 4, #line)
      end
    end)

    it("walks back through no line byte by byte", function()
      put("big", ("x"):rep(8 << 20) .. "here" .. ("y"):rep(1 << 20))
      local steps = steps_of(function() good("grep", { text = "here", path = "big" }) end)
      assert.is_true(steps < 1000, steps) -- a byte a step would take 40,000
    end)

    it("ends when it is cancelled within a file", function()
      local park, parks = wait.park, 0
      finally(function() wait.park = park end)
      local cancelled = koine.errors.new { kind = "cancelled", message = "cancelled" }
      wait.park = function() -- a host that cancels in the third moment for others
        parks = parks + 1
        if parks < 3 then return false end
        return nil, cancelled
      end
      for _, bytes in ipairs { ("x"):rep(8 << 20), ("\n"):rep(1 << 20) .. "here", "\0" .. ("x"):rep(8 << 20) } do
        put("big", bytes)
        for _, from in ipairs { "big", "." } do
          parks = bytes:byte() == 0 and 2 or 0
          assert.are.same({ nil, cancelled }, { place.run("grep", { text = "here", path = from }) })
          assert.are.equal(3, parks)
        end
      end
    end)
  end)
end)
