-- Every message of a served agent fits the protocol's JSON schema: each method, and random runs. KOINE_SEED sets the
-- seed.

local core = require "koine.core"
local folder = require "spec.support.folder"
local judge = require "spec.lua.protocol.acp.judge"
local kit = require "spec.lua.protocol.acp.serve.kit"
local random = require "spec.lua.protocol.acp.serve.random"

local RUNS = 8

-- The first run, so that no kind is left to chance.
local BEGIN = { { type = "tool_calls", thinking = "Hm.", tool_calls = { { id = "c1", name = "look",
  arguments = { what = "a.txt" } } } }, { type = "answer", content = "Hello.", usage = { input_tokens = 9,
  output_tokens = 5 } } }

local KINDS = { "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "usage_update",
  "session_info_update", "user_message_chunk", "config_option_update" }

-- What an editor answers.
local function requests(files)
  return {
    ["session/request_permission"] = function()
      local choice = ({ "allow", "allow", "reject", "allow_always" })[math.random(5)]
      return choice and kit.choose(choice) or { outcome = { outcome = "cancelled" } }
    end,
    ["fs/read_text_file"] = function(params)
      if files[params.path] then return { content = files[params.path] } end
      return nil, { code = -32002, message = "not found" }
    end,
    ["fs/write_text_file"] = function(params)
      files[params.path] = params.content
      return {}
    end,
    ["terminal/create"] = function() return { terminalId = "t1" } end,
    ["terminal/wait_for_exit"] = function() return { exitCode = math.random(0, 2), signal = core.null } end,
    ["terminal/output"] = function() return { output = "in a terminal\n", truncated = math.random(2) == 1 } end,
    ["terminal/kill"] = function() return {} end,
    ["terminal/release"] = function() return {} end,
  }
end

describe("a served agent's messages", function()
  local dir

  before_each(function() dir = folder.new() end)
  after_each(function() folder.remove(dir) end)

  it("fit the protocol's schema", function()
    local seed = tonumber(os.getenv "KOINE_SEED") or os.time()
    math.randomseed(seed)
    local steps = random.steps(RUNS * 8)
    for i, first in ipairs(BEGIN) do table.insert(steps, i, first) end
    local editor <close> = kit.open({ login = true, by_session = true, store = dir .. "/store",
      serve = random.SERVE, tools = random.TOOLS, steps = { steps } },
      { dir = dir, requests = requests {}, capabilities = { fs = { readTextFile = true, writeTextFile = true },
        terminal = true, session = { configOptions = { boolean = {} } } } })
    local problems, kinds, method = {}, {}, nil

    local function look(message)
      problems[#problems + 1] = judge.problem(message, method)
      local update = message.method == "session/update" and message.params.update
      if update then kinds[update.sessionUpdate] = true end
    end

    local line = editor.program.line
    function editor.program.line(program)
      local text, err = line(program)
      if text then look(core.decode(text)) end
      return text, err
    end

    -- The result of a request, or the code of its error.
    local function ask(name, params)
      method = name
      local result, err = editor.peer:request(name, params, { timeout = 60 })
      return result or err.code
    end

    local none = core.array {}
    problems[1] = judge.problem({ jsonrpc = "2.0", result = editor.initialized }, "initialize")
    assert.equal("-32000", ask("session/new", { cwd = dir, mcpServers = none }))
    ask("authenticate", { methodId = editor.initialized.authMethods[1].id })
    local id = ask("session/new", { cwd = dir, mcpServers = none }).sessionId
    assert.is_string(id)
    for i = 1, RUNS do
      ask("session/prompt", { sessionId = id, prompt = core.array { { type = "text", text = "go on " .. i } } })
    end
    ask("session/set_config_option", { sessionId = id, configId = "web", type = "boolean", value = true })
    ask("session/set_mode", { sessionId = id, modeId = "go" })
    assert.equal("-32602", ask("session/set_config_option", { sessionId = id, configId = "model", value = "x" }))
    assert.equal(id, ask("session/list", {}).sessions[1].sessionId)
    ask("session/load", { sessionId = id, cwd = dir, mcpServers = none })
    ask("session/resume", { sessionId = id, cwd = dir, mcpServers = none })
    ask("session/close", { sessionId = id })
    ask("session/delete", { sessionId = id })
    ask("logout", {})
    assert.same({}, problems, "seed " .. seed)
    for _, kind in ipairs(KINDS) do assert.is_true(kinds[kind], kind .. " with seed " .. seed) end
  end)
end)
