-- koine cassette check: credentials in recorded answers.

local cli = require "spec.support.cli"
local folder = require "spec.support.folder"

describe("koine cassette check", function()
  local home

  setup(function() home = folder.new() end)
  teardown(function() folder.remove(home) end)

  local function file(name, body)
    return cli.file(home .. "/" .. name, ([[{"format":"koine.cassette.v1","exchanges":[{"request":{"method":"GET",
      "url":"http://localhost/"},"response":{"status":200,"body":"%s"}}]}]]):format(body))
  end

  it("says which files hold what looks like one, and fails", function()
    local good, bad = file("good.json", "fine"), file("bad.json", "ghp_0123456789abcdefghijkl")
    assert.are.same({ 0, "", "" }, (function(r) return { r.code, r.out, r.err } end)(
      cli.run { "cassette", "check", good }))
    local r = cli.run { "cassette", "check", good, bad, home .. "/none.json" }
    assert.are.equal(1, r.code)
    assert.is_truthy(r.err:find("bad.json: exchanges[1].response.body holds what looks like a credential", 1, true))
    assert.is_truthy(r.err:find("none.json: there is no such file", 1, true))
    assert.is_nil(r.err:find("good.json", 1, true))
    assert.is_nil(r.err:find("0123456789", 1, true))
    assert.are.equal(0, cli.run({ "cassette", "check", "--allow", "ghp_01234567", bad }).code)
    assert.are.equal(2, cli.run({ "cassette", "play", good }).code)
  end)
end)
