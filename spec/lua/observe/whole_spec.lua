-- One observer over the whole stack: dispatcher, run, chat, tool, request of MCP. Whatever breaks off, and wherever,
-- each start has one end after it, each part lies within its parent, and nothing is a part of what is unknown.

local agent_kit = require "spec.lua.agent.kit"
local chat_lab = require "spec.lua.dispatch.kit"
local generator = require "spec.support.generator"
local koine = require "koine"
local mcp_kit = require "spec.lua.protocol.mcp.kit"
local observed = require "spec.lua.data.observer.kit"

local SERVER = [[
  local object = { type = "object" }
  listed = { { name = "echo", inputSchema = object }, { name = "die", inputSchema = object },
    { name = "silent", inputSchema = object } }
  function tools.silent() end
  function tools.echo() return text "canary-told" end
]]

local MANY = ("€"):rep(100) -- what is cut does not end in a piece of one

local RUNS, STEPS = 12, 12 -- random runs, and what happens in each
local TOOLS = { "fake_echo", "fake_echo", "fake_echo", "fake_silent", "fake_die", "nested", "raises" }

describe("an observer of the whole stack", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  local function adapter()
    return koine.anthropic { model = "claude-sonnet-4-5", key = "canary-key", base_url = server.url,
      retry = { max = 0 } }
  end

  -- The agents of a dispatcher, with the tools of a client and their own.
  local function target(client)
    local tools, claude = assert(client:tools()), adapter()
    tools[#tools + 1] = agent_kit.add(function(_, ctx)
      return assert(claude:chat("canary-question", { parent = ctx.observe })):text()
    end, { name = "nested" })
    tools[#tools + 1] = agent_kit.add(function() return "canary-result" end, { name = "tells" })
    tools[#tools + 1] = agent_kit.add(function() error "out of tea" end, { name = "raises" })
    return koine.dispatcher.agents(function()
      return koine.agent { adapter = claude, tools = tools, system = "canary-system" }
    end)
  end

  -- A dispatcher on such agents, and its client, where f(dispatcher, client) is played: the records of an observer
  -- with these settings (nil: none).
  local function play(script, f, settings)
    assert(server:reset())
    assert(server:script(script))
    local observer, records = observed.keep(settings)
    local client = assert(mcp_kit.connect(SERVER, { timeout = { total = mcp_kit.SAFETY } }))
    local d = koine.dispatcher { observer = observer, mode = "per-thread", target = target(client) }
    koine.run(function() f(d, client) end)
    client:close()
    d, client = nil, nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    observed.check(records)
    return records
  end

  local function submit(d, thread, prompt)
    return d:submit(chat_lab.thread(thread), chat_lab.message("alice", prompt))
  end

  it("is told one tree of a turn", function()
    local records = play({
      { content = { { type = "tool_use", name = "fake_echo", arguments = { n = 1 } } } },
      { content = { { type = "tool_use", name = "nested", arguments = { a = 1, b = 2 } } } },
      { content = "nested" },
      { content = "Done." },
    }, function(d)
      submit(d, "T1", "Go.")
      repeat koine.sleep(0.001) until not d:step() and d:stats().turns == 0
    end)
    local by_id, depth, deepest = {}, {}, {}
    for _, record in ipairs(records) do
      if record.phase == "start" then
        by_id[record.id] = record
        depth[record.id] = record.parent and depth[record.parent] .. " " .. record.type or record.type
        deepest[depth[record.id]] = true
      end
    end
    for _, path in ipairs { "turn agent chat attempt", "turn agent tool mcp", "turn agent tool chat attempt" } do
      assert.is_true(deepest[path], path)
    end
    local roots = 0
    for _, record in pairs(by_id) do
      if not record.parent then roots = roots + 1 end
    end
    assert.are.equal(1, roots)
  end)

  -- Calls f with each string of a record, names of fields too.
  local function each_string(value, f)
    if type(value) == "string" then f(value) end
    if type(value) ~= "table" then return end
    for name, part in pairs(value) do
      each_string(name, f)
      each_string(part, f)
    end
  end

  -- The set of the words canary-… in the records of a turn whose every text has one.
  local function canaries(settings)
    local records = play({
      { content = { { type = "thinking", thinking = "canary-thinking" }, { type = "text", text = "canary-words" },
        { type = "tool_use", name = "fake_echo", arguments = { n = "canary-argument" } } } },
      { content = { { type = "tool_use", name = "tells", arguments = { a = 1, b = 2 } },
        { type = "tool_use", name = "nested", arguments = { a = 1, b = 2 } } } },
      { content = "canary-nested" },
      { content = "canary-answer" },
    }, function(d)
      submit(d, "T1", "canary-prompt" .. MANY)
      repeat koine.sleep(0.001) until not d:step() and d:stats().turns == 0
    end, settings)
    assert.are.equal(4, #observed.of(records, "chat", "end"))
    local found = {}
    for _, record in ipairs(records) do
      each_string(record, function(text)
        assert.is_truthy(utf8.len(text))
        assert.is_true(#text <= (settings and settings.content_max or 200))
        for word in text:gmatch "canary%-%l+" do found[word] = true end
      end)
    end
    return found
  end

  it("is told no text of prompts, answers, arguments and results, and no key", function()
    assert.are.same({}, canaries())
  end)

  it("is told the texts that it asks for, and no key", function()
    local found = canaries { content = { "messages", "tools", "deltas" }, content_max = 150 }
    for _, word in ipairs { "system", "prompt", "thinking", "words", "argument", "told", "result", "question", "nested",
      "answer" } do
      assert.is_true(found["canary-" .. word], word)
    end
    assert.is_nil(found["canary-key"])
  end)

  -- What may happen in a run, at any moment.
  local happens = {
    submit = function(d, random) submit(d, "T" .. random(2), "m") end,
    cancel = function(d, random) d:cancel_turn(chat_lab.thread("T" .. random(2))) end,
    drop = function(d, random) d:cancel_all(chat_lab.thread("T" .. random(2))) end,
    collect = function() collectgarbage() end,
    wait = function(_, random) koine.sleep(random(10) / 1000) end,
  }
  local WORDS = { "submit", "submit", "cancel", "drop", "collect", "wait", "wait", "wait" }

  -- Plays a turn while f(name) is called with the name of each function of the room that is called.
  local function spied(f, settings)
    local room, own = require "koine.data.observer", {}
    for _, name in ipairs { "start", "point" } do
      own[name] = room[name]
      room[name] = function(...)
        f(name)
        return own[name](...)
      end
    end
    local ok, err = pcall(function()
      assert(server:reset())
      assert(server:script { { content = { { type = "tool_use", name = "nested", arguments = { a = 1, b = 2 } } } },
        { content = "nested" }, { content = "Done." } })
      local claude = adapter()
      local nested = agent_kit.add(function() return assert(claude:chat "What?"):text() end, { name = "nested" })
      local agent = koine.agent { adapter = claude, tools = { nested }, observer = settings }
      assert.are.equal("Done.", assert(agent:run "Go.").text)
    end)
    for name, function_of_room in pairs(own) do room[name] = function_of_room end
    if not ok then error(err, 0) end
  end

  it("costs nothing where there is none: no span is begun, no point made", function()
    local called = 0
    spied(function() called = called + 1 end)
    assert.are.equal(0, called)
    spied(function() called = called + 1 end, function() end)
    assert.is_true(called > 0)
  end)

  for seed = 1, RUNS do
    it("loses no end in random run " .. seed, function()
      local random, script = generator(seed), {}
      for i = 1, 40 do
        local name = TOOLS[random(#TOOLS)]
        script[i] = random(3) == 1 and { content = "Done." }
          or { content = { { type = "tool_use", name = name, arguments = { a = 1, b = 2 } } } }
      end
      local records = play(script, function(d, client)
        local run = koine.spawn(function() d:run() end)
        submit(d, "T1", "first")
        for _ = 1, STEPS do happens[WORDS[random(#WORDS)]](d, random) end
        d:shutdown()
        client:close() -- ends what waits for the silent tool
        if random(2) == 1 then run:cancel() else run:wait() end
      end)
      assert.is_true(#observed.of(records, "turn", "start") > 0)
    end)
  end
end)
