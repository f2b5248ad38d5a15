-- `koine trace`, run as a program.

local cli = require "spec.support.cli"
local folder = require "spec.support.folder"
local lfs = require "lfs"

local LOG <const> = [[
{"v":1,"type":"agent","phase":"start","trace":"aa11","id":"1","time":1795476493251894229,"name":"planner"}
{"v":1,"type":"chat","phase":"start","trace":"aa11","id":"2","parent":"1","time":1795476493251894230,"model":]]
  .. [["m\u001b[31m"}
{"v":1,"type":"chat","phase":"end","trace":"aa11","id":"2","parent":"1","time":1795476493251894231,"seconds":1.5,]]
  .. [["usage":{"input_tokens":1234567,"output_tokens":5},"cost":0.25,"stop_reason":"end_turn"}
{"v":1,"type":"retry","phase":"point","trace":"aa11","id":"5","parent":"2","time":1795476493251894231,"kind":"server",]]
  .. [["status_code":503,"waited":0.25}
{"v":1,"type":"cache_miss","phase":"point","trace":"aa11","id":"6","parent":"2","time":1795476493251894230,]]
  .. [["path":"messages[0].content"}
{"v":1,"type":"dropped","phase":"point","trace":"cc33","id":"7","time":1795476493251894299,"session":"ada",]]
  .. [["messages":2,"reason":"closed"}
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
  after_each(function()
    cli.clean_up()
    folder.remove(dir)
  end)

  it("shows trees, open spans, tokens, costs and errors", function()
    local r = cli.run { "trace", path }
    assert.are.equal(0, r.code)
    assert.are.equal([[
aa11  2026-11-23 23:28:13
agent planner open
├─ chat m [31m 1.50 s · 1,234,567 in 5 out $0.250000 end_turn
│  ├─ cache miss · first difference at messages[0].content
│  └─ retry · 503 server · again after 250 ms
└─ tool search open
bb22  2026-11-23 23:28:13
chat m 12 ms ! server: broken
cc33  2026-11-23 23:28:13
dropped ada · 2 messages closed
]], r.out)
    assert.are.equal("koine: 1 lines hold no record\n", r.err)
  end)

  it("shows damaged records and chains of any length, in lines that end", function()
    local file <close> = assert(io.open(path, "w"))
    file:write('{"v":1,"type":"chat","phase":"end","id":"a","trace":[],"time":"x","seconds":-1e308,"cost":1e308,'
      .. '"usage":3,"error":{"kind":{}}}\n{"v":1,"type":"chat","phase":"end","id":"b","seconds":1e308}\n'
      .. '{"v":1,"type":"chat","phase":"start","id":"c","model":"' .. ("€"):rep(1000000) .. '"}\n')
    for i = 1, 30000 do
      file:write(('{"v":1,"type":"tool","phase":"start","id":"%d","parent":"%d","trace":"t","time":%d}\n')
        :format(i, i - 1, i))
    end
    file:close()
    local r = cli.run { "trace", path }
    assert.are.same({ 0, "" }, { r.code, r.err })
    local longest, lines = 0, 0
    for line in r.out:gmatch "[^\n]+" do
      assert.is_truthy(utf8.len(line))
      longest, lines = math.max(longest, #line), lines + 1
    end
    assert.is_true(longest < 1100, longest)
    assert.are.equal(30000 + 3 + 4, lines)
    assert.is_truthy(r.out:find("\nchat ? ! ?: ?\n", 1, true))
  end)

  it("counts the calls of all parts of a span, each once", function()
    local place = 0
    local function span(id, parent, type, more, start)
      place = place + 1
      return ('{"v":1,"type":"%s","phase":"start","trace":"aa11","id":"%s","parent":"%s","time":%d%s}\n')
        :format(type, id, parent, place, start or "")
        .. ('{"v":1,"type":"%s","phase":"end","trace":"aa11","id":"%s","parent":"%s","time":%d,"seconds":1%s}\n')
        :format(type, id, parent, place, more or "")
    end
    local function used(input, output, cost)
      return (',"usage":{"input_tokens":%d,"output_tokens":%d,"cache_read_tokens":1,"cache_creation_tokens":2}%s')
        :format(input, output, cost and ',"cost":' .. cost or "")
    end
    local lines = {
      span("1", "", "turn", ',"outcome":"completed"'),
      span("2", "1", "agent", ',"status":"completed","steps":1' .. used(10, 1, 0.5)),
      span("3", "2", "chat", used(10, 1, 0.5)),
      span("4", "2", "tool", ',"bytes":3'),
      span("5", "4", "chat", used(5, 1, 0.25)), -- asks the next one
      span("6", "5", "chat", used(4, 1, 0.25)),
      span("7", "4", "embed", used(3, 0)),
      span("8", "1", "prompt", used(100, 10)), -- another program's
    }
    local starts, ends = {}, {} -- as a log has them
    for i, both in ipairs(lines) do starts[i], ends[#lines + 1 - i] = both:match "^([^\n]*\n)(.*)$" end
    cli.file(path, table.concat(starts) .. table.concat(ends))
    local r = cli.run { "trace", path }
    assert.are.equal([[
aa11  1970-01-01 00:00:00
turn 1.00 s · completed 117 in 12 cached 12 out $0.750000 +?
├─ agent 1.00 s · completed 1 step 17 in 9 cached 2 out $0.750000 +?
│  ├─ chat 1.00 s · 10 in 3 cached 1 out $0.500000
│  └─ tool 1.00 s · 3 bytes 7 in 6 cached 1 out $0.250000 +?
│     ├─ chat 1.00 s · 4 in 3 cached 1 out $0.250000
│     │  └─ chat 1.00 s · 4 in 3 cached 1 out $0.250000
│     └─ embed 1.00 s · 3 in 3 cached 0 out
└─ prompt 1.00 s · 100 in 3 cached 10 out
]], r.out)
    local child = cli.start { "trace", path, "--follow" }
    child:expect("out", "turn 1.00 s · completed 117 in 12 cached 12 out $0.750000 +?\n")
    child:signal "sigint"
    local followed = child:wait().out
    for line in r.out:gmatch "%l+ 1%.00 s[^\n]*" do assert.is_truthy(followed:find(line .. "\n", 1, true), line) end
  end)

  it("shows what a span says itself where its calls tell no tokens, as the page does", function()
    local function record(phase, type, id, parent, more)
      return ('{"v":1,"type":"%s","phase":"%s","trace":"a","id":"%s"%s,"time":1%s}\n'):format(type, phase, id,
        parent and (',"parent":"%s"'):format(parent) or "", more or "")
    end
    cli.file(path, record("start", "agent", "1") .. record("start", "chat", "2", "1")
      .. record("end", "chat", "2", "1", ',"seconds":1,"cost":0.25')
      .. record("end", "agent", "1", nil, ',"seconds":1,"cost":0.25,"usage":{"input_tokens":7,"output_tokens":1}'))
    local r = cli.run { "trace", path }
    assert.is_truthy(r.out:find("agent 1.00 s · 7 in 1 out $0.250000\n", 1, true), r.out)
  end)

  it("shows the error that a tool answers with", function()
    local function tool(id, more)
      return ('{"v":1,"type":"tool","phase":"end","trace":"a","id":"%s","time":1,"seconds":1,"bytes":2,%s}\n')
        :format(id, more)
    end
    cli.file(path, tool("1", '"is_error":true,"content":{"result":"no such\\ncity"}')
      .. tool("2", '"is_error":true,"content":{"result":[{"type":"text","text":"one"},5,{"type":"text","text":"two"}]}')
      .. tool("3", '"is_error":true,"blocked":true,"reason":"not today","content":{"result":"denied: not today"}')
      .. tool("4", '"is_error":true') .. tool("5", '"is_error":false,"content":{"result":"fine"}')
      .. tool("6", '"is_error":true,"content":{"result":"' .. ("x"):rep(5000) .. '"}'))
    local r = cli.run { "trace", path }
    local said = {}
    for words in r.out:gmatch "tool 1%.00 s · ([^\n]*)" do said[#said + 1] = words end
    assert.are.same({ "error 2 bytes ! no such city", "error 2 bytes ! one 5 two", "blocked 2 bytes ! not today",
      "error 2 bytes", "2 bytes", "error 2 bytes ! " .. ("x"):rep(998) .. "…" }, said)
  end)

  it("says when its page cannot be written", function()
    for _, to in ipairs { "-", "/dev/stdout" } do
      local r = cli.run({ "trace", path, "--html", to }, { shell = "%s >/dev/full" })
      assert.are.equal(1, r.code)
      assert.is_truthy(r.err:find("No space left", 1, true), r.err)
    end
  end)

  it("shows one trace", function()
    local r = cli.run { "trace", path, "-t", "bb" }
    assert.is_nil(r.out:find("aa11", 1, true))
    assert.is_truthy(r.out:find("bb22", 1, true))
    r = cli.run { "trace", path, "-t", "" }
    assert.are.same({ 2, "koine: -t: a text expected, got none (see `koine trace --help`)\n" }, { r.code, r.err })
    r = cli.run { "trace", path, "-t", "dd" }
    assert.are.equal('koine: -t: no trace begins with "dd"\n', r.err:match "[^\n]*\n$")
    assert.are.equal(2, r.code)
  end)

  it("writes a page", function()
    local r = cli.run { "trace", path, "--html", dir .. "/page.html" }
    assert.are.equal(0, r.code)
    assert.are.equal("", r.out)
    local page <close> = assert(io.open(dir .. "/page.html"))
    assert.is_truthy(page:read("a"):find "^<!DOCTYPE html>.*planner.*</html>\n$")
    r = cli.run { "trace", path, "-t", "bb", "--html", "-" }
    assert.is_truthy(r.out:find '"trace":"bb22"')
    assert.is_nil(r.out:find "planner")
    r = cli.run { "trace", path, "--html", dir .. "/none/page.html" }
    assert.are.equal(1, r.code)
  end)

  it("writes a page for its owner alone, whole or not at all", function()
    local page = dir .. "/page.html"
    assert.are.equal(0, cli.run({ "trace", path, "--html", page }, { shell = "umask 022; %s" }).code)
    assert.are.equal("rw-------", lfs.attributes(page, "permissions"))
    os.execute("chmod 644 " .. cli.quote(page))
    local before = lfs.attributes(page, "ino")
    assert.are.equal(0, cli.run({ "trace", path, "-t", "bb", "--html", page }).code)
    assert.are_not.equal(before, lfs.attributes(page, "ino")) -- another file got the name
    assert.are.equal("rw-------", lfs.attributes(page, "permissions"))
    assert(lfs.link(page, dir .. "/link.html", true))
    local r = cli.run { "trace", path, "--html", dir .. "/link.html" }
    assert.are.same({ 1, "koine: " .. dir .. "/link.html: refused: it is a symbolic link\n" },
      { r.code, r.err:match "([^\n]*\n)$" })
  end)

  it("does not replace the log by its page", function()
    assert(lfs.link(path, dir .. "/hard"))
    assert(lfs.link(path, dir .. "/it's $a link", true))
    for _, to in ipairs { path, dir .. "/./log", dir .. "/hard", dir .. "/it's $a link" } do
      for _, pair in ipairs { { path, to }, { to, path } } do
        local r = cli.run { "trace", pair[1], "--html", pair[2] }
        assert.are.same({ 2, "", "koine: --html: " .. pair[2] .. " is the log: name another file\n" },
          { r.code, r.out, r.err })
      end
    end
    local file <close> = assert(io.open(path))
    assert.are.equal(LOG, file:read "a")
  end)

  it("shows damaged records", function()
    local odd, lines = { 'null', 'true', '-1', '1.5', '1e300', '""', '"x"', '[]', '[[],{}]', '{"a":[{}]}' }, {}
    local n = 0
    for line in LOG:gmatch "[^\n]+\n" do
      for field in line:gmatch '"([%l_]+)":' do
        if field ~= "v" and field ~= "id" and field ~= "type" then
          n = n + 1
          local value = odd[n % #odd + 1]
          local changed = line:gsub(('("%s":)(%%b{})'):format(field), "%1" .. value)
          if changed == line then changed = line:gsub(('("%s":)[^,}]*'):format(field), "%1" .. value) end
          lines[n] = changed:gsub('"id":"', '"id":"' .. n)
        end
      end
    end
    cli.file(path, table.concat(lines))
    local r = cli.run { "trace", path }
    assert.are.equal(0, r.code, r.err)
    assert.is_truthy(n > 50 and select(2, r.out:gsub("\n", "")) > n)
    assert.are.equal("", r.err)
  end)

  it("follows a log that comes later, grows, is renamed and cut, until it is interrupted", function()
    local log = dir .. "/later"
    local child = cli.start { "trace", log, "--follow" }
    child:expect("err", "koine: waiting for " .. log .. "\n")
    local function span(id, phase, more)
      return ('{"v":1,"type":"chat","phase":"%s","trace":"aa11","id":"%s","time":1795476493251894230%s}\n')
        :format(phase, id, more or "")
    end
    local one <close> = assert(io.open(log, "w"))
    one:setvbuf "no"
    one:write(span("1", "start", ',"model":"first"'))
    one:write(span("2", "start", ',"model":"inner","parent":"1"'), span("2", "end", ',"seconds":1.5'))
    child:expect("out", "23:28:13  aa11    chat inner 1.50 s\n")
    one:write '{"v":1,"type":"ch' -- half a line, which ends in the renamed file
    assert(os.rename(log, log .. ".1"))
    one:write('at","phase":"end","trace":"aa11","id":"1","time":1795476493251894230,"seconds":2}\n')
    cli.file(log, span("3", "start", ',"model":"second"') .. span("3", "end", ',"seconds":0.25') .. "no record\n")
    child:expect("out", "23:28:13  aa11  chat first 2.00 s\n")
    child:expect("out", "23:28:13  aa11  chat second 250 ms\n")
    child:expect("err", "1 lines hold no record")
    cli.file(log, span("4", "end", ',"seconds":3')) -- cut
    child:expect("out", "23:28:13  aa11  chat 3.00 s\n")
    child:signal "sigint"
    local r = child:wait()
    assert.are.equal(130, r.code)
    local _, count = r.out:gsub("\n", "")
    assert.are.equal(4, count)
  end)

  it("says why a file cannot be read", function()
    local r = cli.run { "trace", dir .. "/none" }
    assert.are.equal(1, r.code)
    assert.is_truthy(r.err:find("No such file", 1, true))
    r = cli.run { "trace", dir, "--follow" }
    assert.are.equal(1, r.code)
    assert.is_truthy(r.err:find("Is a directory", 1, true))
  end)
end)
