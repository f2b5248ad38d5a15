-- Every message of a served agent has the protocol's shape: each method, and random runs. KOINE_SEED sets the seed.

local core = require "koine.core"
local folder = require "spec.support.folder"
local kit = require "spec.lua.protocol.acp.serve.kit"
local random = require "spec.lua.protocol.acp.serve.random"
local shapes = require "spec.lua.protocol.acp.shapes"

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

-- A message that fits, with an update or a request of an agent.
local function update(fields) return { jsonrpc = "2.0", method = "session/update",
  params = { sessionId = "s1", update = fields } } end

local function chunk(name)
  return update { sessionUpdate = "agent_message_chunk", [name] = "m1", content = { type = "text", text = "Hi." } }
end

local function call(name, kind)
  return update { sessionUpdate = "tool_call", toolCallId = "c1", title = "Look", kind = kind,
    [name] = core.array { { path = "/a.txt", line = 3 } } }
end

local function permission(kind)
  return { jsonrpc = "2.0", method = "session/request_permission", params = { sessionId = "s1",
    toolCall = { toolCallId = "c1" }, options = core.array { { optionId = "yes", name = "Yes", kind = kind } } } }
end

local function option(name)
  return { jsonrpc = "2.0", result = { configOptions = core.array { { id = "web", name = "Web", type = "boolean",
    [name] = true } } } }
end

describe("the shapes", function()
  local SET = "session/set_config_option"

  it("let pass what fits", function()
    local fits = { chunk "messageId", call("locations", "read"), permission "allow_once", { jsonrpc = "2.0",
      result = { stopReason = "end_turn", _meta = { free = { 1 } } } }, option "currentValue" }
    local methods = { [4] = "session/prompt", [5] = SET }
    for i, message in ipairs(fits) do assert.is_nil(shapes.problem(message, methods[i])) end
  end)

  it("refuse what does not", function()
    local function refused(words, message, method)
      local problem = shapes.problem(message, method) or "nothing"
      assert.equal(words, problem:sub(1, #words))
    end
    refused("params.update.messageID: no such member", chunk "messageID")
    refused("params.update.places: no such member", call("places", "read"))
    refused("params.update.kind: one of read, edit", call("locations", "look"))
    refused("params.options[1].kind: one of allow_once", permission "allow")
    refused("result.configOptions[1].value: no such member", option "value", SET)
    refused("params.update.content: missing", update { sessionUpdate = "user_message_chunk" })
    refused("params.update.sessionUpdate: no such kind", update { sessionUpdate = "message" })
    refused("params.update.used: an integer from 0", update { sessionUpdate = "usage_update", used = -1, size = 9 })
    refused("params.update.content: an array expected", update { sessionUpdate = "tool_call_update",
      toolCallId = "c1", content = {} })
    refused("no such message", { jsonrpc = "2.0", method = "session/say", params = {} })
    refused("error.code: an integer expected", { jsonrpc = "2.0", error = { code = "x", message = "no" } })
  end)
end)

describe("a served agent's messages", function()
  local dir

  before_each(function() dir = folder.new() end)
  after_each(function() folder.remove(dir) end)

  it("have the protocol's shapes", function()
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
      problems[#problems + 1] = shapes.problem(message, method)
      local told = message.method == "session/update" and message.params.update
      if told then kinds[told.sessionUpdate] = true end
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
    problems[1] = shapes.problem({ jsonrpc = "2.0", result = editor.initialized }, "initialize")
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
