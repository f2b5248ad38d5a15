--- Helpers of the specs of koine.copilot's login: a loopback provider that is GitHub and Copilot, an environment and a
-- folder of the test's own, two GitHub tokens that no other test has (the sessions of a process are shared), a clock
-- that stands still, and what was asked.

local core = require "koine.core"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local koine = require "koine"
local api_token = require "koine.provider.auth.copilot.api_token"
local wait = require "koine.task.wait"

local copilot_login = {}

--- Where the provider is asked for a Copilot token, a device code, a GitHub token.
copilot_login.EXCHANGE, copilot_login.CODE, copilot_login.ACCESS =
  "/copilot_internal/v2/token", "/login/device/code", "/login/oauth/access_token"

--- A kit for the tests of one file, whose tokens carry `name`.
function copilot_login.new(name)
  local kit, server, test, count = {}, nil, nil, 0
  local getenv, park, now, clock, stderr = os.getenv, wait.park, wait.now, api_token.clock, io.stderr

  --- Starts the provider and returns it: for setup, with stop for teardown.
  function kit.start()
    server = assert(koine.testing.start { copilot = {} })
    return server
  end

  function kit.stop() server:stop() end

  --- The first or the second GitHub token of the test.
  function kit.token(n) return ("ghu_%s_%s_%d"):format(name, n == 2 and "second" or "first", count) end

  --- Begins a test, with restore after it: {environment = its variables, directory, token_path (no file yet), printed =
  -- array of what was written to standard error, count = the test's number}.
  function kit.begin()
    count = count + 1
    assert(server:reset())
    assert(server:copilot { github_tokens = { kit.token(1), kit.token(2) }, device_flow = {},
      client_id = "Iv1.b507a08c87ecfe98", interval = 5, expires_in = 900, token_lifetime = 1500, chat_enabled = true,
      endpoints = true })
    local environment, printed, directory = {}, {}, folder.new()
    os.getenv = function(variable) return environment[variable] end -- luacheck: ignore
    io.stderr = { write = function(_, text) printed[#printed + 1] = text end } -- luacheck: ignore
    test = { environment = environment, directory = directory, token_path = directory .. "/koine/copilot_github_token",
      printed = printed, count = count }
    return test
  end

  function kit.restore()
    os.getenv, io.stderr = getenv, stderr -- luacheck: ignore
    wait.park, wait.now, api_token.clock = park, now, clock
    folder.remove(test.directory)
  end

  --- An adapter whose tokens are the test's.
  function kit.copilot(options)
    local given = { model = "gpt-4.1", github_host = server.url, token_path = test.token_path,
      min_request_interval = 0 }
    for option, value in pairs(options or {}) do given[option] = value end
    return koine.copilot(given)
  end

  --- Time stands still but for sleeps, which `note`, when given, is told (seconds); requests are real.
  function kit.freeze(note)
    local time = 1000
    wait.now = function() return time end
    wait.park = function(thing, seconds)
      if type(thing) ~= "table" then return park(thing, seconds) end
      if note then note(seconds) end
      time = time + seconds
      return false
    end
  end

  --- The requests to a path, or all.
  function kit.requests(path)
    local found = {}
    for _, request in ipairs(assert(server:requests())) do
      if not path or request.path == path then found[#found + 1] = request end
    end
    return found
  end

  --- How often the provider was asked for what: server:copilot().
  function kit.counted() return assert(server:copilot()) end

  --- Returns the request of the n-th exchange.
  function kit.exchanged_with(n)
    local request = kit.requests(copilot_login.EXCHANGE)[n or 1]
    return request and request.headers.authorization
  end

  --- Writes the test's token file.
  function kit.keep(text, mode)
    assert(core.file_directory(test.directory .. "/koine"))
    files.write(test.token_path, text, mode)
  end

  return kit
end

return copilot_login
