-- Tools of the provider's own beside the caller's, on every wire, against the loopback provider, which knows what types
-- there are and what a tool of each kind has.

local core = require "koine.core"
local koine = require "koine"

local TIDE = { name = "tide", description = "The tide.", parameters = { type = "object", properties = {} } }

local SCHEMA = { type = "object", properties = {} }
local NEW = { type = "brand_new_20270101", name = "new", options = { x = koine.array {} } }

-- The list of tools as most wires have it.
local function in_order(own, server) return own and { own, server } or { server } end
local function tools_of(body) return body.tools end

-- Per wire: a tool that it knows (`bare`), how that and one of an unknown type (`new`) are written, a caller's own,
-- and the list of both; `known` and `unknown` types. `open`: it knows none, so koine.server_tool alone makes them.
local WIRES = {
  { api = "anthropic", bare = { type = "web_search_20250305", name = "web_search", max_uses = 2,
    allowed_domains = { "a.test" } }, known = "web_search_DATE", unknown = "web_search",
    own = { name = "tide", description = "The tide.", input_schema = SCHEMA } },
  { api = "responses", bare = { type = "web_search", search_context_size = "low" }, known = "code_interpreter",
    unknown = "x_search", own = { type = "function", name = "tide", description = "The tide.", strict = false,
      parameters = SCHEMA } },
  { api = "chat", bare = { type = "custom", custom = { name = "shell" } }, known = "custom", unknown = "browser_search",
    own = { type = "function", ["function"] = { name = "tide", description = "The tide.", parameters = SCHEMA } } },
  { api = "gemini", bare = { type = "googleSearch", timeRangeFilter = { startTime = "2026-01-01T00:00:00Z" } },
    written = { googleSearch = { timeRangeFilter = { startTime = "2026-01-01T00:00:00Z" } } },
    new = { brand_new_20270101 = { name = "new", options = { x = {} } } }, known = "urlContext",
    unknown = "google_search",
    own = { name = "tide", description = "The tide." }, base = "/v1beta", model = "gemini-3.5-flash",
    list = function(own, server)
      local declared = own and { functionDeclarations = { own } }
      return server and { server, declared } or { declared }
    end },
  { api = "bedrock", bare = { type = "systemTool", name = "nova_grounding" },
    written = { systemTool = { name = "nova_grounding" } }, known = "systemTool", unknown = "web_search",
    new = { brand_new_20270101 = { name = "new", options = { x = {} } } }, model = "amazon.nova-2-lite-v1:0", base = "",
    own = { toolSpec = { name = "tide", description = "The tide.", inputSchema = { json = SCHEMA } } },
    tools = function(body) return body.toolConfig.tools end },
  { api = "ollama", open = true, known = "koine.server_tool", unknown = "web_search", model = "qwen3:4b", base = "",
    own = { type = "function", ["function"] = { name = "tide", description = "The tide.", parameters = SCHEMA } } },
}
for _, wire in ipairs(WIRES) do
  wire.list, wire.tools = wire.list or in_order, wire.tools or tools_of
  wire.written = wire.written or wire.bare
  wire.new = wire.new or { type = NEW.type, name = NEW.name, options = { x = {} } }
end

