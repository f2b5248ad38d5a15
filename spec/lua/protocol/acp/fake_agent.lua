-- An agent that does what a spec tells it: JSON-RPC on its standard input and output, without Koine's peer. arg[1] is a
-- Lua file with the spec's own handlers ("": none), arg[2] a file that gets every line that the agent hears.
-- The file's globals, besides Lua's:
--   agent.init       the result of initialize
--   agent.session    what session/new answers besides the id
--   agent.on         {method = function(params, message) → result, or nil, {code, message}}
--   prompt(f)        f(words, id, params) plays a prompt: → the stop reason, or a whole result, or nil, an error
--   update(id, u), text(id, words, message_id), say(value), ask(method, params) → result, error
--   hear()           handles one more message; false at the end
--   until_cancelled(id)   hears until the session's turn is cancelled
--   array(t), null, random_name()

local core = require "koine.core"

io.stdout:setvbuf "full"

local log = assert(io.open(arg[2], "a"))
log:setvbuf "line"

local agent = { on = {}, session = {}, sessions = 0,
  init = { protocolVersion = 1, agentCapabilities = {}, agentInfo = { name = "fake", version = "1" },
    authMethods = core.array {} } }
local kit = setmetatable({ agent = agent, array = core.array, null = core.null }, { __index = _G })
local answers, stopped, asked = {}, {}, 0

function kit.random_name()
  local file <close> = assert(io.open("/dev/urandom", "rb"))
  return (file:read(8):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

function kit.say(value)
  io.write(type(value) == "string" and value or core.encode(value), "\n")
  io.flush()
end

local function answer(message, result, err)
  if result == nil then result = core.null end
  if err ~= nil then result = nil end
  kit.say { jsonrpc = "2.0", id = message.id, result = result, error = err }
end

local function handle(message)
  if not message.method then
    answers[message.id] = message
    return
  end
  if message.method == "session/cancel" then stopped[message.params.sessionId] = true end
  local handler = agent.on[message.method]
  if message.id == nil then
    if handler then handler(message.params, message) end
  elseif handler then
    answer(message, handler(message.params, message))
  else
    answer(message, nil, { code = -32601, message = "Method not found" })
  end
end

function kit.hear()
  local line = io.read "l"
  if not line then return false end
  log:write(line, "\n")
  handle(core.decode(line))
  return true
end

function kit.ask(method, params)
  local id = asked -- 0 is an id
  asked = asked + 1
  kit.say { jsonrpc = "2.0", id = id, method = method, params = params }
  while not answers[id] do
    if not kit.hear() then os.exit(3) end
  end
  return answers[id].result, answers[id].error
end

function kit.update(id, one)
  kit.say { jsonrpc = "2.0", method = "session/update", params = { sessionId = id, update = one } }
end

function kit.text(id, words, message_id)
  kit.update(id, { sessionUpdate = "agent_message_chunk", messageId = message_id,
    content = { type = "text", text = words } })
end

function kit.until_cancelled(id)
  while not stopped[id] do
    if not kit.hear() then os.exit(0) end
  end
  stopped[id] = nil
end

function agent.on.initialize() return agent.init end

agent.on["session/new"] = function()
  agent.sessions = agent.sessions + 1
  local reply = { sessionId = "s" .. agent.sessions }
  for name, value in pairs(agent.session) do reply[name] = value end
  return reply
end

function kit.prompt(f)
  agent.on["session/prompt"] = function(params)
    local result, err = f(params.prompt[1].text, params.sessionId, params)
    if type(result) == "string" then result = { stopReason = result } end
    return result, err
  end
end

kit.prompt(function(words, id)
  kit.text(id, "You said: " .. tostring(words))
  return "end_turn"
end)

if arg[1] ~= "" then assert(loadfile(arg[1], "t", kit))() end
while kit.hear() do end -- luacheck: ignore
