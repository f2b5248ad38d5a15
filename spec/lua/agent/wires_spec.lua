-- The agent over real HTTP: the same script on every wire, tools at once, runs at once. The loopback provider judges
-- each request strictly.

local core = require "koine.core"
local koine = require "koine"
local toy_host = require "spec.lua.task.toy_host"
local wait = require "koine.task.wait"

local ENDPOINTS = {
  { title = "Anthropic", name = "anthropic", model = "claude-sonnet-4-5" },
  { title = "Chat", name = "openai", model = "gpt-5-mini", api = "chat", field = "reasoning_content" },
  { title = "Responses", name = "openai", model = "gpt-5-mini", api = "responses" },
  { title = "Copilot, Chat", name = "copilot", model = "gpt-5-mini", api = "chat", field = "reasoning_text" },
  { title = "Copilot, Responses", name = "copilot", model = "gpt-5-mini", api = "responses" },
}

local function use(name, arguments) return { type = "tool_use", name = name, arguments = arguments } end

local ANSWERS = {
  { content = { { type = "thinking", thinking = "Which city?", signature = "c2ln" }, { type = "text",
    text = "Let me look." }, use("weather", { city = "Paris" }), use("weather", { city = 7 }), use("nothing", {}) } },
  { content = { use("weather", { city = "Oslo" }), use("broken", {}) } },
  { content = "An umbrella." },
}

local KINDS = "reasoning output tool_call tool_call tool_call tool_result tool_result tool_result "
  .. "tool_call tool_call tool_result tool_result output"

local TOOLS = {
  koine.tool { name = "weather", description = "The weather in a city.", example = { city = "Paris" },
    run = function(args) return "rain in " .. args.city end },
  koine.tool { name = "broken", description = "Fails.", run = function() error("no such luck", 0) end },
}

local RESULTS = { "rain in Paris", "bad arguments: arguments.city: string expected, got 7",
  'unknown tool "nothing"; there are: weather, broken', "rain in Oslo", "no such luck" }

