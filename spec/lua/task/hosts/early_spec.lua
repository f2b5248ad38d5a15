-- What becomes ready between a caller's look and its wait: whoever looks on at a request (on_response) may make another
-- one, which steps the engine. The caller then waits for news that were told already.

local koine = require "koine"

describe("news between a look and a wait", function()
  local server
  before_each(function() server = assert(koine.testing.start()) end)
  after_each(function()
    koine.hosts.poll.uninstall()
    koine.hosts.cqueues.uninstall()
    server:stop()
  end)

  local WAYS <const> = {
    ["plain Lua"] = function(f) f() end,
    ["koine.run"] = koine.run,
    ["hosts.poll"] = function(f)
      koine.hosts.poll.install()
      koine.hosts.poll.spawn(f)
      koine.hosts.poll.run()
    end,
    ["hosts.cqueues"] = function(f)
      koine.hosts.cqueues.install()
      local controller = require "cqueues".new()
      controller:wrap(f)
      assert(controller:loop())
    end,
  }

  for name, way in pairs(WAYS) do
    it("is not lost in " .. name, function()
      local logger = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key" }
      local claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key",
        retry = false, timeout = { total = 20 }, on_response = function(part)
          if part.phase == "head" then assert(logger:chat "Log this.") end
        end }
      -- The one chat is over, with all of its news, while the other one waits for its answer.
      assert(server:script { { content = ("word "):rep(20), chunk = 5, fault = { write_bytes = 300 } },
        { content = "Logged.", fault = { delay_ms = 200 } } })
      local text
      way(function() text = assert(claude:chat("Hi.", { stream = true })):text() end)
      assert.are.equal(("word "):rep(20), text)
    end)
  end
end)
