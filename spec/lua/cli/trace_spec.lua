-- `koine trace`, run as a program.

local cli = require "spec.support.cli"
local folder = require "spec.support.folder"

local LOG <const> = [[
{"v":1,"type":"agent","phase":"start","trace":"aa11","id":"1","time":1795476493251894229,"name":"planner"}
{"v":1,"type":"chat","phase":"start","trace":"aa11","id":"2","parent":"1","time":1795476493251894230,"model":]]
  .. [["m\u001b[31m"}
{"v":1,"type":"chat","phase":"end","trace":"aa11","id":"2","parent":"1","time":1795476493251894231,"seconds":1.5,]]
  .. [["usage":{"input_tokens":1234567,"output_tokens":5},"cost":0.25,"stop_reason":"end_turn"}
{"v":1,"type":"tool","phase":"start","trace":"aa11","id":"3","parent":"1","time":1795476493251894232,"name":"search"}
{"v":1,"type":"chat","phase":"start","trace":"bb22","id":"4","time":1795476493251894233,"model":"m"}
{"v":1,"type":"chat","phase":"end","trace":"bb22","id":"4","time":1795476493251894234,"seconds":0.012,]]
  .. [["error":{"class":"ServerError","kind":"server","message":"broken"}}
{"v":1,"type":"chat","phase":"sta]]

describe("koine trace", function()
  local dir, path
  before_each(function()
    dir = folder.new()
    path = dir .. "/log"
    local file <close> = assert(io.open(path, "w"))
    file:write(LOG)
  end)
  after_each(function() folder.remove(dir) end)

  it("shows trees, open spans, tokens, costs and errors", function()
    local r = cli.run { "trace", path }
    assert.are.equal(0, r.code)
    assert.are.equal([[
aa11  2026-11-23 23:28:13
agent planner open
├─ chat m [31m 1.50 s · 1,234,567 in 5 out $0.250000 end_turn
└─ tool search open
bb22  2026-11-23 23:28:13
chat m 12 ms ! server: broken
]], r.out)
    assert.are.equal("koine: 1 lines hold no record\n", r.err)
  end)

  it("shows one trace", function()
    local r = cli.run { "trace", path, "-t", "bb" }
    assert.is_nil(r.out:find("aa11", 1, true))
    assert.is_truthy(r.out:find("bb22", 1, true))
    r = cli.run { "trace", path, "-t", "cc" }
    assert.are.equal('koine: no trace begins with "cc"\n', r.err:match "[^\n]*\n$")
    assert.are_not.equal(0, r.code)
  end)

  it("writes a page", function()
    local r = cli.run { "trace", path, "--html", dir .. "/page.html" }
    assert.are.equal(0, r.code)
    assert.are.equal("", r.out)
    local page <close> = assert(io.open(dir .. "/page.html"))
    assert.is_truthy(page:read("a"):find "^<!DOCTYPE html>.*planner.*</html>\n$")
    r = cli.run { "trace", path, "--html", dir .. "/none/page.html" }
    assert.are.equal(1, r.code)
  end)

  it("says why a file cannot be read", function()
    local r = cli.run { "trace", dir .. "/none" }
    assert.are.equal(1, r.code)
    assert.is_truthy(r.err:find("No such file", 1, true))
  end)
end)
