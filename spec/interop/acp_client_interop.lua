-- Koine's client against an agent made with @agentclientprotocol/sdk: the agent asks all that an agent may ask, and
-- each message of Koine's fits the protocol's JSON schema.

local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"

local NODE = os.getenv "KOINE_NODE" or "node"

describe("an agent by @agentclientprotocol/sdk", function()
  local dir, executor

  before_each(function()
    dir = folder.new()
    executor = assert(koine.executor { workdir = dir })
  end)
  after_each(function()
    executor:close()
    folder.remove(dir)
  end)

  -- What the judge found.
  local function problems()
    local file <close> = io.open(dir .. "/problems")
    return file and file:read "a" or ""
  end

  it("is asked everything, and hears nothing that does not fit the schema", function()
    local here = assert(io.popen "pwd"):read "l"
    local connection <close> = assert(koine.acp.connect { command = NODE, executor = executor, permission = "allow",
      args = { here .. "/spec/interop/support/acp/agent.mjs", dir .. "/problems", assert(os.getenv "KOINE_INTEROP") },
      cwd = dir, auth = "key", on_elicit = function() end })
    assert.equal("judge", connection.agent.name)
    assert.equal("s1", assert(connection:list())[1].id)
    local session = assert(connection:new { model = "b", mcp_servers = { files = { command = "sh", env = { A = "1" } },
      web = { url = "https://example.org/mcp", headers = { K = "v" } } } })
    assert.is_true(session:set("fast", true))
    assert.same({ "b", true }, { session.options[1].value, session.options[2].value })
    local result = assert(session:prompt { koine.text { text = "go" },
      koine.image { source = "iVBORw0KGgo=", media_type = "image/png" },
      koine.document { source = koine.base64 "Hi", media_type = "text/plain" },
      koine.document { source = koine.base64 "%PDF", media_type = "application/pdf" },
      koine.image { source = "https://example.org/a.png" } })
    assert.equal("types text image resource resource resource_link", result.outputs[1])
    assert.same({ "y", "two\n", -32603, 0, "hi\n" }, { table.unpack(core.decode(result.outputs[2])) })
    assert.same({ 0.5, "completed" }, { result.cost_usd, result.calls[1].status })
    local turn <close> = assert(session:start "wait")
    assert(session:cancel())
    assert.equal("cancelled", select(2, turn:result()).kind)
    session:close()
    assert(connection:take_up "s1"):close()
    assert(connection:load "s1"):close()
    assert.equal("", problems())
  end)
end)
