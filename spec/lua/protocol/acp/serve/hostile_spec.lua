-- Editors that answer nonsense, that read no more, and that ask for what there is not.

local acp_kit = require "spec.lua.protocol.acp.kit"
local core = require "koine.core"
local kit = require "spec.lua.protocol.acp.serve.kit"
local koine = require "koine"

local LUA = arg and arg[-1] or "lua5.4"
local array = core.array

describe("an agent that is served to an editor", function()
  it("runs a tool only when the editor says that the user selected an option that allows it", function()
    local answers = array { { outcome = { optionId = "allow" } }, { outcome = { outcome = "odd", optionId = "allow" } },
      { outcome = "selected" }, { outcome = { outcome = "selected", optionId = array { "allow" } } },
      { outcome = { outcome = "selected", optionId = "allow_always_" } }, { outcome = array {} }, array {}, 5,
      core.null, { optionId = "allow" } }
    local steps = {}
    for i = 1, #answers do steps[2 * i - 1], steps[2 * i] = kit.calls { "pay" }, kit.text "ok" end
    local n = 0
    local editor <close> = kit.open({ tools = { "pay" }, steps = steps },
      { requests = { ["session/request_permission"] = function()
        n = n + 1
        return answers[n]
      end } })
    local id = editor:session()
    for _ = 1, #answers do assert.equal("end_turn", editor:prompt(id, "go")) end
    assert.equal(#answers, n)
    local ends = {}
    for _, update in ipairs(editor:calls()) do ends[update.status or "none"] = true end
    assert.same({ pending = true, failed = true }, ends)
  end)

  it("answers all prompts and cancels that come at once", function()
    local editor <close> = kit.open { steps = { kit.text "ok" } }
    local id, reasons = editor:session(), {}
    koine.run(function()
      local tasks = {}
      for i = 1, 50 do tasks[i] = function() reasons[i] = editor:prompt(id, "be silent") end end
      tasks[51] = function()
        for _ = 1, 10 do editor.peer:notify("session/cancel", { sessionId = id }) end
      end
      koine.gather(tasks)
    end)
    assert.equal(50, #reasons)
    for _, reason in ipairs(reasons) do assert.equal("cancelled", reason) end
    assert.equal("end_turn", editor:prompt(id, "go"))
  end)

  it("names what was wrong by its type", function()
    local editor <close> = kit.open { steps = { kit.text "ok" } }
    local id = editor:session()
    for method, params in pairs { initialize = { protocolVersion = {} }, authenticate = { methodId = {} },
      ["session/set_config_option"] = { sessionId = id, configId = {} } } do
      local code, words = editor:refused(method, params)
      assert.equal(-32602, code)
      assert.truthy(words:find "a table$", words)
    end
    local code, words = editor:refused("session/new", { cwd = "/dev/null/x", mcpServers = array {} })
    assert.same({ -32602, "cwd: no directory: /dev/null/x" }, { code, words })
    code, words = editor:refused("session/new", { cwd = "/" .. ("x"):rep(300), mcpServers = array {} })
    assert.equal(-32603, code)
    assert.truthy(words:find "File name too long", words)
  end)

  it("ends where the editor reads no more, though it does not close standard input", function()
    local environment = acp_kit.environment()
    environment.PATH = os.getenv "PATH"
    local program <close> = assert(koine.process.open({ "sh", "-c",
      '"$0" "$@" | { head -n 1; exec <&-; echo gone; }', LUA, "spec/lua/protocol/acp/serve/agent_program.lua",
      core.encode { steps = array { { step = 1, type = "message", content = "ok" } }, after = "stderr" } },
      { env = environment, grace = 0.1 }))
    local function say(id, method, params)
      assert(program:write(core.encode { jsonrpc = "2.0", id = id, method = method, params = params } .. "\n"))
    end
    say(1, "initialize", { protocolVersion = 1 })
    assert.equal(1, core.decode(program:line()).id)
    assert.equal("gone", program:line())
    say(2, "session/new", { cwd = "/", mcpServers = array {} })
    local result = assert(program:result())
    assert.truthy(result.stderr:find "after nil connect closed", result.stderr)
  end)
end)
