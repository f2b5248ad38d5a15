-- Names of tools: legal, short, unique and stable, whatever a server calls them.

local name = require "koine.protocol.mcp.tools.name"

local LEGAL = "^[A-Za-z0-9_-]+$"

local function values(map)
  local list = {}
  for _, value in pairs(map) do list[#list + 1] = value end
  table.sort(list)
  return list
end

describe("names of tools", function()
  it("are the prefix and the name where that is legal", function()
    assert.are.same({ read_file = "fs_read_file" }, name.assign({ "read_file" }, "fs", "fs"))
    assert.are.same({ read_file = "read_file" }, name.assign({ "read_file" }, "fs", false))
  end)

  it("have _ in place of every other byte", function()
    assert.are.same({ ["a.b/c d"] = "my_fs_a_b_c_d" }, name.assign({ "a.b/c d" }, "my fs", "my fs"))
    assert.are.same({ ["é"] = "fs___" }, name.assign({ "é" }, "fs", "fs"))
  end)

  it("are cut and end with a hash when they are longer than 64 bytes", function()
    local full = ("n"):rep(128)
    local made = name.assign({ full, full .. "x" }, "fs", "fs")
    assert.are.equal(64, #made[full])
    assert.is_truthy(made[full]:find "^fs_n+_%x%x%x%x%x%x%x%x$")
    assert.are_not.equal(made[full], made[full .. "x"])
    local exact = ("n"):rep(61)
    assert.are.same({ [exact] = "fs_" .. exact }, name.assign({ exact }, "fs", "fs"))
  end)

  it("keep the name that needs no change when others would become it", function()
    local made = name.assign({ "a.b", "a_b", "a b" }, "fs", "fs")
    assert.are.equal("fs_a_b", made.a_b)
    assert.is_truthy(made["a.b"]:find "^fs_a_b_%x+$")
    assert.is_truthy(made["a b"]:find "^fs_a_b_%x+$")
    assert.are_not.equal(made["a b"], made["a.b"])
  end)

  it("are those of no single tool when all of them would have to change", function()
    for full, made in pairs(name.assign({ "a.b", "a b", "a/b" }, "fs", "fs")) do
      assert.is_truthy(made:find "^fs_a_b_%x+$", full)
    end
  end)

  it("depend on the server", function()
    assert.are_not.equal(name.assign({ "x y", "x.y" }, "a", "p")["x y"], name.assign({ "x y", "x.y" }, "b", "p")["x y"])
  end)

  it("cannot be taken by a server that foresees a hash", function()
    local hashed = name.assign({ "a.b", "a b" }, "fs", false)["a.b"]
    local made = name.assign({ "a.b", "a b", hashed }, "fs", false)
    assert.are.equal(hashed, made[hashed])
    assert.are_not.equal(hashed, made["a.b"])
    assert.is_truthy(made["a.b"]:find "^a_b_%x%x%x%x%x%x%x%x$")
  end)

  it("do not depend on the order where two hashes are the same", function()
    local one, other = "../././........////", "././//...///.././//" -- 8 hex digits alike for the server s
    local made = name.assign({ one, other }, "s", "s")
    assert.are_not.equal(made[one], made[other])
    assert.are.same(made, name.assign({ other, one }, "s", "s"))
    assert.are.equal(name.marked("x", "s", one, {}), name.marked("x", "s", other, {}))
  end)

  it("are never empty", function()
    assert.is_truthy(name.assign({ "" }, "fs", false)[""]:find(LEGAL))
  end)
end)

describe("names that two servers could mean", function()
  it("are told by the keys alone", function()
    local keys = { "a", "a_b", "z" }
    assert.is_true(name.is_ambiguous("a_b_c", "a", keys))
    assert.is_false(name.is_ambiguous("a_b_c", "a_b", keys))
    assert.is_false(name.is_ambiguous("a_c", "a", keys))
    assert.is_false(name.is_ambiguous("z_a_b", "z", keys))
  end)

  it("belong to the key that needs no change", function()
    assert.is_true(name.is_ambiguous("a_b_c", "a.b", { "a.b", "a_b" }))
    assert.is_false(name.is_ambiguous("a_b_c", "a_b", { "a.b", "a_b" }))
    assert.is_true(name.is_ambiguous("a_b_c", "a b", { "a.b", "a b" }))
  end)
end)

describe("random names", function()
  local PIECES = { "a", "b", "_", ".", "-", " ", "é", "\0", ("long"):rep(12), "_b", "/", "天" }
  local function text(most)
    local made = {}
    for i = 1, math.random(0, most) do made[i] = PIECES[math.random(#PIECES)] end
    return table.concat(made)
  end

  -- Up to 40 names, no two alike.
  local function names()
    local list, seen = {}, {}
    for _ = 1, math.random(40) do
      local one = text(math.random(1, 8))
      if not seen[one] then list[#list + 1], seen[one] = one, true end
    end
    return list
  end

  local function shuffled(list)
    local copy = table.move(list, 1, #list, 1, {})
    for i = #copy, 2, -1 do
      local j = math.random(i)
      copy[i], copy[j] = copy[j], copy[i]
    end
    return copy
  end

  it("become names that are legal, short, unique and independent of the order", function()
    math.randomseed(20261123)
    for round = 1, 300 do
      local fulls, server = names(), text(4)
      local prefix = math.random(3) > 1 and server
      local made = name.assign(fulls, server, prefix)
      local all, last = values(made), nil
      assert.are.equal(#fulls, #all)
      for _, one in ipairs(all) do
        assert(one:find(LEGAL) and #one <= 64 and one ~= last, ("round %d: %q"):format(round, one))
        last = one
      end
      assert.are.same(made, name.assign(shuffled(fulls), server, prefix))
    end
  end)

  it("stay the same when other tools come that differ in more than such bytes", function()
    math.randomseed(11)
    for _ = 1, 100 do
      local fulls = names()
      local before = name.assign(fulls, "s", "s")
      fulls[#fulls + 1] = "quite another name"
      local after = name.assign(fulls, "s", "s")
      for full, made in pairs(before) do assert.are.equal(made, after[full]) end
    end
  end)
end)