describe("an agent", function()
  local server

  setup(function() server = assert(koine.testing.start { copilot = { github_tokens = { "ghu_agent" } } }) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  local function adapter_of(endpoint)
    local options = { model = endpoint.model, api = endpoint.api, retry = false }
    if endpoint.name == "copilot" then
      options.github_host, options.github_token, options.min_request_interval = server.url, "ghu_agent", 0
    else
      options.base_url, options.key = server.url .. (endpoint.name == "anthropic" and "" or "/v1"), "test-key"
    end
    return koine[endpoint.name](options)
  end

  -- Scripts the answers for an endpoint.
  local function script(answers, endpoint)
    local played = {}
    for i, answer in ipairs(answers) do
      played[i] = { reasoning_field = answer.content and endpoint.field }
      for name, value in pairs(answer) do played[i][name] = value end
    end
    assert(server:script(played))
  end

  local function assert_no_problems()
    for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
  end

  for _, endpoint in ipairs(ENDPOINTS) do
    for _, parallel in ipairs { false, true } do
      local title = ("on %s makes the same events in the same order"):format(endpoint.title)
      it(title .. (parallel and ", tools at once" or ""), function()
        script(ANSWERS, endpoint)
        local kinds, results, called = {}, {}, {}
        local agent = koine.agent { adapter = adapter_of(endpoint), tools = TOOLS, system = "Be brief.",
          options = { thinking = "low" }, parallel = parallel, on_event = function(event)
            kinds[#kinds + 1] = event.kind
            if event.kind == "tool_call" then called[#called + 1] = event.tool_call_id end
            if event.kind == "tool_result" then
              results[#results + 1] = event.content
              assert.are.equal(called[#results], event.tool_call_id)
              assert.are.equal(#results ~= 1 and #results ~= 4, event.is_error)
            end
          end }
        local result = assert(agent:run "What should I wear in Paris?")
        assert.are.equal(KINDS, table.concat(kinds, " "))
        assert.are.same(RESULTS, results)
        assert.are.same({ "completed", "An umbrella.", 3 }, { result.status, result.text, result.steps })
        assert.are.equal(endpoint.name, result.response.provider)
        core.check { model = "m", messages = result.messages }
        assert_no_problems()
      end)
    end
  end

  it("sums what the provider says of usage, cost and all", function()
    local usage = { input_tokens = 1000, output_tokens = 100, cache_read_tokens = 0, cache_creation_tokens = 0 }
    assert(server:script { { content = { use("weather", { city = "Paris" }) }, usage = usage },
      { content = "x", usage = usage } })
    local result = assert(koine.agent { adapter = adapter_of(ENDPOINTS[1]), tools = TOOLS }:run "Go")
    assert.are.same({ 2000, 200, 2 }, { result.usage.input_tokens, result.usage.output_tokens,
      result.usage.model_calls })
    assert.is_true(math.abs(result.usage.cost.total - 0.009) < 1e-12)
  end)

  it("runs eight tools at once: all begin before one ends, the results are in the calls' order", function()
    local answer = {}
    for i = 1, 8 do answer[i] = { type = "tool_use", id = "toolu_" .. i, name = "slow", arguments = { n = i } } end
    for _, inside in ipairs { false, true } do
      assert(server:reset())
      assert(server:script { { content = answer }, { content = "Done." } })
      local log, tokens, seen = {}, {}, {}
      for i = 1, 8 do tokens[i] = {} end
      -- Each waits for the one after it: they can only end, last first, when all have begun.
      local slow = koine.tool { name = "slow", description = "Waits.", example = { n = 1 }, run = function(args)
        log[#log + 1] = "begin " .. args.n
        while args.n < 8 and not tokens[args.n + 1].over do assert(wait.park(tokens[args.n + 1], 60)) end
        log[#log + 1] = "end " .. args.n
        tokens[args.n].over = true
        wait.wake(tokens[args.n])
        return "result " .. args.n
      end }
      local agent = koine.agent { adapter = adapter_of(ENDPOINTS[1]), tools = { slow }, parallel = true,
        on_event = function(event) if event.kind == "tool_result" then seen[#seen + 1] = event.content end end }
      local result
      if inside then
        result = koine.run(function() return assert(agent:run "Go") end)
      else
        result = assert(agent:run "Go")
      end
      assert.are.same({ "begin 1", "begin 2", "begin 3", "begin 4", "begin 5", "begin 6", "begin 7", "begin 8",
        "end 8", "end 7", "end 6", "end 5", "end 4", "end 3", "end 2", "end 1" }, log)
      for i = 1, 8 do
        assert.are.equal("result " .. i, seen[i])
        assert.are.equal("result " .. i, result.messages[3].content[i].content)
        assert.are.equal("toolu_" .. i, result.messages[3].content[i].tool_use_id)
      end
      assert.are.equal("Done.", result.text)
      assert_no_problems()
    end
  end)

  it("has two runs at once that keep apart", function()
    local other <close> = assert(koine.testing.start())
    local function answers(city)
      return { { content = { { type = "text", text = "I am asked of " .. city }, use("weather", { city = city }) } },
        { content = { use("weather", { city = city .. " again" }) } }, { content = "It rains in " .. city } }
    end
    assert(server:script(answers "Paris"))
    assert(other:script(answers "Oslo"))
    local order = {}
    local weather = koine.tool { name = "weather", description = "d", example = { city = "x" }, run = function(args)
      order[#order + 1] = args.city
      koine.sleep(0.001)
      return "rain in " .. args.city
    end }
    -- One agent, whose adapter is the server that the run is to have: the steps of both runs take turns.
    local adapters = { adapter_of(ENDPOINTS[1]), koine.anthropic { model = "claude-sonnet-4-5", base_url = other.url,
      key = "k" } }
    local agent = koine.agent { adapter = adapters[1], tools = { weather }, system = "Be brief." }
    local first, second = koine.run(function()
      return koine.gather(
        function() return assert(agent:run("Paris?")) end,
        function() return assert(agent:run("Oslo?", { adapter = adapters[2] })) end)
    end)
    for city, result in pairs { Paris = first, Oslo = second } do
      assert.are.same({ "completed", "It rains in " .. city, 3 }, { result.status, result.text, result.steps })
      assert.are.equal(city .. "?", result.messages[1].content)
      assert.are.equal("rain in " .. city, result.messages[3].content[1].content)
      assert.are.equal("rain in " .. city .. " again", result.messages[5].content[1].content)
      assert.are.equal(6, #result.messages)
      assert.are.equal(6, result.events)
    end
    table.sort(order)
    assert.are.same({ "Oslo", "Oslo again", "Paris", "Paris again" }, order)
    assert_no_problems()
  end)

  it("yields to a host's loop: two runs whose tools wait for each other come to their ends", function()
    assert(server:script { { path = "/a/v1/messages", content = { use("meet", { me = "a" }) } },
      { path = "/b/v1/messages", content = { use("meet", { me = "b" }) } },
      { path = "/a/v1/messages", content = "a is done" }, { path = "/b/v1/messages", content = "b is done" } })
    local here, results = {}, {}
    local meet = koine.tool { name = "meet", description = "Waits for the other.", example = { me = "a" },
      run = function(args)
        local other = args.me == "a" and "b" or "a"
        here[args.me] = true
        while not here[other] do assert(wait.sleep(0.001)) end
        return "met " .. other
      end }
    local function task(name)
      return function()
        local adapter = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url .. "/" .. name, key = "k" }
        results[name] = assert(koine.agent { adapter = adapter, tools = { meet } }:run "Go")
      end
    end
    toy_host.run { task "a", task "b" }
    assert.are.same({ "a is done", "b is done" }, { results.a.text, results.b.text })
    assert.are.equal("met b", results.a.messages[3].content[1].content)
    assert_no_problems()
  end)

  it("has two runs whose units take turns in plain Lua", function()
    assert(server:script "echo")
    local agent = koine.agent { adapter = adapter_of(ENDPOINTS[1]) }
    local a, b = agent:start "one", agent:start "two"
    assert(b:step())
    assert(a:step())
    assert.are.equal("You said: two", assert(b:result()).text)
    assert.are.equal("You said: one", assert(a:result()).text)
  end)

  it("is cancelled while the provider is silent, and the run is as before the call", function()
    assert(server:script { { content = { use("weather", { city = "Paris" }) } }, { content = "x",
      fault = { stall_after = 0 } } })
    local agent = koine.agent { adapter = adapter_of(ENDPOINTS[1]), tools = TOOLS }
    local run = agent:start "Go"
    assert(run:step())
    assert(run:step())
    local result = koine.run(function()
      koine.spawn(function()
        repeat koine.sleep(0.001) until #assert(server:requests()) == 2
        run:cancel()
      end)
      return assert(run:result())
    end)
    assert.are.same({ "cancelled", 3, 1 }, { result.status, #result.messages, result.steps })
    assert.are.equal("rain in Paris", result.messages[3].content[1].content)
  end)

  it("goes on after a failure of the provider", function()
    assert(server:script { { content = { use("weather", { city = "Paris" }) } }, { error = { status = 529 } },
      { content = "x", fault = { truncate_after = 30 } }, { content = "An umbrella." } })
    local agent = koine.agent { adapter = adapter_of(ENDPOINTS[1]), tools = TOOLS, on_delta = function() end }
    local classes = {}
    local result, err, run = agent:run "Go"
    while not result do
      classes[#classes + 1] = err.class
      result, err = run:result()
    end
    assert.are.same({ "ServerError", "ConnectionError" }, classes)
    assert.are.same({ "An umbrella.", 4 }, { result.text, #result.messages })
    assert_no_problems()
  end)
end)
