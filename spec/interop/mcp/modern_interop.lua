-- A server of MCP 2026-07-28 on the official library, over both transports.

local core = require "koine.core"
local koine = require "koine"
local mcp = require "spec.interop.support.mcp"

-- Tests over one transport. `open(opts)` → a client.
local function judge(open, is_http)
  local function with(opts, f)
    local client <close> = open(opts)
    f(client)
  end

  local function call(client, name, arguments) return mcp.text(assert(client:call(name, arguments))) end

  it("is of the modern era", function()
    with({}, function(client)
      assert.same({ "modern", "2026-07-28", "Be careful." }, { client.era, client.version, client.instructions })
      assert.equal("modern", client.server and client.server.name)
      assert.is_table(client.capabilities.tools)
    end)
  end)

  it("takes any arguments", function()
    with({}, function(client)
      for _, value in ipairs { "x", 1.5, true, false, { a = { core.null } }, core.array {}, "世界\0" } do
        local said = call(client, "echo", { value = value })
        assert.equal(type(value) == "string" and value or core.encode(value), said)
      end
    end)
  end)

  it("is asked for much at once, and answers out of order", function()
    with({ concurrency = 20 }, function(client)
      koine.run(function()
        local order, tasks = {}, {}
        for i = 1, 3 do
          tasks[i] = koine.spawn(function()
            call(client, "slow", { ms = (4 - i) * 150 })
            order[#order + 1] = i
          end)
        end
        for _, task in ipairs(tasks) do task:wait() end
        assert.same({ 3, 2, 1 }, order)
      end)
    end)
  end)

  it("tells its progress", function()
    with({}, function(client)
      local seen = {}
      assert(client:call("slow", { ms = 90 }, { on_progress = function(told) seen[#seen + 1] = told.progress end }))
      assert.same({ 1, 2, 3 }, seen)
      assert.equal("timeout", select(2, client:call("slow", { ms = 60000 }, { timeout = 0.1 })).kind)
      assert.equal("after", call(client, "echo", { value = "after" }))
    end)
  end)

  it("is told when a call is given up", function()
    with({}, function(client)
      local before = tonumber(call(client, "given_up"))
      assert.equal("timeout", select(2, client:call("slow", { ms = 60000 }, { timeout = 0.2 })).kind)
      local after
      for _ = 1, 1000 do
        after = tonumber(call(client, "given_up"))
        if after > before then break end
      end
      assert.equal(before + 1, after)
    end)
  end)

  it("tells of changes to each who listens", function()
    with({}, function(client)
      koine.run(function()
        local heard, agreed = { {}, {} }, 0
        local function listen(i, opts)
          opts.on_open = function() agreed = agreed + 1 end
          opts.on_change = function(kind, uri) heard[i][#heard[i] + 1] = uri or kind end
          return koine.spawn(function() return client:listen(opts) end)
        end
        local tasks = { listen(1, { tools = true }), listen(2, { uris = { "memo://page" } }) }
        koine.timeout(10, function()
          while agreed < 2 do koine.sleep(0.01) end
          call(client, "touch")
          while #heard[1] == 0 or #heard[2] == 0 do koine.sleep(0.01) end
        end)
        assert.same({ { "tools" }, { "memo://page" } }, heard)
        for _, task in ipairs(tasks) do task:cancel() end
      end)
    end)
  end)

  it("asks for input inside its results", function()
    local asked = {}
    with({ roots = { { uri = "file:///home/judge" } }, sampling = function(request)
      asked.system = request.system
      return "Paris."
    end, on_elicit = function(request)
      asked[#asked + 1] = request.mode
      return { action = "accept", content = request.mode == "form" and { name = "Ada" } or nil }
    end }, function(client)
      local said = core.decode(call(client, "ask", { kinds = core.array { "form", "url", "model", "roots" } }))
      assert.equal("state of form,url,model,roots", said.state)
      assert.same({ action = "accept", content = { name = "Ada", age = 30 } }, said.answers["key/0"])
      assert.same({ action = "accept" }, said.answers["key/1"])
      assert.equal("Paris.", said.answers["key/2"].content.text)
      assert.equal("file:///home/judge", said.answers["key/3"].roots[1].uri)
      assert.same({ "form", "url", system = "Be brief." }, asked)
    end)
  end)

  it("asks for no more than 10 rounds, and only what was declared", function()
    with({ roots = {} }, function(client)
      assert.equal("limit", select(2, client:call("rounds", {})).kind)
      local result, err = client:call("ask", { kinds = core.array { "form" } })
      assert.is_nil(result)
      assert.same({ "-32021", { elicitation = { form = {} } } }, { err.code, err.required })
      local said = core.decode(call(client, "ask", { kinds = core.array { "roots" } }))
      assert.same({ ["key/0"] = { roots = {} } }, said.answers)
    end)
  end)

  it("has resources and prompts", function()
    with({}, function(client)
      assert.equal("memo://page", assert(client:resources())[1].uri)
      assert.equal("a page", assert(client:read "memo://page")[1].text)
      assert.equal("not_found", select(2, client:read "memo://nowhere").kind)
      assert.equal("Greet Ada.", assert(client:prompt("greet", { name = "Ada" }))[1].content[1].text)
      local result, err = client:call("no-such-tool", {})
      assert.is_nil(result)
      assert.equal("-32602", err.code)
    end)
  end)

  it("gives tools that an agent calls", function()
    with({}, function(client)
      local book = koine.testing.playbook { steps = {
        { step = 1, type = "answer", content = { { type = "tool_use", id = "c1", name = "judge_echo",
          arguments_json = '{"value":{"big":1152921504606846976,"none":null}}' } } },
        { step = 2, type = "message", content = "Done." } } }
      assert(koine.agent { adapter = book, tools = client:tools() }:run "Go.")
      local said = core.encode(book.call_log[2].messages[3].content[1].content):gsub("\\", "")
      assert.matches('{"big":1152921504606847000,"none":null}', said, 1, true) -- as JavaScript reads the number
    end)
  end)

  if is_http then
    it("is told parameters by headers", function()
      with({}, function(client)
        client:tools()
        local headers = core.decode(call(client, "mirror", { region = "Hello, 世界", level = 7 }))
        assert.equal("=?base64?SGVsbG8sIOS4lueVjA==?=", headers["mcp-param-region"])
        assert.equal("7", headers["mcp-param-level"])
        assert.same({ "tools/call", "mirror", "2026-07-28" },
          { headers["mcp-method"], headers["mcp-name"], headers["mcp-protocol-version"] })
      end)
    end)
  end
end

describe("@modelcontextprotocol/server over standard input and output", function()
  judge(function(opts) return mcp.connect(mcp.modern(), opts) end)
end)

describe("@modelcontextprotocol/server over HTTP", function()
  local server

  setup(function() server = mcp.modern_http() end)
  teardown(function() server:stop() end)

  judge(function(opts) return mcp.connect({ url = server.answer }, opts) end, true)
end)
