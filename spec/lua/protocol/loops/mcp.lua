-- A script with two MCP servers: `near` is a program, `far` is reached by HTTP. It knows nothing of the loop that it
-- runs in, and prints what happens. Arguments: the name of this run, which its answers at the provider have too; the
-- interpreter for near; the folder that both servers share; the base URL of the provider; the URL of far.

local name, interpreter, folder, provider, url = ...
local koine = require "koine"

local NEAR = ("FOLDER = %q\n"):format(folder) .. [[
  alive = io.open(FOLDER .. "/alive", "w") -- who reads it knows when this program has ended
  local left = 0
  for _, name in ipairs { "meet", "ask", "hang", "left", "die" } do
    listed[#listed + 1] = { name = name, inputSchema = { type = "object" } }
  end
  function tools.meet(arguments, request) -- waits until the other server was called as well
    progress(request, 1, 2)
    io.open(FOLDER .. "/near-" .. arguments.run, "w"):close()
    await(FOLDER .. "/far-" .. arguments.run)
    return text "near was there"
  end
  function tools.ask()
    local reply = ask("elicitation/create", { message = "Who is at near?", requestedSchema = { type = "object",
      properties = { name = { type = "string" } } } })
    return text("near heard " .. reply.result.content.name)
  end
  function tools.hang(_, request)
    progress(request, 1, 2)
    repeat local message = hear() until message.method == "notifications/cancelled"
    left = left + 1
  end
  function tools.left(arguments) return text(left == arguments.calls and "near was left" or "left: " .. left) end
]]

local environment = {}
for _, variable in ipairs { "LUA_PATH", "LUA_CPATH", "LD_PRELOAD", "ASAN_OPTIONS" } do
  environment[variable] = os.getenv(variable)
end

local clients = {} -- by name
local begun, heard = {}, {} -- server → whether a call has begun there, what it told of progress

-- What a call tells of its progress wakes both_begun.
local function on_progress(server)
  return function(step)
    begun[server] = true
    koine.wake(begun)
    heard[server] = (heard[server] or "") .. (" %d of %d"):format(step.progress, step.total)
  end
end

-- Asks somebody who takes a while.
local function on_elicit(request)
  koine.sleep(0.002)
  print(request.server .. " asks: " .. request.message)
  return { action = "accept", content = { name = "Ada of " .. request.server } }
end

local function connect(options)
  options.on_elicit, options.on_progress, options.timeout = on_elicit, on_progress(options.name), 60
  local client = assert(koine.mcp.connect(options))
  clients[options.name] = client
  return client
end

local function call(server, tool, arguments)
  local result, err = clients[server]:call(tool, arguments or {})
  print(server, tool, result and result.content[1].text or ("%s %s"):format(err.class, err.kind))
  return err
end

-- Waits until a call has begun at both servers.
local function both_begun()
  while not (begun.near and begun.far) do assert(koine.park(begun, 60)) end
  begun.near, begun.far = nil, nil
end

koine.gather(function()
  connect { name = "near", command = interpreter, args = { "spec/lua/protocol/mcp/fake.lua", NEAR }, env = environment,
    era = "legacy", grace = 0.1 }
end, function() connect { name = "far", url = url } end)

local tools = {}
for _, server in ipairs { "near", "far" } do
  print(server, clients[server].era, clients[server].version)
  for _, tool in ipairs(assert(clients[server]:tools())) do
    print("", tool.name)
    tools[#tools + 1] = tool
  end
end

-- An agent calls both at once: neither answers alone.
local adapter = koine.anthropic { model = "some-model", key = "a-key", base_url = provider .. "/" .. name,
  retry = false }
local agent = koine.agent { adapter = adapter, tools = tools, parallel = true }
local run = assert(agent:run "Meet.")
for _, block in ipairs(run.messages[3].content) do print("tool", block.content[1].text) end
print("agent", run.status, run.text)
print("progress", "near" .. heard.near, "far" .. heard.far)
begun.near, begun.far = nil, nil

call("near", "ask")
call("far", "ask")

-- Calls that are cancelled while their servers say nothing: an agent's, then a task's.
koine.run(function()
  local started = agent:start "Hang."
  local task = koine.spawn(function() return started:result() end)
  both_begun()
  print("cancel", started:cancel())
  local result, err = task:wait()
  print("agent", result and result.status, err and err.kind)
  local calls = {}
  for _, server in ipairs { "near", "far" } do
    calls[server] = koine.spawn(function() return clients[server]:call("hang", {}) end)
  end
  both_begun()
  for _, server in ipairs { "near", "far" } do
    calls[server]:cancel()
    print("cancelled", server, select(2, calls[server]:wait()).kind)
  end
end)
call("near", "left", { calls = 2 })
call("far", "left", { calls = 2 })

-- A server that ends in the middle of a call; the next call starts it again.
print(call("near", "die").message)
call("far", "die")
call("near", "left", { calls = 0 })
call("far", "ask")

clients.near:close()
clients.far:close()
call("near", "left", {})
