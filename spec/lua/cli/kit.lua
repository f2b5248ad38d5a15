--- Helpers of the specs of the command line: a loopback provider, a folder to live in, and runs beside them.

local busted = require "busted"
local cli = require "spec.support.cli"
local folder = require "spec.support.folder"
local koine = require "koine"
local luassert = require "luassert"

local KEY = "cli-test-key-1"

local kit = { KEY = KEY } -- which no output may hold

--- What the provider answers: a call of this tool; the end.
function kit.call(name, arguments)
  return { content = { { type = "tool_use", name = name, arguments = arguments } } }
end

kit.DONE = { content = "It is done." }

--- The file of that name which docs/cli.md shows: its text.
function kit.shown(name)
  local page <close> = assert(io.open("docs/cli.md"))
  return assert(page:read("a"):match("\n```lua\n(%-%- sketch: " .. name:gsub("%p", "%%%0") .. "\n.-)```\n"), name)
end

--- LUA_PATH for a run that does not find a module; `home` is a folder to keep the hindrance in.
function kit.without(home, name)
  local hidden = home .. "/without"
  os.execute(("mkdir -p '%s'"):format(hidden))
  cli.file(("%s/%s.lua"):format(hidden, name), "error('hidden', 0)")
  return hidden .. "/?.lua;" .. package.path
end

--- Registers what the tests of one `describe` need, and returns it, a table: server, a loopback provider that forgets
-- before each test; home, a folder, which is HOME of the runs; dir, a folder of each test's own; and the functions
-- below. Children that a test leaves are ended.
function kit.new()
  local bench = {}

  busted.setup(function() bench.server, bench.home = assert(koine.testing.start()), folder.new() end)
  busted.teardown(function()
    bench.server:stop()
    folder.remove(bench.home)
  end)
  busted.before_each(function()
    assert(bench.server:reset())
    bench.dir = folder.new()
  end)
  busted.after_each(function()
    cli.clean_up()
    folder.remove(bench.dir)
  end)

  --- Returns the output of a run; `answers` are what the provider answers, `options` those of cli.run.
  function bench.run(arguments, answers, options)
    options = options or {}
    options.env = options.env
      or { ANTHROPIC_API_KEY = KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5", HOME = bench.home }
    if answers then assert(bench.server:script(answers)) end
    local r = cli.run(arguments, options)
    luassert.is_nil((r.out .. r.err):find(KEY, 1, true))
    luassert.is_nil(r.err:find("traceback", 1, true), r.err)
    return r
  end

  --- The same at the loopback provider's address.
  function bench.run_there(arguments, answers, options)
    local all = table.move(arguments, 2, #arguments, 4, { arguments[1], "--base-url", bench.server.url })
    return bench.run(all, answers, options)
  end

  return bench
end

return kit
