--- Helpers of the specs of the command line: a loopback provider, a folder to live in, and runs beside them.

local cli = require "spec.support.cli"
local folder = require "spec.support.folder"
local koine = require "koine"
local luassert = require "luassert"

local KEY = "cli-test-key-1"

local kit = { KEY = KEY } -- which no output may hold

--- Returns the environment that the specs of one file run in.
function kit.new()
  local bench, server, home = {}, nil, nil

  --- Starts the provider and makes the folder: for setup; with close for teardown. Returns the server and the path.
  function bench.open()
    server, home = assert(koine.testing.start()), folder.new()
    return server, home
  end

  function bench.close()
    server:stop()
    folder.remove(home)
  end

  --- Returns the output of a run; `answers` are what the provider answers, `options` those of cli.run.
  function bench.run(arguments, answers, options)
    options = options or {}
    options.env = options.env or { ANTHROPIC_API_KEY = KEY, KOINE_MODEL = "anthropic/claude-sonnet-4-5", HOME = home }
    if answers then assert(server:script(answers)) end
    local r = cli.run(arguments, options)
    luassert.is_nil((r.out .. r.err):find(KEY, 1, true))
    luassert.is_nil(r.err:find("traceback", 1, true), r.err)
    return r
  end

  --- The same at the loopback provider's address.
  function bench.run_there(arguments, answers, options)
    local all = table.move(arguments, 2, #arguments, 4, { arguments[1], "--base-url", server.url })
    return bench.run(all, answers, options)
  end

  return bench
end

return kit
