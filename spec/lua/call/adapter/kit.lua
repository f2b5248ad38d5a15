--- Helpers of the specs of adapters: the loopback provider, an adapter on each of two wires, an environment of the
-- test's own (no variable of the machine is seen), and sleeps that are written down instead of slept.

local core = require "koine.core"
local koine = require "koine"
local environment = require "spec.support.environment"
local retry = require "koine.net.retry"
local sleeps = require "spec.lua.net.sleeps"

local adapter_kit = {}

--- A kit for the tests of one file.
function adapter_kit.new()
  local kit, server = {}, nil
  local random = retry.random

  --- Starts the provider and returns it: for setup, with stop for teardown.
  function kit.start()
    server = assert(koine.testing.start())
    return server
  end

  function kit.stop() server:stop() end

  --- Begins a test, with restore after it: the table of its variables, and the array that its sleeps (seconds) are
  -- written to.
  function kit.begin()
    assert(server:reset())
    local variables = environment.replace {}
    retry.random = function() return 0 end
    return variables, sleeps.record()
  end

  function kit.restore()
    environment.restore()
    sleeps.restore()
    retry.random = random
  end

  --- An adapter on the Messages wire.
  function kit.claude(options)
    options = options or {}
    options.model = options.model or "claude-sonnet-4-5"
    options.base_url = server.url
    if options.key == nil then options.key = "test-key-1" end
    return koine.anthropic(options)
  end

  --- An adapter on the Chat wire.
  function kit.gpt(options)
    options = options or {}
    options.model = options.model or "gpt-4o"
    options.api = options.api or "chat"
    options.base_url = server.url
    options.key = options.key or "test-key-2"
    return koine.openai(options)
  end

  --- Returns the requests to the provider.
  function kit.requests() return assert(server:requests()) end

  return kit
end

--- The decoded body of a request.
function adapter_kit.body_of(request) return assert(core.decode(request.body)) end

function adapter_kit.last(list) return list[#list] end

return adapter_kit
