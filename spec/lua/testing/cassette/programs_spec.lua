-- Cassettes of programs: servers of MCP and agents of ACP that are recorded once, and played without being started.

local acp_kit = require "spec.lua.protocol.acp.kit"
local files = require "koine.data.files"
local kit = require "spec.lua.testing.cassette.kit"
local koine = require "koine"
local mcp_kit = require "spec.lua.protocol.mcp.kit"
local raised = require "spec.support.raised"

local TOKEN = "token-0123456789"

local SERVER = [[
  local began <close> = assert(io.open(os.getenv "MARK", "a"))
  began:write "x"
  tools.weather = function(arguments, request)
    progress(request, 1, 2)
    return text("sunny in " .. arguments.city .. ", " .. os.getenv "API_TOKEN")
  end
  tools.roots = function() return text(ask("roots/list").result.roots[1].uri) end
  tools.leave = function() os.exit(3) end
]]

local OPTIONS, ENVIRONMENT = mcp_kit.options(SERVER), acp_kit.environment()

describe("an MCP server that is a program", function()
  local mark

  before_each(function()
    kit.begin()
    mark = kit.path .. ".mark"
    OPTIONS.env.MARK, OPTIONS.env.API_TOKEN = mark, TOKEN
  end)
  after_each(kit.restore)

  -- A client on the tape; `more` goes over the options.
  local function connect(tape, more)
    local options = { transport = tape, era = "legacy" }
    for name, value in pairs(OPTIONS) do options[name] = value end
    for name, value in pairs(more or {}) do options[name] = value end
    return koine.mcp.connect(options)
  end

  -- Talks to the server beside a tape, which ends with it: finish's results.
  local function talk(mode, f, more, options)
    options = options or {}
    options.mode = mode
    local tape <close> = kit.open(options)
    local client <close> = assert(connect(tape, more))
    f(client, tape)
    client:close()
    return tape:finish()
  end

  local function weather(client, city)
    return mcp_kit.text_of(assert(client:call("weather", { city = city })))
  end

  -- How often the server was started.
  local function starts() return #(files.read(mark) or "") end

  it("is recorded and played without a program, both directions, without its credentials", function()
    local steps, roots = {}, { { uri = "file:///home/me" } }
    local function both(client)
      assert.are.equal("sunny in Rome, ", weather(client, "Rome"):sub(1, 15))
      assert.are.equal("file:///home/me", mcp_kit.text_of(assert(client:call "roots")))
    end
    local more = { roots = roots, on_progress = function(p) steps[#steps + 1] = p.progress end }
    assert(talk("record", both, more))
    assert.are.same({ 1, 1 }, { starts(), #steps })
    local kept = kit.read().programs[1]
    assert.is_nil(kit.text():find(TOKEN, 1, true))
    assert.is_truthy(kit.text():find("sunny in Rome, [redacted]", 1, true))
    assert.are.equal("initialize", kept.lines[1].sent.method)
    assert.is_truthy(kept.lines[2].came.result)
    assert.is_true(kept.lines[2].ms >= kept.lines[1].ms)
    assert(talk("replay", both, more))
    assert.are.same({ 1, 2 }, { starts(), #steps })
  end)

  it("gets the ids of now, where calls come in another order", function()
    local function two(first, second)
      return function(client)
        local said = {}
        koine.run(function()
          for _, city in ipairs { first, second } do
            koine.spawn(function() said[city] = weather(client, city):sub(1, 13) end)
          end
        end)
        assert.are.same({ Rome = "sunny in Rome", Oslo = "sunny in Oslo" }, said)
      end
    end
    for _, era in ipairs { "legacy", "modern" } do
      assert(talk("record", two("Rome", "Oslo"), { era = era }))
      assert(talk("replay", two("Oslo", "Rome"), { era = era }))
    end
    assert.are.equal(2, starts())
  end)

  it("fails for a line that it never heard, and says where that differs", function()
    assert(talk("record", function(client) weather(client, "Rome") end))
    local ok, err = talk("replay", function(client)
      local _, failure = client:call("weather", { city = "Oslo" })
      assert.are.same({ "connect", "cassette" }, { failure.kind, failure.code })
      assert.is_truthy(failure.message:find("no recording of tools/call in programs[1]: nearest is programs[1].lines[",
        1, true), failure.message)
      assert.is_truthy(failure.message:find('where params.arguments.city is "Rome" and not "Oslo"', 1, true))
    end)
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("tools/call", 1, true))
    ok, err = talk("replay", function() end)
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("of its programs was not played: programs%[1%]%.lines%[%d%] tools/call"),
      err.message)
    assert.are.equal(1, starts())
  end)

  it("fails for a line that it never heard in the mode extend, too, and is started in no mode", function()
    assert(talk("record", function(client) weather(client, "Rome") end))
    local old = kit.text()
    for mode, words in pairs { extend = "(what is played cannot be extended: KOINE_CASSETTE=record records all anew)",
      auto = "(delete the file, or KOINE_CASSETTE=record records anew)" } do
      local ok, err = talk(mode, function(client)
        for _ = 1, 2 do -- the second call starts the program again
          local _, failure = client:call("weather", { city = "Oslo" })
          assert.are.equal("cassette", failure.code)
          for _, part in ipairs { "no recording of tools/call in programs[1]: nearest is programs[1].lines[", words } do
            assert.is_truthy(failure.message:find(part, 1, true), failure.message)
          end
          assert.is_nil(failure.message:find("exit code", 1, true), failure.message)
        end
      end)
      assert.is_nil(ok)
      assert.is_truthy(err.message:find(words, 1, true), err.message)
      assert.are.same({ 1, old }, { starts(), kit.text() })
    end
    local _, err = talk("extend", function(client)
      weather(client, "Rome")
      assert.is_nil((client:call("weather", { city = "Rome" })))
    end)
    assert.is_truthy(err.message:find("is left: all lines were played (what is played", 1, true), err.message)
    assert.are.equal(1, starts())
  end)

  it("is recorded once more in the mode extend where all equal ones were played", function()
    assert(talk("record", function(client) weather(client, "Rome") end))
    local function twice(client, tape)
      weather(client, "Rome")
      local other <close> = assert(connect(tape))
      weather(other, "Oslo")
      other:close()
    end
    assert(talk("extend", twice))
    assert.are.same({ 2, 2 }, { starts(), #kit.read().programs })
    assert(talk("replay", twice))
    local tape <close> = kit.open { mode = "replay" }
    for _ = 1, 2 do assert(connect(tape)):close() end
    local _, err = connect(tape)
    assert.is_truthy(err.message:find("is left: all equal ones were played (delete the file, or KOINE_CASSETTE=record",
      1, true), err.message)
    assert.are.equal(2, starts())
  end)

  it("is found by its command line", function()
    assert(talk("record", function() end))
    local tape <close> = kit.open { mode = "replay" }
    local _, err = connect(tape, { args = { "other" } })
    assert.are.same({ "connect", "cassette" }, { err.kind, err.code })
    assert.is_truthy(err.message:find('no recording of program', 1, true))
    assert.is_nil((tape:finish()))
    assert.are.equal(1, starts())
    assert(talk("extend", function(client) weather(client, "Rome") end, { args = { OPTIONS.args[1], SERVER .. " " } }))
    assert.are.same({ 2, 2 }, { starts(), #kit.read().programs })
    assert(talk("live", function(client) weather(client, "Oslo") end))
    assert.are.equal(3, starts())
  end)

  it("ends on the tape as it ended", function()
    local function leave(client)
      local _, err = client:call "leave"
      assert.are.same({ "connect", "closed" }, { err.kind, err.code })
      assert.is_truthy(err.message:find("exit code 3", 1, true), err.message)
      weather(client, "Rome")
    end
    assert(talk("record", leave))
    assert.are.equal(2, #kit.read().programs)
    assert.are.equal(3, kit.read().programs[1].ended.code)
    assert(talk("replay", leave))
    assert.are.equal(2, starts())
  end)

  it("is not kept with what looks like a credential, also in pieces", function()
    local script = [[tools.say = function(_, request)
      notify("notifications/message", { level = "info", data = "sk-ant-0123" })
      notify("notifications/message", { level = "info", data = "456789abcdefghij" })
      return text "ok"
    end]]
    local ok, err = talk("record", function(client) assert(client:call "say") end,
      { args = { OPTIONS.args[1], script } })
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("programs[1].lines (the joined text of came.params.data)", 1, true), err.message)
    assert.is_nil(kit.text())
  end)

  it("has paths replaced on the tape, and put back when it is played", function()
    local function at(path)
      return function(client)
        assert.are.equal("sunny in " .. path, weather(client, path):match "^[^,]*")
      end
    end
    assert(talk("record", at "/home/me/x", nil, { replace = { ["/home/me"] = "/home/user" } }))
    assert.is_nil(kit.text():find("/home/me", 1, true))
    assert(talk("replay", at "/home/you/x", nil, { replace = { ["/home/you"] = "/home/user" } }))
  end)

  it("logs on the tape what it logged, also at its end", function()
    local script = SERVER .. [[
      io.stderr:write("ready, ", os.getenv "API_TOKEN", "\n")
      tools.fall = function()
        io.stderr:write("out of cheese\n")
        os.exit(3)
      end
    ]]
    local function fall(said)
      return function(client)
        local _, err = client:call "fall"
        said[#said + 1] = err.message
      end
    end
    local live, played = {}, {}
    local function more(said)
      return { args = { OPTIONS.args[1], script }, on_log = function(line) said[#said + 1] = line end }
    end
    assert(talk("record", fall(live), more(live)))
    assert(talk("replay", fall(played), more(played)))
    assert.are.same({ "ready, [redacted]", "out of cheese", "fake: the server ended (exit code 3): out of cheese" },
      live)
    assert.are.same(live, played)
    assert.is_nil(kit.text():find(TOKEN, 1, true))
  end)

  it("says its own lines after what had been said before them", function()
    local order = {}
    local function talked(client)
      assert(client:call("weather", { city = "Rome" }))
      order[#order + 1] = "Rome"
      assert(client:call("weather", { city = "Oslo" }))
      order[#order + 1] = "Oslo"
    end
    local more = { on_progress = function() order[#order + 1] = "progress" end }
    assert(talk("record", talked, more))
    assert(talk("replay", talked, more))
    assert.are.same({ "progress", "Rome", "progress", "Oslo", "progress", "Rome", "progress", "Oslo" }, order)
  end)

  it("is no reason for a tape without end", function()
    local script = [[tools.flood = function()
      for i = 1, 70 do notify("notifications/message", { level = "info", data = ("x"):rep(1 << 20) }) end
      return text "ok"
    end]]
    local ok, err = talk("record", function(client) assert(client:call "flood") end,
      { args = { OPTIONS.args[1], script } })
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("the lines are longer than 64 MiB", 1, true), err.message)
    assert.is_nil(kit.text())
  end)

  it("needs a transport for programs", function()
    assert.are.equal("transport", raised(connect, { begin = print }).field)
    assert.are.equal("transport", raised(koine.mcp.connect, { name = "a", url = "http://127.0.0.1:1/",
      transport = { program = print } }).field)
    assert.are.equal("transport", raised(koine.acp.connect, { command = "x", transport = {} }).field)
  end)
end)

describe("an agent that is a program", function()
  local bench

  before_each(function()
    bench = acp_kit.bench()
    kit.begin()
  end)
  after_each(function()
    kit.restore()
    bench:close()
  end)

  it("is recorded and played, with its questions and their answers", function()
    local given = bench:options(acp_kit.OPTIONS .. [[prompt(function(words, id)
      text(id, "You said " .. words)
      local answer = ask("session/request_permission", { sessionId = id, toolCall = { toolCallId = "t" },
        options = OPTIONS })
      text(id, " and " .. answer.outcome.optionId)
      return "end_turn"
    end)]], { env = ENVIRONMENT, permission = "allow" })
    local function talk(mode, words)
      local tape <close> = kit.open { mode = mode }
      given.transport = tape
      local connection <close> = assert(koine.acp.connect(given))
      local session = assert(connection:new())
      local result, err = session:prompt(words)
      session:close()
      connection:close()
      local ok, problem = tape:finish()
      return result and result.text or err, ok, problem
    end
    local said, ok = talk("record", "hello")
    assert.are.same({ "You said hello\n\n and a", true }, { said, ok })
    local heard = #bench:heard()
    assert.are.same({ said, true }, { talk("replay", "hello") })
    local err, _, problem = talk("replay", "bye")
    assert.is_truthy(err.message:find('where params.prompt[1].text is "hello" and not "bye"', 1, true), tostring(err))
    assert.are.equal("cassette", problem.code)
    assert.are.equal(heard, #bench:heard())
  end)
end)
