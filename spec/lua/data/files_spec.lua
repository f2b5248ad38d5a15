-- koine.files: whole files, for saved runs and conversations; c/files/private_file has what the system can do to them.

local folder = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local raised = require "spec.support.raised"

describe("koine.files", function()
  local directory, path

  before_each(function()
    directory = folder.new()
    path = directory .. "/run.json"
  end)
  after_each(function() folder.remove(directory) end)

  local function entries()
    local n = 0
    for name in lfs.dir(directory) do n = n + (name:find "^%.+$" and 0 or 1) end
    return n
  end

  it("writes a file for its owner alone, and reads it", function()
    for _, bytes in ipairs { "", "a\0b", ("x"):rep(1 << 20), "again" } do
      assert.is_true(koine.files.write(path, bytes))
      assert.are.equal(bytes, (koine.files.read(path)))
      assert.are.same({ "rw-------", 1 }, { lfs.attributes(path, "permissions"), entries() })
    end
  end)

  it("leaves what was there when it cannot write", function()
    assert.is_true(koine.files.write(path, "before"))
    assert(lfs.link(path, directory .. "/link", true))
    for _, name in ipairs { directory .. "/link", directory, directory .. "/none/x", "/dev/full" } do
      local done, err = koine.files.write(name, "x")
      assert.is_nil(done)
      assert.are.equal("other", err.kind)
      assert.is_truthy(err.message:find(name, 1, true))
    end
    assert.are.equal("before", (koine.files.read(path)))
  end)

  it("waits for no pipe, and reads no more than it may", function()
    assert(os.execute("mkfifo '" .. directory .. "/pipe'"))
    local bytes, err = koine.files.read(directory .. "/pipe")
    assert.is_nil(bytes)
    assert.is_truthy(err.message:find "no regular file")
    assert(koine.files.write(path, "12345"))
    assert.are.equal("12345", (koine.files.read(path, 5)))
    assert.are.equal("limit", select(2, koine.files.read(path, 4)).kind)
    assert.are.equal("absent", select(2, koine.files.read(directory .. "/none")).code)
    assert.are.equal("absent", select(2, koine.files.read(path .. "/below")).code)
  end)

  it("raises for what is none", function()
    for _, bad in ipairs { "", "a\0b", 1, false } do
      assert.are.equal("path", raised(koine.files.write, bad, "x").field)
      assert.are.equal("path", raised(koine.files.read, bad).field)
    end
    assert.are.equal("bytes", raised(koine.files.write, path, 1).field)
    assert.are.equal("max", raised(koine.files.read, path, 1.5).field)
  end)
end)
