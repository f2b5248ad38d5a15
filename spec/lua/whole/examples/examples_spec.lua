-- Every example, run as a reader would run it, with the loopback provider in the place of the real ones; those with
-- values and vectors are in output_spec.lua.
local embed = require "spec.lua.whole.embed"
local kit = require "spec.lua.whole.examples.kit"
local koine = require "koine"
local lfs = require "lfs"
local redis = require "spec.lua.store.redis.server"
local rows = require "koine.provider"
local socket = require "socket"

local LUA, WITH_KEYS, output_of = kit.LUA, kit.WITH_KEYS, kit.output_of
local WITHOUT = "env -u ANTHROPIC_API_KEY -u OPENAI_API_KEY -u KOINE_BASE_URL "
local ELSEWHERE = "AWS_REGION=eu-west-1 GOOGLE_CLOUD_PROJECT=p GOOGLE_CLOUD_LOCATION=global"

describe("the example", function()
  local server
  local tested = {}

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  -- Runs examples/NAME.lua against the script and returns what it printed; `input` is its standard input.
  local function run(name, answers, arguments, input)
    tested[name] = true
    assert(server:script(answers))
    local text, ok = output_of(("printf '%s' | "):format(input or "") .. WITH_KEYS:format(server.url)
      .. ("%s examples/%s.lua %s"):format(LUA, name, arguments or ""))
    assert.is_true(ok, text)
    local requests = assert(server:requests())
    for _, request in ipairs(requests) do assert.are.same({}, request.problems) end
    return text, requests
  end

  it("ask asks", function()
    local text = run("ask", { { content = "Rayleigh scattering.", usage = { input_tokens = 7, output_tokens = 9 },
      model = "m-1" } })
    assert.are.equal("Rayleigh scattering.\n[m-1, end_turn: 7 tokens in, 9 out]\n", text)
    local _, requests = run("ask", { { content = "Yes." } }, "openai/gpt-4.1 'Is it?'")
    assert.is_truthy(requests[2].body:find("Is it?", 1, true))
    assert.are.equal("Bearer test-key-2", requests[2].headers.authorization)
  end)

  it("stream prints the answer as it is written", function()
    assert.are.equal("A small language.\n", (run("stream", { { content = "A small language.", chunk = 3 } })))
  end)

  it("tools runs what the model calls until it is done", function()
    local text, requests = run("tools", {
      { content = { { type = "tool_use", name = "add", arguments_json = '{"a": 19, "b": 23}' } } },
      { content = { { type = "tool_use", name = "add", arguments_json = '{"a": 1.5, "b": 1}' } } },
      { content = "It is 42." },
    })
    assert.are.equal('called\tadd\t{"a": 19, "b": 23}\t=>\t42\n'
      .. 'called\tadd\t{"a": 1.5, "b": 1}\t=>\t2.5\nIt is 42.\n', text)
    assert.are.equal(3, #requests)
    assert.is_truthy(requests[3].body:find('"content":"2.5"', 1, true))
  end)

  it("agent runs its tools until the model is done", function()
    local usage = { input_tokens = 50, output_tokens = 10 }
    local text, requests = run("agent", {
      { content = { { type = "tool_use", name = "weather", arguments = { city = "Paris" } },
        { type = "tool_use", name = "convert", arguments = { celsius = 18 } } }, usage = usage },
      { content = "64 degrees, and rain.", usage = usage },
    })
    assert.are.equal('  -> weather({"city":"Paris"})\n  -> convert({"celsius":18})\n'
      .. "  <- 18 degrees and rain in Paris\n  <- 64.4\n64 degrees, and rain.\n"
      .. "[completed; 2 model calls, 100 tokens in, 20 out]\n", text)
    assert.are.equal(2, #requests)
  end)

  it("mcp_agent has the tools of two servers, which end with it", function()
    tested.mcp_agent = true
    local function call(name, arguments) return { type = "tool_use", name = name, arguments = arguments } end
    assert(server:script { { content = { call("memory_search_nodes", { query = "poems" }),
      call("files_list_directory", { path = "poems" }) } },
      { content = { call("files_read_text_file", { path = "poems/poem.txt" }),
        call("memory_create_entities", { entities = { { name = "poem" } } }) } },
      { content = "A poem." } })
    local text, ok = output_of(WITH_KEYS:format(server.url)
      .. ("PATH=spec/lua/whole/examples:$PATH %s examples/mcp_agent.lua anthropic/m poems"):format(LUA))
    assert.is_true(ok, text)
    local said = text:gsub("  %(%a+: running on stdio%)\n", "")
    assert.are.equal('  -> memory_search_nodes({"query":"poems"})\n  -> files_list_directory({"path":"poems"})\n'
      .. '  <- {"entities":[]}\n  <- [FILE] poems/poem.txt\n'
      .. '  -> files_read_text_file({"path":"poems/poem.txt"})\n'
      .. '  -> memory_create_entities({"entities":[{"name":"poem"}]})\n'
      .. "  <- What is in poems/poem.txt\n  <- 1 remembered\nA poem.\n", said)
    local requests = assert(server:requests())
    local names = {}
    for name in requests[1].body:gmatch '"name":"([%w_]+)"' do names[name] = true end
    assert.is_nil(names.files_write_file)
    assert.is_true(names.files_read_text_file and names.memory_create_entities)
    for _, request in ipairs(requests) do assert.are.same({}, request.problems) end
  end)

  it("mcp_server adds numbers for a client", function()
    tested.mcp_server = true
    local notes <close> = assert(koine.mcp.connect { name = "notes", command = LUA,
      args = { "examples/mcp_server.lua" } })
    assert.are.equal("5", assert(notes:call("add", { a = 2, b = 3 })).content[1].text)
  end)

  it("approve asks before it deletes", function()
    local function delete(path) return { type = "tool_use", name = "delete", arguments = { path = path } } end
    local text, requests = run("approve", { { content = { delete "/tmp/a.txt", delete "/home/a", delete "/home/b" } },
      { content = "As you wish." } }, "", "y\\nnot that one\\n")
    assert.are.equal('delete({"path":"/home/a"})? delete({"path":"/home/b"})? ran:\t{"path":"/tmp/a.txt"}\n'
      .. 'ran:\t{"path":"/home/a"}\ndid not run:\t{"path":"/home/b"}\nAs you wish.\n', text)
    assert.is_truthy(requests[2].body:find("denied: not that one", 1, true))
  end)

  it("resume goes on after its process was killed, and counts no sheep twice", function()
    local file = os.tmpname()
    os.remove(file)
    local function count(n)
      return { content = { { type = "tool_use", name = "count", arguments = { sheep = n } } } }
    end
    assert(server:script { count(1), count(2), count(3), { content = "Three sheep." } })
    local command = WITH_KEYS:format(server.url) .. ("%s examples/resume.lua %s"):format(LUA, file)
    local text, ok = output_of(command .. " anthropic/claude-sonnet-4-5 2")
    assert.is_false(ok)
    assert.is_truthy(text:find "^counting sheep 1\ncounting sheep 2\n") -- and perhaps what the shell says of the kill
    tested.resume = true
    text, ok = output_of(command)
    assert.is_true(ok, text)
    assert.are.equal('going on after 2 model calls\ncounting sheep 3\n{"sheep":1}\tdone\n{"sheep":2}\tinterrupted\n'
      .. '{"sheep":3}\tdone\nThree sheep.\n', text)
    for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
    assert.is_nil(lfs.attributes(file))
  end)

  it("conversation remembers, and survives a failure", function()
    local text, requests = run("conversation", {
      { content = "Hello to you." }, { error = { status = 400, message = "no such thing" } },
      { content = "You said hi." },
    }, "", "hi\\noops\\nwhat did I say?\\n\\nnot read\\n")
    assert.are.equal("> Hello to you.\n> \n[no such thing]\n> You said hi.\n> ", text)
    assert.are.equal(3, #requests)
    assert.is_truthy(requests[3].body:find("Hello to you.", 1, true))
    assert.is_nil(requests[3].body:find("oops", 1, true))
  end)

  describe("switch_provider goes on with another", function()
    local RIVER, CITIES = "The Loire.", "Nantes and Tours."

    -- Runs it with two rows' environments, and returns what it printed and the two requests.
    local function switch(first, second, arguments)
      tested.switch_provider = true
      assert(server:reset())
      assert(server:script { { content = RIVER }, { content = CITIES } })
      local one, forget_one = kit.environment(server, first, "test-key-1")
      local two, forget_two = kit.environment(server, second, "test-key-2")
      local text, ok = output_of(("env KOINE_BASE_URL='%s' KOINE_SECOND_BASE_URL='%s' %s %s %s "
        .. "%s examples/switch_provider.lua %s"):format(server.url .. kit.path_of(first), server.url
        .. kit.path_of(second),
        one, two, ELSEWHERE, LUA, arguments))
      forget_one()
      forget_two()
      assert.is_true(ok, text)
      local requests = {}
      for _, request in ipairs(assert(server:requests())) do
        assert.are.same({}, request.problems)
        if request.path ~= "/token" then requests[#requests + 1] = request end
      end
      assert.are.equal(2, #requests)
      assert.are.equal(("%s: %s\n%s: %s\n"):format(first.title, RIVER, second.title, CITIES), text)
      assert.is_truthy(requests[2].body:find(RIVER, 1, true))
      return requests
    end

    it("by default", function()
      local requests = switch(rows.load "anthropic", rows.load "openai", "")
      assert.are.same({ "/v1/messages", "/v1/responses" }, { requests[1].path, requests[2].path })
    end)

    local of_wire, wires = {}, {}
    for _, name in ipairs(rows.names) do
      local row = rows.load(name)
      local wire = kit.wire_of(row)
      if not of_wire[wire] and row.base_url and not row.login then
        of_wire[wire], wires[#wires + 1] = row, wire
      end
    end
    for _, from in ipairs(wires) do
      it("from " .. from .. " to every other wire format", function()
        for _, to in ipairs(wires) do
          local first, second = of_wire[from], of_wire[to]
          if from ~= to then switch(first, second, ("%s/some-model %s/some-model"):format(first.name, second.name)) end
        end
      end)
    end

    it("over all wire formats that there are", function() assert.are.same({}, kit.missing(of_wire)) end)
  end)

  it("custom_adapter answers without a network", function()
    local text, requests = run("custom_adapter", {})
    assert.are.equal("> hello\nHello to you.\n> What is Koine?\nYou said: What is Koine?\n> bye\nGood bye.\n", text)
    assert.are.equal(0, #requests)
  end)

  it("demo runs one loop against two wires", function()
    tested.demo = true
    local text, ok = output_of(WITHOUT .. LUA .. " examples/demo.lua")
    assert.is_true(ok, text)
    local anthropic, openai = text:match "^(%-%-%- Anthropic, .-)(%-%-%- OpenAI, .*)$"
    for _, part in ipairs { anthropic, openai } do
      assert.is_truthy(part:find("Let me look. \n  -> weather({\"city\":\"Paris\"})\n"
        .. "  <- 18 degrees and rain in Paris\nYes: it is raining in Paris, at 18 degrees. Take the umbrella.\n"
        .. "[end_turn; 233 tokens in, 38 out]", 1, true))
    end
  end)

  describe("any_provider is the same on", function()
    local ANSWERS = {
      { content = { { type = "text", text = "Let me look. " },
        { type = "tool_use", name = "weather", arguments_json = '{"city": "Paris"}' } },
        usage = { input_tokens = 92, output_tokens = 21 }, chunk = 4 },
      { content = "Yes: take one.", usage = { input_tokens = 141, output_tokens = 17 }, chunk = 3 },
    }
    local SAME = "\nLet me look. \n  -> weather({\"city\": \"Paris\"})\n  <- 18 degrees and rain in Paris\n"
      .. "\n[tool_use; 92 tokens in, 21 out]\nYes: take one.\n[end_turn; 141 tokens in, 17 out]\n"

    local function check(row)
      assert(server:script(ANSWERS))
      local model = row.own_ids and "maker/some-model" or "some-model" -- there one without a maker has another name
      local variable, forget = kit.environment(server, row, "test-key-3")
      local command = ("env KOINE_BASE_URL='%s' %s %s %s examples/any_provider.lua %s/%s"):format(
        server.url .. kit.path_of(row), ELSEWHERE, variable, LUA, row.name, model)
      local text, ok = output_of(command)
      forget()
      assert.is_true(ok, text)
      local unasked = row.quirks and row.quirks.no_stream_usage -- and the loopback provider tells when asked
      assert.are.equal(("--- %s, %s"):format(row.title, model)
        .. (unasked and SAME:gsub("%d+ tokens in, %d+", "? tokens in, ?") or SAME), text)
      local chats = 0
      for _, request in ipairs(assert(server:requests())) do
        assert.are.same({}, request.problems)
        if request.path ~= "/token" then chats = chats + 1 end
      end
      assert.are.equal(2, chats)
      tested.any_provider = true
    end

    local wires = {}
    for _, name in ipairs(rows.names) do
      local row = rows.load(name)
      wires[kit.wire_of(row)] = true
      if not row.login and row.chat ~= false then it(row.title, function() check(row) end) end
    end

    it("every wire format that there is", function() assert.are.same({}, kit.missing(wires)) end)

    it("the provider that KOINE_MODEL names, else the first with a key", function()
      assert(server:script(ANSWERS))
      local unset = { "env -u KOINE_MODEL" }
      for _, provider in ipairs(koine.providers()) do
        for _, variable in ipairs(provider.env) do unset[#unset + 1] = "-u " .. variable end
      end
      unset = table.concat(unset, " ")
      local command = unset .. " KOINE_BASE_URL=%s OPENAI_API_KEY=test-key-2 %s%s examples/any_provider.lua"
      local text, ok = output_of(command:format(server.url .. "/v1", "KOINE_MODEL=openai/gpt-x ", LUA))
      assert.is_true(ok, text)
      assert.are.equal("--- OpenAI, gpt-x" .. SAME, text)
      assert(server:script(ANSWERS))
      text, ok = output_of(command:format(server.url .. "/v1", "", LUA))
      assert.is_true(ok, text)
      assert.are.equal("--- OpenAI, gpt-4.1" .. SAME, text)
      text, ok = output_of(unset .. " " .. LUA .. " examples/any_provider.lua")
      assert.is_false(ok)
      assert.is_truthy(text:find("name a provider, as in ", 1, true), text)
    end)
  end)

  it("login logs in once, tells the quotas, and logs out", function()
    tested.login = true
    local github <close> = assert(koine.testing.start { copilot = { interval = 0.01 } })
    local directory = os.tmpname()
    os.remove(directory)
    local command = ("env -u GH_COPILOT_TOKEN -u CODESPACES KOINE_GITHUB_HOST=%s XDG_CONFIG_HOME=%s "
      .. "%s examples/login.lua "):format(github.url, directory, LUA)
    local quotas = "Logged in.\n  Premium requests ok        250 of 300 left\n  Chat             ok        no limit\n"
      .. "  Completions      ok        no limit\n"
    assert.are.equal(("Open %s/login/device and enter the code KOIN-0001 (within 15 minutes).\n"):format(github.url)
      .. quotas, (output_of(command)))
    assert.are.equal(quotas, (output_of(command)))
    assert.are.equal("Logged out.\n", (output_of(command .. "logout")))
    assert.is_nil(lfs.attributes(directory .. "/koine/copilot_github_token"))
    assert(os.execute("rm -r " .. directory))
  end)

  it("three_providers says the same on each of them", function()
    tested.three_providers = true
    local host <close> = assert(koine.testing.start { copilot = {} })
    local directory = os.tmpname()
    os.remove(directory)
    local usage, answers = { input_tokens = 1000, output_tokens = 100, cache_read_tokens = 0 }, {}
    for i = 1, 3 do answers[i] = { content = "The common Greek.", usage = usage } end
    assert(host:script(answers))
    local text, ok = output_of(WITH_KEYS:format(host.url) .. ("GH_COPILOT_TOKEN=ghu_loopback XDG_CONFIG_HOME=%s "
      .. "%s examples/three_providers.lua"):format(directory, LUA))
    assert.is_true(ok, text)
    assert.are.equal("Anthropic (claude-sonnet-4-5): The common Greek.\n"
      .. "  [end_turn; 1000 tokens in, 100 out, 0.004500 USD]\n"
      .. "GitHub Copilot (gpt-4.1): The common Greek.\n  [end_turn; 1000 tokens in, 100 out, price unknown]\n"
      .. "OpenAI (gpt-4.1): The common Greek.\n  [end_turn; 1000 tokens in, 100 out, 0.002800 USD]\n", text)
    os.execute("rm -rf " .. directory)
    local none = output_of(("%s-u GH_COPILOT_TOKEN -u CODESPACES XDG_CONFIG_HOME=%s "):format(WITHOUT, directory)
      .. LUA .. " examples/three_providers.lua")
    assert.are.equal("Anthropic: no key, no login\nGitHub Copilot: no key, no login\nOpenAI: no key, no login\n", none)
  end)

  it("chat_bridge answers two people and a bot in two turns", function()
    local expected = "alice: Shall we deploy today?\nagent: (reads alice's message)\n"
      .. "bob:   I would rather not. Why not?\nci:    build 117 failed\nagent: %s\n[a turn of 1, alice]\n"
      .. "agent: (reads bob's message)\nagent: (reads ci's message)\nagent: %s\n[a turn of 2, bob and ci]\n"
    local text, requests = run("chat_bridge", { { content = "Perhaps." }, { content = "No." } })
    assert.are.equal(expected:format("Perhaps.", "No."), text)
    assert.are.equal(2, #requests)
    local second = require("cjson").decode(requests[2].body).messages
    assert.are.same({ 3, "I would rather not. Why not?", "build 117 failed" },
      { #second, second[3].content[2].text, second[3].content[4].text })
    assert.is_truthy(second[3].content[3].text:find('"is_bot":true', 1, true))
    assert.are.equal(expected:format("Only if the build is green, Alice. Is it?",
      "Then no, Bob: build 117 failed, as ci says. Let us wait for 118."),
      (output_of(WITHOUT .. LUA .. " examples/chat_bridge.lua")))
  end)

  it("coding_session repairs a program in a repository", function()
    tested.coding_session = true
    local text, ok = output_of(WITHOUT .. LUA .. " examples/coding_session.lua")
    assert.is_true(ok, text)
    assert.are.equal("I run the test first.\n  -> bash {\"command\":\"sh test.sh\"}\n  <- failed\n     [exit code 1]\n"
      .. "  -> edit_file {\"new_str\":\"$1 + $2\",\"old_str\":\"$1 - $2\",\"path\":\"add.sh\"}\n"
      .. "  -> bash {\"command\":\"sh test.sh\"}\n  <- Edited add.sh at line 1.\n  <- passed\n"
      .. "It subtracted. Now it adds, and the test passes.\n[completed; 3950 tokens in, 150 out, 0.0141 USD]\n"
      .. "changed: add.sh\n", text)
  end)

  -- The three questions of a host's example, in whatever order they were answered.
  local function assert_three(name, command)
    tested[name] = true
    assert(server:script "echo")
    local text, ok = output_of("(" .. WITH_KEYS:format(server.url) .. command .. " 2>/dev/null)")
    assert.is_true(ok, text)
    local lines = {}
    for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
    table.sort(lines)
    assert.are.same({ "Name a mountain.\tYou said: Name a mountain.", "Name a river.\tYou said: Name a river.",
      "Name a sea.\tYou said: Name a sea." }, lines)
  end
  for _, name in ipairs { "cqueues_loop", "luv_loop" } do
    it(name .. " asks three at once", function() assert_three(name, ("%s examples/%s.lua"):format(LUA, name)) end)
  end

  it("embed asks three at once, from C, and tells what went wrong", function()
    local program = embed()
    assert_three("embed", program .. " examples/embed/chat.lua")
    local text, ok = output_of(WITHOUT .. program .. " examples/embed/chat.lua")
    assert.is_false(ok)
    assert.is_truthy(text:find("ANTHROPIC_API_KEY", 1, true), text)
    assert.is_truthy(text:find("stack traceback:", 1, true), text)
  end)

  it("poll answers clients by the line", function()
    tested.poll = true
    assert(server:script "echo")
    local pipe = assert(io.popen(WITH_KEYS:format(server.url) .. LUA .. " examples/poll.lua 2>&1"))
    local said = pipe:read "l"
    local port = assert(said:match "^listening on port (%d+)$", said)
    local first = assert(socket.connect("127.0.0.1", port))
    local second = assert(socket.connect("127.0.0.1", port))
    assert(second:send "Who is th")
    assert(first:send "Hello.\n")
    assert.are.equal("You said: Hello.", assert(first:receive()))
    assert(second:send "ere?\nquit\n")
    assert.are.equal("You said: Who is there?", assert(second:receive()))
    first:close()
    second:close()
    assert.are.equal("", pipe:read "a")
    assert.is_true(pipe:close())
  end)

  it("frames shows what was said so far, a frame at a time", function()
    local text = run("frames", "echo")
    local last
    for screen in text:gmatch "frame %d+: ([^\n]*)\n" do last = screen end
    assert.are.equal("You said: Greet a traveller. | You said: Warn a traveller.", last)
    assert.is_truthy(text:find "the end, after %d+ frames\n$")
  end)

  it("editor_agent serves an editor", function()
    local function line(id, method, params)
      return ('{"id":%d,"jsonrpc":"2.0","method":"%s","params":{%s}}\n'):format(id, method, params)
    end
    local text = run("editor_agent", {}, "", (line(1, "initialize", '"protocolVersion":1')
      .. line(2, "session/new", '"cwd":"/","mcpServers":[]')):gsub("%%", "%%%%"))
    assert.is_truthy(text:find('"name":"example","title":"An example","version":"1.0"', 1, true), text)
    assert.is_truthy(text:find('"currentModeId":"ask"', 1, true), text)
  end)

  it("that has no key says which variable to set", function()
    local text, ok = output_of(WITHOUT .. LUA .. " examples/ask.lua")
    assert.is_false(ok)
    assert.is_truthy(text:find("ANTHROPIC_API_KEY", 1, true))
  end)

  for _, engine in ipairs { "redis", "file" } do
    it("cluster loses nothing when one of its processes is killed, on " .. engine, function()
      local argument = engine == "file" and " file" or ""
      if engine == "redis" and redis.missing then return pending(redis.missing) end
      local text, ok = output_of(WITHOUT .. LUA .. " examples/cluster/cluster.lua" .. argument)
      assert.is_true(ok, text)
      assert.is_truthy(text:find("^engine: " .. engine .. " %S+\n30 messages in 5 threads\nkilled: worker [ABC], "),
        text)
      assert.is_truthy(text:find("\n30 of 30 messages are in the histories, 0 twice\n$"), text)
    end)
  end

  it("is here for every file", function()
    for file in lfs.dir "examples" do
      local name = file:match "^(.*)%.lua$"
      assert.is_true(not name or tested[name] or kit.OUTPUT[name] or kit.AGENTS[name] or false,
        file .. " is not run by this spec")
    end
  end)
end)
