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

  it("does not keep a cancelled task from ending at its next wait", function()
    local claude = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "test-key",
      retry = false }
    assert(server:script { { content = ("word "):rep(50), chunk = 5, fault = { stall_after = 600 } } })
    local went_on = false
    koine.run(function()
      local stream <close> = assert(claude:open "Hi.")
      local task
      task = koine.spawn(function()
        while stream:poll() ~= false do end
        repeat koine.pump(1) until stream:stats().bytes > 600
        task:cancel()
        koine.park(stream, 1)
        went_on = true
      end)
      task:wait()
    end)
    assert.is_false(went_on)
  end)

  it("tells a host's coroutine what a caller that blocks waits for, too", function()
    local waiting = {}
    koine.set_host { suspends = coroutine.isyieldable, park = function(token, seconds)
      if not coroutine.isyieldable() then return koine.block(token, seconds) end
      waiting[token] = coroutine.running()
      return coroutine.yield()
    end, wake = function(token)
      local co = waiting[token]
      waiting[token] = nil
      if co then assert(coroutine.resume(co, true)) end
    end }
    local program = assert(koine.process.open { "sh", "-c", "sleep 0.2; echo line; sleep 0.1; exit 3" })
    local line
    coroutine.wrap(function() line = program:line() end)()
    assert.are.equal(3, assert(program:result()).code)
    assert.are.equal("line", line)
    koine.set_host(nil)
  end)
end)
