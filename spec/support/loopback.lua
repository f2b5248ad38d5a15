--- The loopback provider of a spec file: adapters that talk to it, and what they sent.

local core = require "koine.core"
local koine = require "koine"

local loopback = {}

--- A provider for the tests of one file. `script`: what each test begins with, as server:script takes it; nil: nothing.
function loopback.new(script)
  local kit, server = {}, nil

  --- Starts the provider and returns it: for setup, with stop for teardown.
  function kit.start()
    server = assert(koine.testing.start())
    return server
  end

  function kit.stop() server:stop() end

  --- Forgets what was sent, and begins the script: for before_each.
  function kit.reset()
    assert(server:reset())
    if script then assert(server:script(script)) end
  end

  --- Forgets what was sent; the answers from now on are these.
  function kit.script(...)
    assert(server:reset())
    assert(server:script { ... })
  end

  --- A maker of adapters: a function of options, which go over `defaults`. `path`: of the base URL.
  function kit.maker(name, defaults, path)
    return function(options)
      local given = { base_url = server.url .. (path or ""), retry = false }
      for option, value in pairs(defaults) do given[option] = value end
      for option, value in pairs(options or {}) do given[option] = value end
      return koine[name](given)
    end
  end

  --- The requests; fails where the provider had something to say against one.
  function kit.requests()
    local list = assert(server:requests())
    for _, request in ipairs(list) do assert(#request.problems == 0, table.concat(request.problems, "\n")) end
    return list
  end

  --- The decoded bodies of all requests.
  function kit.bodies()
    local list = {}
    for i, request in ipairs(kit.requests()) do list[i] = core.decode(request.body) end
    return list
  end

  --- The last request, and its decoded body.
  function kit.last()
    local list = kit.requests()
    return list[#list], core.decode(list[#list].body)
  end

  return kit
end

return loopback
