--- Helpers of the specs of koine.copilot: a loopback provider that is GitHub and Copilot, a GitHub token for every test
-- (the sessions of a process are shared), sleeps that are written down instead of slept, and what was sent.

local core = require "koine.core"
local environment = require "spec.support.environment"
local koine = require "koine"
local api_token = require "koine.provider.auth.copilot.api_token"
local sleeps = require "spec.lua.net.sleeps"

local copilot_kit = {}

copilot_kit.IMAGE = { type = "image", media_type = "image/gif",
  source = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7" }
copilot_kit.TOOL = { name = "add", description = "Adds.", parameters = { type = "object",
  properties = { a = { type = "integer" } } } }

--- A kit for the tests of one file, whose tokens carry `name`.
function copilot_kit.new(name)
  local kit, server, token, count = {}, nil, nil, 0
  local clock = api_token.clock

  --- Starts the provider and returns it: for setup, with stop for teardown.
  function kit.start()
    server = assert(koine.testing.start { copilot = {} })
    return server
  end

  function kit.stop() server:stop() end

  --- Begins a test, with restore after it: its token, and the array that its sleeps (seconds) are written to.
  function kit.begin()
    count = count + 1
    token = ("ghu_%s_%d"):format(name, count)
    assert(server:reset())
    assert(server:copilot { github_tokens = { token }, editors = { "Koine", "vscode" }, plan = "individual" })
    environment.replace {}
    return token, sleeps.record()
  end

  function kit.restore()
    environment.restore()
    sleeps.restore()
    api_token.clock = clock
  end

  --- An adapter with the test's token.
  function kit.copilot(options)
    local given = { model = "gpt-4.1", github_host = server.url, github_token = token, min_request_interval = 0 }
    for option, value in pairs(options or {}) do given[option] = value end
    return koine.copilot(given)
  end

  --- How often the provider was asked for what: server:copilot().
  function kit.counted() return assert(server:copilot()) end

  --- The requests to the chat host, their bodies decoded.
  function kit.chats()
    local found = {}
    for _, request in ipairs(assert(server:requests())) do
      if request.method == "POST" then
        found[#found + 1] = { path = request.path, headers = request.headers, problems = request.problems,
          status = request.status, body = assert(core.decode(request.body)) }
      end
    end
    return found
  end

  --- The last of them.
  function kit.last_chat()
    local list = kit.chats()
    return list[#list]
  end

  --- Chats once on a fresh script and returns the request.
  function kit.sent(options, messages, call)
    assert(server:script { { content = "ok" } })
    local response = assert(kit.copilot(options):chat(messages or "Hi", call))
    assert(response:text() == "ok", response:text())
    local request = kit.last_chat()
    assert(#request.problems == 0, core.encode(request.problems))
    return request
  end

  return kit
end

return copilot_kit
