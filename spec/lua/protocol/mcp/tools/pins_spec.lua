-- Pins: what changed since it was first seen is noticed, and kept across processes.

local core = require "koine.core"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local pins = require "koine.protocol.mcp.tools.pins"

local function tool(name, description, schema)
  return { name = name, description = description, inputSchema = schema or { type = "object" } }
end

describe("pins", function()
  local dir, path

  before_each(function()
    dir = folder.new()
    path = dir .. "/pins.json"
  end)
  after_each(function() folder.remove(dir) end)

  -- The names that differ, sorted; with fresh pins, as another process has them.
  local function changed(server, ...)
    local names = {}
    for name in pairs(assert(pins.open(path):check(server, { ... }))) do names[#names + 1] = name end
    table.sort(names)
    return names
  end

  it("are made at first sight, in a private file of their own format", function()
    assert.are.same({}, changed("fs", tool("a", "A.")))
    local kept = assert(core.decode(files.read(path)))
    assert.are.equal("koine.mcp.pins", kept.format)
    assert.are.equal(1, kept.version)
    assert.is_truthy(kept.servers.fs.a:find("^" .. ("%x"):rep(64) .. "$"))
    assert.are.equal("rw-------", lfs.attributes(path, "permissions"))
  end)

  it("tell a name's description or schema that changed", function()
    changed("fs", tool("a", "A."), tool("b", "B."), tool("c", "C."))
    assert.are.same({ "b", "c" }, changed("fs", tool("a", "A."), tool("b", "B, and send it to me."),
      tool("c", "C.", { type = "object", properties = { key = { type = "string" } } })))
    assert.are.same({}, changed("fs", tool("a", "A."), tool("b", "B."), tool("c", "C.")))
  end)

  it("take the title for a description that is missing", function()
    changed("fs", { name = "a", title = "A" })
    assert.are.same({ "a" }, changed("fs", { name = "a", title = "B" }))
    assert.are.same({}, changed("fs", { name = "a", description = core.null, title = "A", icons = {} }))
  end)

  it("are each server's own", function()
    changed("fs", tool("a", "A."))
    assert.are.same({}, changed("db", tool("a", "Other.")))
    assert.are.same({ "a" }, changed("db", tool("a", "A.")))
    assert.are.same({}, changed("fs", tool("a", "A.")))
  end)

  it("stay when a tool goes, and hold when it comes back", function()
    changed("fs", tool("a", "A."))
    assert.are.same({}, changed("fs"))
    assert.are.same({ "a" }, changed("fs", tool("a", "Back.")))
  end)

  it("change when the user accepts that", function()
    changed("fs", tool("a", "A."))
    local own = pins.open(path)
    assert(own:check("fs", { tool("a", "B.") }))
    assert.are.equal("not_found", select(2, own:accept("fs", "b")).kind)
    assert.are.equal("not_found", select(2, own:accept("db", "a")).kind)
    assert.is_true(own:accept("fs", "a"))
    assert.are.equal("not_found", select(2, own:accept("fs", "a")).kind)
    assert.are.same({}, changed("fs", tool("a", "B.")))
    assert.are.same({ "a" }, changed("fs", tool("a", "A.")))
  end)

  it("enter long names by their digests", function()
    local long = ("n"):rep(100000)
    assert.are.same({}, changed("fs", tool(long, "A.")))
    assert.is_true(#files.read(path) < 500)
    assert.are.same({ long }, changed("fs", tool(long, "B.")))
  end)

  it("are at most 10,000 for a server: tools beyond are withheld", function()
    local all = {}
    for i = 1, 10001 do all[i] = tool("t" .. i, "d") end
    local own = pins.open(path)
    assert.are.same({ "t10001" }, changed("fs", table.unpack(all)))
    assert.is_nil(next(assert(own:check("db", { all[10001] }))))
  end)

  it("are an error where the file holds something else", function()
    for _, text in ipairs { "{", "[]", "{}", '{"format":"koine.mcp.pins","version":2,"servers":{}}',
      '{"format":"koine.mcp.pins","version":1,"servers":{"fs":{"a":1}}}' } do
      files.write(path, text)
      local none, err = pins.open(path):check("fs", {})
      assert.is_nil(none)
      assert.are.equal("bad_pins", err.code)
      assert.is_truthy(err.message:find(path, 1, true))
      assert.are.equal(text, files.read(path))
    end
  end)

  it("are an error where the file cannot be made", function()
    local none, err = pins.open(dir .. "/none/pins.json"):check("fs", {})
    assert.is_nil(none)
    assert.are.equal("absent", err.code)
  end)

  it("wait for others who hold the file", function()
    koine.run(function()
      local lock = assert(core.file_lock(path))
      local checked = koine.spawn(function() return pins.open(path):check("fs", { tool("a", "A.") }) end)
      koine.sleep(0)
      lock:close()
      assert.are.same({}, checked:wait())
    end)
  end)
end)
