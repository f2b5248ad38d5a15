-- What an observer is told of the requests of a client, and the traceparent that goes out with them.

local agent_kit = require "spec.lua.agent.kit"
local core = require "koine.core"
local kit = require "spec.lua.protocol.mcp.kit"
local koine = require "koine"
local observed = require "spec.lua.data.observer.kit"

local TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
local TRACEPARENT = ("00-%s-%s-01"):format(TRACE, SPAN)

local SERVER = [[
  listed = { { name = "echo", inputSchema = { type = "object" } } }
  function tools.echo(arguments, request)
    progress(request, 1, 2)
    progress(request, 2, 2)
    return text "done"
  end
  function tools.bad() return { content = array { { type = "text", text = "no" } }, isError = true } end
]]

-- The traceparents that the fake heard in requests of tools/call.
local function sent(client)
  local list = {}
  for _, message in ipairs(kit.heard_of(client, "tools/call")) do
    list[#list + 1] = (message.params._meta or {}).traceparent or "none"
  end
  return list
end

describe("an observed client", function()
  it("tells each request: server, method, target, progress and size", function()
    local observer, records = observed.keep()
    local client <close> = assert(kit.connect(SERVER, { observer = observer }))
    assert(client:call("echo", {}))
    assert(client:call("bad", {}))
    assert.is_nil((client:call("nothing", {})))
    assert(client:tools())
    observed.check(records)
    local starts, ends = observed.of(records, "mcp", "start"), observed.of(records, "mcp", "end")
    assert.are.equal(4, #ends)
    local first = starts[1]
    assert.are.same({ "fake", "tools/call", "echo", "stdio", client.version }, { first.server, first.method,
      first.target, first.transport, first.version })
    assert.is_string(first.request_id)
    assert.are_not.equal(first.request_id, starts[2].request_id)
    assert.are.equal("tools/list", starts[4].method)
    assert.are.same({ 2, false }, { ends[1].progress, ends[1].is_error })
    assert.is_true(ends[1].bytes > 20)
    assert.is_true(ends[2].is_error)
    assert.are.equal("-32602", ends[3].error_code)
    assert.are.equal("invalid_request", ends[3].error.kind)
    assert.is_nil(core.encode(records):find("done", 1, true))
  end)

  it("sends the traceparent of its span, and is a part of the caller's", function()
    local observer, records = observed.keep()
    for _, era in ipairs { "modern", "legacy" } do
      local client <close> = assert(kit.connect(SERVER, { observer = observer, era = era }))
      local from = #records
      assert(client:call("echo", {}, { parent = TRACEPARENT }))
      local start = records[from + 1]
      assert.are.same({ TRACE, SPAN }, { start.trace, start.parent })
      assert(client:call("echo", {}, { traceparent = TRACEPARENT }))
      assert.are.same({ ("00-%s-%s-01"):format(TRACE, start.id), TRACEPARENT },
        table.move(sent(client), 1, 2, 1, {}))
    end
    observed.check(records, { [SPAN] = true })
  end)

  it("passes on a parent where nobody observes, and says nothing without one", function()
    local client <close> = assert(kit.connect(SERVER))
    assert(client:call("echo", {}, { parent = TRACEPARENT }))
    assert(client:call("echo", {}))
    assert.are.same({ TRACEPARENT, "none" }, table.move(sent(client), 1, 2, 1, {}))
    kit.raises("parent", function() client:call("echo", {}, { parent = "x" }) end)
  end)

  it("ends once where the server dies, the caller leaves, a callback raises, or the client was closed", function()
    local observer, records = observed.keep()
    local client = assert(kit.connect(SERVER .. "function tools.wait() end", { observer = observer }))
    assert.is_nil((client:call("die", {})))
    koine.run(function()
      local waiting = koine.spawn(function() client:call("wait", {}) end)
      repeat koine.sleep(0.001) until #observed.of(records, "mcp", "start") == 2 -- the server had to be started again
      waiting:cancel()
    end)
    local raised = pcall(client.call, client, "echo", {}, { on_progress = function() error "stop" end })
    assert.is_false(raised)
    client:close()
    assert.is_nil((client:call("echo", {})))
    observed.check(records)
    local kinds = {}
    for _, record in ipairs(observed.of(records, "mcp", "end")) do kinds[#kinds + 1] = record.error.kind end
    assert.are.same({ "connect", "cancelled", "other", "cancelled" }, kinds)
  end)

  it("is a part of the tool's call in a run, whose span names the server", function()
    local client <close> = assert(kit.connect(SERVER))
    local observer, records = observed.keep()
    local agent = koine.agent { tools = assert(client:tools()), observer = observer,
      adapter = agent_kit.play(agent_kit.calls(agent_kit.use("1", {}, "fake_echo")), { content = "Done." }) }
    assert(agent:run "Go.")
    observed.check(records)
    local tool, request = observed.of(records, "tool", "start")[1], observed.of(records, "mcp", "start")[1]
    assert.are.equal("fake", tool.mcp_server)
    assert.are.equal(tool.id, request.parent)
    assert.are.same({ ("00-%s-%s-01"):format(tool.trace, tool.id) }, { sent(client)[1] }) -- traces have one span
  end)

  it("is observed where a group is", function()
    local observer, records = observed.keep()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(core.encode { mcpServers = { fake = { command = "x" } } })
    file:close()
    local group <close> = assert(koine.mcp.load(path, { observer = observer,
      each = function(_, given)
        return kit.options(SERVER, { observer = given.observer })
      end }))
    os.remove(path)
    assert(group:start())
    assert.are.equal(1, #assert(group:tools()))
    assert.are.equal("tools/list", observed.of(records, "mcp", "start")[1].method)
  end)
end)
