-- Points of cache misses: a request of a run that does not begin as the one before it did.

local agent_kit = require "spec.lua.agent.kit"
local chat_lab = require "spec.lua.dispatch.kit"
local koine = require "koine"
local observed = require "spec.lua.data.observer.kit"

local CALL = { content = { { type = "tool_use", name = "add", arguments = { a = 1, b = 2 } } } }

describe("an observed run", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  -- The paths of the cache misses of a run of three model calls with these fields; `maker` makes its adapter.
  local function misses(fields, maker, settings)
    assert(server:reset())
    assert(server:script { CALL, CALL, { content = "Done." } })
    local observer, records = observed.keep(settings or { cache_misses = true })
    local given = { adapter = koine[maker or "anthropic"] { model = "claude-sonnet-4-5", key = "k",
      base_url = server.url .. (maker == "openai" and "/v1" or ""), cache_retention = "short" },
      tools = { agent_kit.add(function() return "3" end) }, observer = observer, system = "Be brief." }
    for name, value in pairs(fields or {}) do given[name] = value end
    assert(koine.agent(given):run "Go.")
    observed.check(records)
    local paths = {}
    for i, point in ipairs(observed.of(records, "cache_miss", "point")) do
      assert.are.equal("chat", observed.of(records, "chat", "start")[i + 1] and "chat")
      paths[i] = point.path
    end
    return paths
  end

  it("tells of none where its requests go on as they began, whatever marks of caches move", function()
    for _, maker in ipairs { "anthropic", "openai" } do assert.are.same({}, misses({}, maker), maker) end
  end)

  -- A function `prepare` that gives each model call another system prompt.
  local function changing()
    local n = 0
    return function()
      n = n + 1
      return { system = "Changed " .. n }
    end
  end

  it("tells the first place that differs", function()
    assert.are.same({ "system[1].text", "system[1].text" }, misses { prepare = changing() })
  end)

  it("tells of none unless the observer asks", function()
    assert.are.same({}, misses({ prepare = changing() }, nil, {}))
  end)

  it("goes on where a turn of its session follows, and is apart from runs of its tools", function()
    assert(server:reset())
    assert(server:script { CALL, { content = "Inner." }, { content = "One." }, { content = "Two." } })
    local observer, records = observed.keep { cache_misses = true }
    local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = server.url }
    local inner = agent_kit.add(function(_, ctx)
      return koine.agent { adapter = claude, parent = ctx.observe, system = "Inner." }:run("Go.").text
    end)
    local n = 0
    local d = koine.dispatcher { observer = observer, mode = "per-thread",
      target = koine.dispatcher.agents(function()
        return koine.agent { adapter = claude, tools = { inner }, prepare = function()
          n = n + 1
          return { system = n < 3 and "Outer." or "Changed." }
        end }
      end) }
    koine.run(function()
      for _, word in ipairs { "first", "second" } do
        d:submit(chat_lab.thread "T1", chat_lab.message("alice", word))
        repeat koine.sleep(0.001) until not d:step() and d:stats().turns == 0
      end
    end)
    local points = observed.of(records, "cache_miss", "point")
    assert.are.same({ 1, "system" }, { #points, points[1].path:match "^%a+" })
    assert.are.equal(4, n + 1)
  end)
end)
