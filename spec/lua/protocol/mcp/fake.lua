-- The program at the other end of a client: an MCP server that its first argument scripts, a Lua text. It speaks both
-- eras, and misbehaves as it is told.
--
-- The text sees the functions and tables of `env` below: say(value or text), hear() → the next message, notify, ask,
-- log(line), on[method] = function(params, request) → result, or nil, code, message, data; tools[name] =
-- function(arguments, request), the same for a tool. A handler that returns nothing has answered by itself.

local core = require "koine.core"

io.stdout:setvbuf "full"

local heard, behind = {}, {} -- all messages, and those that came while another one was awaited
local env = setmetatable({ core = core, null = core.null, array = core.array, heard = heard, modern = true,
  legacy = true, capabilities = { tools = {} }, listed = {} }, { __index = _G })

function env.say(value)
  io.write(type(value) == "string" and value or core.encode(value), "\n")
  io.flush()
end

local function read()
  local line = io.read "l"
  if not line then return nil end
  local message = core.decode(line)
  heard[#heard + 1] = message
  return message
end

function env.hear()
  if behind[1] then return table.remove(behind, 1) end
  return read()
end

function env.answer(request, result) env.say { jsonrpc = "2.0", id = request.id, result = result } end

function env.fail(request, code, words, data)
  env.say { jsonrpc = "2.0", id = request.id, error = { code = code, message = words or "no", data = data } }
end

function env.notify(method, params) env.say { jsonrpc = "2.0", method = method, params = params } end

local asked = 0

-- Asks the client, and returns its answer, a message; others wait meanwhile.
function env.ask(method, params)
  asked = asked + 1
  env.say { jsonrpc = "2.0", id = "s" .. asked, method = method, params = params }
  while true do
    local message = read()
    if not message or message.method == nil and message.id == "s" .. asked then return message end
    behind[#behind + 1] = message
  end
end

function env.log(line) io.stderr:write(line, "\n") end

function env.text(words) return { content = core.array { { type = "text", text = words } } } end

-- Progress of the call, where that asked for it.
function env.progress(request, n, total)
  env.notify("notifications/progress", { progressToken = request.params._meta.progressToken, progress = n,
    total = total, message = "step " .. n })
end

-- Waits until the file is there.
function env.await(path)
  repeat local file = io.open(path) until file or not os.execute "sleep 0.01"
end

function env.sleep(seconds) os.execute("sleep " .. seconds) end

local on, tools = {}, {}
env.on, env.tools = on, tools

on["server/discover"] = function()
  if not env.modern then return nil, -32601, "Method not found" end
  return { supportedVersions = core.array(env.versions or { "2026-07-28" }), capabilities = env.capabilities,
    resultType = "complete", instructions = "Be kind.",
    _meta = { ["io.modelcontextprotocol/serverInfo"] = { name = "fake", version = "1" } } }
end

function on.initialize(params)
  if not env.legacy then return nil, -32601, "Method not found" end
  return { protocolVersion = env.version or params.protocolVersion, capabilities = env.capabilities,
    serverInfo = { name = "fake", version = "1" }, instructions = "Be kind." }
end

function on.ping() return {} end

on["tools/list"] = function() return { tools = core.array(env.listed), resultType = "complete" } end

on["tools/call"] = function(params, request)
  local tool = tools[params.name]
  if not tool then return nil, -32602, "unknown tool " .. tostring(params.name) end
  return tool(params.arguments, request)
end

function tools.echo(arguments) return env.text(core.encode(arguments)) end

-- All that was heard so far.
function tools.heard() return env.text(core.encode(core.array(heard))) end

function tools.die()
  env.log "I am gone"
  os.exit(7)
end

local function handle(request)
  local handler = on[request.method]
  if not handler then return env.fail(request, -32601, "Method not found") end
  local result, code, words, data = handler(request.params or {}, request)
  if result then env.answer(request, result) elseif code then env.fail(request, code, words, data) end
end

assert(load(arg[1], "=script", "t", env))()
for message in env.hear do
  local handler = message.id == nil and on[message.method]
  if handler then
    handler(message.params or {}, message)
  elseif message.method and message.id ~= nil then
    handle(message)
  end
end
