-- Agents with tools of servers: what changes at a server in a run, and runs that are saved and loaded.

local kit = require "spec.lua.protocol.mcp.kit"
local koine = require "koine"

local CHANGES = [[
  capabilities = { tools = { listChanged = true } }
  listed = { { name = "change", inputSchema = { type = "object" } } }
  function tools.change()
    listed[#listed + 1] = { name = "new" .. #listed, inputSchema = { type = "object" } }
    listed[1].description = "changed"
    notify("notifications/tools/list_changed", {})
    return text("changed")
  end
]]

local ECHO = [[ listed = { { name = "echo", inputSchema = { type = "object" } } } ]]

local function uses(step, ...)
  local calls = {}
  for i, name in ipairs { ... } do
    calls[i] = { type = "tool_use", id = ("c%d%d"):format(step, i), name = name, arguments = { n = i } }
  end
  return { step = step, type = "answer", content = calls }
end

-- The names and descriptions of the tools of a request.
local function offered(request)
  local list = {}
  for i, tool in ipairs(request) do list[i] = tool.name .. ":" .. tool.description end
  return table.concat(list, " ")
end

describe("an agent", function()
  local clients = {}

  local function connect(name, script, opts)
    opts = opts or {}
    opts.name = name
    clients[#clients + 1] = assert(kit.connect(script, opts))
    return clients[#clients]
  end

  after_each(function()
    for _, client in ipairs(clients) do client:close() end
    clients = {}
  end)

  it("is told of a tool that takes longer than it may, and waits for others", function()
    local warned = {}
    local client = connect("s", [[
      listed = { { name = "never", inputSchema = { type = "object" } }, { name = "echo" } }
      function tools.never() end
    ]], { on_warning = function(warning) warned[#warned + 1] = warning.code .. " " .. warning.field end })
    local tools = assert(client:tools { timeouts = { never = 0.05, gone = 1 } })
    assert.same({ "unknown_tool gone" }, warned)
    local said, outcome = tools[1].run({}, {})
    assert.same({ "the tool did not answer in time", true }, { said, outcome.is_error })
    assert.equal('{"n":1}', tools[2].run({ n = 1 }, {})[1].text)
    kit.raises("timeouts.never", function() client:tools { timeouts = { never = 0 } } end)
  end)

  it("keeps its tools in a run, whatever the server lists meanwhile", function()
    local changed, seen = {}, {}
    local function on_change(kind) changed[#changed + 1] = kind end
    local client = connect("s", CHANGES, { era = "legacy", on_change = on_change })
    local book = koine.testing.playbook { uses(1, "s_change"), uses(2, "s_change"),
      { step = 3, type = "answer", content = "Done." } }
    local watched = koine.custom_adapter { name = "watched", model = "m", open = function(_, messages, opts)
      seen[#seen + 1] = offered(opts.tools)
      return book:open(messages, opts)
    end }
    local run = assert(koine.agent { adapter = watched, tools = assert(client:tools()) }:run "Go")
    assert.equal("completed", run.status)
    assert.same({ "tools", "tools" }, changed)
    assert.same({ seen[1], seen[1], seen[1] }, seen)
    assert.equal(3, #assert(client:tools()))
  end)

  it("with two servers and a tool of its own is saved in the middle and loaded", function()
    local own = koine.tool { name = "own", description = "", example = {}, run = function() return "mine" end }
    local function agent(...)
      local tools = { own }
      for _, client in ipairs(clients) do
        for _, tool in ipairs(assert(client:tools())) do tools[#tools + 1] = tool end
      end
      return koine.agent { adapter = koine.testing.playbook { ... }, tools = tools }
    end
    connect("a", ECHO)
    connect("b", ECHO)
    local run = agent(uses(1, "a_echo", "own", "b_echo")):start "Go"
    for _ = 1, 3 do assert(run:step()) end -- the model, and two of its calls
    local saved = run:dump()
    for _, client in ipairs(clients) do client:close() end
    clients = {}
    connect("a", ECHO)
    connect("b", ECHO)
    local loaded = assert(agent(uses(1, "b_echo", "own"), { step = 2, type = "answer", content = "Done." }):load(saved))
    local result = assert(loaded:result())
    assert.same({ "completed", "Done." }, { result.status, result.text })
    local texts = {}
    for _, message in ipairs(result.messages) do
      for _, block in ipairs(type(message.content) == "table" and message.content or {}) do
        if block.type == "tool_result" then
          texts[#texts + 1] = type(block.content) == "string" and block.content or block.content[1].text
        end
      end
    end
    assert.same({ '{"n":1}', "mine", '{"n":3}', '{"n":1}', "mine" }, texts)
  end)
end)