describe("tools of a provider's own", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    assert(server:script { { content = "a" }, { content = "b" }, { content = "c" } })
  end)

  local function adapter(wire)
    if wire.model then
      return koine[wire.api] { model = wire.model, key = "test-key", retry = false, base_url = server.url .. wire.base }
    end
    return koine.compatible { name = "one", api = wire.api, model = "m", key = "test-key", retry = false,
      base_url = wire.api == "anthropic" and server.url or server.url .. "/v1" }
  end

  -- Asks with these tools; the body that was sent, the Response, and what the provider had against it.
  local function asked(wire, tools, options)
    local all = { tools = tools, max_tokens = 100 }
    for name, value in pairs(options or {}) do all[name] = value end
    local response, err = adapter(wire):chat("Hi", all)
    local requests = assert(server:requests())
    return core.decode(requests[#requests].body), response, err
  end

  local function copy(t, more)
    local made = {}
    for _, from in ipairs { t, more or {} } do
      for name, value in pairs(from) do made[name] = value end
    end
    return made
  end

  for _, wire in ipairs(WIRES) do
    describe(wire.api, function()
      if not wire.open then
        it("go out beside the caller's, as they are", function()
          local body, response = assert(asked(wire, { TIDE, copy(wire.bare, { run = print }) }))
          assert.are.same(wire.list(wire.own, wire.written), wire.tools(body))
          assert.are.same({}, response.warnings)
        end)

        it("go out alone", function()
          local body, response = asked(wire, { wire.bare })
          assert.is_truthy(response)
          assert.are.same(wire.list(nil, wire.written), wire.tools(body))
        end)
      end

      it("of an unknown type are refused, with those known", function()
        local ok, err = pcall(asked, wire, { TIDE, { type = wire.unknown, name = "x" } })
        assert.is_false(ok)
        assert.are.same({ "ArgumentError", "tools[2].type" }, { err.class, err.field })
        assert.is_truthy(err.message:find(wire.known, 1, true), err.message)
        assert.is_truthy(err.message:find("koine.server_tool", 1, true), err.message)
        assert.are.same({}, assert(server:requests()))
      end)

      it("made by koine.server_tool pass whatever their type", function()
        local body = asked(wire, { TIDE, koine.server_tool(NEW) })
        assert.are.same(wire.list(wire.own, wire.new), wire.tools(body))
      end)

      it("do not make the caller's own of type function theirs", function()
        local body = asked(wire, { copy(TIDE, { type = "function" }) })
        assert.are.same(wire.list(wire.own), wire.tools(body))
      end)

      it("have names of their own", function()
        local ok, err = pcall(asked, wire, { TIDE, koine.server_tool { type = "x_20270101", name = "tide" } })
        assert.are.same({ false, "tools[2].name" }, { ok, err.field })
      end)

      it("have a type that is a word", function()
        local ok, err = pcall(asked, wire, { { type = 7, name = "x" } })
        assert.are.same({ false, "tools[1].type" }, { ok, err.field })
      end)
    end)
  end

  it("are known by what stands before their date", function()
    for type_, known in pairs { web_search_20991231 = true, tool_search_tool_bm25 = true,
      tool_search_tool_bm25_20251119 = true, mcp_toolset = true, web_search_latest = false, web_search_ = false,
      web_searching_20250305 = false } do
      local ok = pcall(asked, WIRES[1], { { type = type_, name = type_ ~= "mcp_toolset" and "x" or nil } })
      assert.are.equal(known, ok, type_)
    end
    for type_, known in pairs { web_search_2025_08_26 = true, web_search_preview = true, web_search_next = false } do
      assert.are.equal(known, (pcall(asked, WIRES[2], { { type = type_ } })), type_)
    end
  end)

  it("can be chosen", function()
    local choice = { tool_choice = { type = "tool", name = "web_search" } }
    local body, response = asked(WIRES[1], { TIDE, WIRES[1].bare }, choice)
    assert.is_truthy(response)
    assert.are.same({ type = "tool", name = "web_search" }, body.tool_choice)
    body, response = asked(WIRES[2], { TIDE, WIRES[2].bare }, choice)
    assert.is_truthy(response)
    assert.are.same({ type = "web_search" }, body.tool_choice)
    body, response = asked(WIRES[2], { TIDE, { type = "custom", name = "shell" } },
      { tool_choice = { type = "tool", name = "shell" } })
    assert.are.same({ type = "custom", name = "shell" }, body.tool_choice)
    assert.is_truthy(response)
  end)

  it("carry cache marks where there are any, and nowhere else", function()
    local mark = { cache_control = { type = "ephemeral" } }
    assert.are.same(mark.cache_control, asked(WIRES[1], { copy(WIRES[1].bare, mark) }).tools[1].cache_control)
    assert.are.same(mark.cache_control, asked(WIRES[1], { WIRES[1].bare },
      { cache_retention = "short" }).tools[1].cache_control)
    for _, wire in ipairs(WIRES) do
      if not wire.open and wire.api ~= "anthropic" then
        assert.are.same(wire.list(nil, wire.written), wire.tools((asked(wire, { copy(wire.bare, mark) }))))
      end
    end
  end)

  it("are not mistaken for calls that a model leaks", function()
    local leaky = koine.compatible { name = "one", model = "m", key = "k", base_url = server.url .. "/v1",
      quirks = { leaked_calls = true } }
    assert(server:script { { content = '<invoke name="shell"></invoke>' } })
    local response = assert(leaky:chat("Hi", { tools = { WIRES[3].bare, TIDE } }))
    assert.are.same({}, response.tool_calls)
  end)

  it("go with an agent, which runs those that have a run", function()
    local ran = {}
    local bash = { type = "bash_20250124", name = "bash", timeout = 5, run = function(arguments)
      ran[#ran + 1] = arguments.command
      return "ok"
    end }
    assert(server:script { { content = { { type = "tool_use", name = "bash", arguments = { command = "ls" } },
      { type = "tool_use", name = "web_search", arguments = {} } } }, { content = "Done." } })
    local tide = koine.tool { type = "function", name = "tide", description = "The tide.",
      run = function() return "low" end }
    local run = assert(koine.agent { adapter = adapter(WIRES[1]), options = { max_tokens = 100 },
      tools = { tide, bash, koine.server_tool(WIRES[1].bare) } }:run "Look.")
    assert.are.equal("Done.", run.text)
    assert.are.same({ "ls" }, ran)
    local requests = assert(server:requests())
    for _, request in ipairs(requests) do assert.are.same({}, request.problems) end
    assert.are.same({ WIRES[1].own, { type = "bash_20250124", name = "bash" }, WIRES[1].bare },
      core.decode(requests[1].body).tools)
    local results = core.decode(requests[2].body).messages[3].content
    assert.are.same({ false, true }, { results[1].is_error or false, results[2].is_error })
    assert.is_truthy(results[2].content:find("there are: tide, bash", 1, true), results[2].content)
  end)

  it("are refused by an agent where what it reads of them is wrong", function()
    for field, bad in pairs { ["tools[1].timeout"] = { timeout = 0 }, ["tools[1].run"] = { run = 5 },
      ["tools[1].name"] = { name = false, run = print } } do
      local one = copy({ type = "bash_20250124", name = "bash" }, bad)
      local ok, err = pcall(koine.agent, { adapter = adapter(WIRES[1]), tools = { one } })
      assert.are.same({ false, field }, { ok, err.field })
    end
    local ok, err = pcall(koine.tool, { type = "bash_20250124", name = "bash", description = "d", run = print })
    assert.are.same({ false, "type" }, { ok, err.field })
  end)

  it("are made of a table with a type", function()
    local given = { type = "x_20270101", nested = { a = 1 } }
    local made = koine.server_tool(given)
    assert.are.equal("x_20270101", made.type)
    assert.are_not.equal(given.nested, made.nested)
    assert.is_true(made == koine.server_tool(given))
    for field, bad in pairs { ["server_tool"] = "x", ["server_tool.type"] = {}, } do
      local ok, err = pcall(koine.server_tool, bad)
      assert.are.same({ false, field }, { ok, err.field })
    end
  end)
end)
