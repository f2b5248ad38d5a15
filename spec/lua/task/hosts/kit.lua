--- Helpers of the specs of hosts: a loopback provider, adapters that talk to it, and turns that fall silent. The time
-- limits are nets, not measures.

local busted = require "busted"
local koine = require "koine"
local wait = require "koine.task.wait"

local NET = { idle = 60, first_byte = 60 }

--- Registers a server for the tests of one `describe`, which forgets before each of them. Returns a kit: server,
-- adapter(path, opts), silent(path), left().
return function()
  local kit = {}

  busted.setup(function() kit.server = assert(koine.testing.start()) end)
  busted.teardown(function() kit.server:stop() end)
  busted.before_each(function() assert(kit.server:reset()) end)

  -- An adapter whose requests go to this path of the server ("/a"; nil: to its root).
  function kit.adapter(path, opts)
    local options = { model = "m", base_url = kit.server.url .. (path or ""), key = "k", retry = false, timeout = NET }
    for name, value in pairs(opts or {}) do options[name] = value end
    return koine.anthropic(options)
  end

  -- A turn at /PATH of which there is one delta (and the start of its block), then silence.
  function kit.silent(path)
    return { path = path .. "/v1/messages", content = ("x"):rep(4000), chunk = 1000, fault = { stall_after = 1800 } }
  end

  -- Waits until the server saw a caller leave in the middle: the request.
  function kit.left()
    while true do
      for _, request in ipairs(assert(kit.server:requests())) do
        if request.closed_after then return request end
      end
      wait.block({}, 0.005)
    end
  end

  return kit
end
