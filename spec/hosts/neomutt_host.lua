-- NeoMutt: one Lua state, for the commands lua and lua-source of its configuration.

local files = require "spec.support.files"
local host = require "spec.hosts.support.host"

describe("NeoMutt", function()
  local bench = host.bench()

  -- Starts it with such a configuration; it prints its settings, and ends.
  local function start(lines)
    files.write(bench.place .. "/rc", table.concat(lines, "\n") .. "\n")
    return host.start("neomutt", { args = { "-n", "-F", bench.place .. "/rc", "-D" },
      env = { KOINE_URL = bench.server.url, KOINE_OUT = bench.place .. "/out", HOME = bench.place } })
  end

  local SOURCE = "lua-source " .. host.script "subject.lua"

  it("chats and streams, again when the script is read again", function()
    assert(bench.server:script "echo")
    local program <close> = start { SOURCE, SOURCE }
    assert.are.same({ 0, 0 }, { program:wait() })
    local line = "You said: Hello | You said/: again\n"
    assert.are.equal(line .. line, files.read(bench.place .. "/out"))
  end)

  -- It prints errors that are strings: "(null)" otherwise.
  it("goes on where a script raises an error", function()
    assert(bench.server:script { { error = { status = 400, message = "no such model" } }, { content = "Hi." },
      { content = "Hi." } })
    local program <close> = start { "lua claude = require 'koine'.anthropic { model = 'm', key = 'k', "
      .. "base_url = os.getenv 'KOINE_URL' }", "lua error(tostring(select(2, claude:chat 'Hello')), 0)", SOURCE }
    assert.are.equal(0, select(2, program:wait()))
    assert.truthy(program.out:find("no such model", 1, true), program.out)
    assert.truthy(files.read(bench.place .. "/out"):find("Hi. | ", 1, true))
  end)

  it("waits no longer than the script allows", function()
    assert(bench.server:script { host.LATE })
    local program <close> = start { SOURCE }
    assert.are.equal(0, select(2, program:wait()))
    assert.are.equal("timeout | \n", files.read(bench.place .. "/out"))
  end)
end)
