-- The contract of adapters for one of Koine's own constructors, against the loopback provider.

local free_port = require "spec.support.free_port"
local koine = require "koine"

local server -- one child process for every suite of a spec file

--- Registers the suite. `busted` = {describe, it, assert, setup, teardown}; `construct` is the constructor, `options`
-- what every adapter of the suite is made with, `base_path` what its base URL has behind the server's, and `embed` the
-- options of its embeddings (nil: it has none); `supports` as in koine.testing.contract, over what a wire supports,
-- `reasoning_field` where the Chat wire of this provider puts thinking.
return function(busted, name, construct, options, supports, reasoning_field)
  local able = { wire = true, errors = true }
  for flag, value in pairs(supports or {}) do able[flag] = value end

  local function new(opts, url)
    local given = { key = "test-key" }
    for option, value in pairs(options) do given[option] = value end
    given.base_url, given.base_path = (url or server.url) .. (options.base_path or ""), nil
    given.embed = nil
    for option, value in pairs(opts or {}) do given[option] = value end
    return construct(given)
  end

  busted.setup(function() server = server or assert(koine.testing.start()) end)
  busted.teardown(function()
    if server then server:stop() end
    server = nil
  end)

  koine.testing.contract.describe(name, {
    describe = busted.describe, it = busted.it, assert = busted.assert, teardown = busted.teardown,
    new = new, embed = options.embed,
    unreachable = function(opts) return new(opts, "http://127.0.0.1:" .. free_port()) end,
    script = function(answers)
      local played = {}
      for i, answer in ipairs(answers) do
        played[i] = { reasoning_field = answer.content and reasoning_field }
        for field, value in pairs(answer) do played[i][field] = value end
      end
      assert(server:reset())
      assert(server:script(played))
    end,
    requests = function() return assert(server:requests()) end,
    supports = able,
  })
end
