-- One object of each class that users hold, for the specs that hold pages and types against the code.

local agents = require "spec.lua.protocol.acp.kit"
local core = require "koine.core"
local files = require "spec.support.files"
local koine = require "koine"
require "koine.call.stream" -- it fills core.stream_methods, else with the first call

local classes = {}

--- Of the userdata's methods those that Koine's own Lua files call; users have chat, next, response, …
classes.INTERNAL = { render = true, start = true, poll = true, finish = true, restart = true, delivered = true,
  yields = true, woken = true, adopt = true, disown = true, register = true, forget = true, switch = true, task = true }

--- The functions of a table that users call, sorted.
function classes.functions_of(t)
  local names = {}
  for name, value in pairs(t) do
    if type(value) == "function" and not classes.INTERNAL[name] and not name:find "^_" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- The methods of a Response: an upvalue of its __index.
local function response_methods()
  local response = koine.response { model = "m", stop_reason = "end_turn" }
  local _, methods = debug.getupvalue(getmetatable(response).__index, 1)
  return methods
end

local function methods_of(object)
  local index = getmetatable(object).__index
  return type(index) == "table" and index or {}
end

local function task_methods()
  return koine.run(function() return methods_of(koine.spawn(function() end)) end)
end

-- A group of no servers.
local function mcp_servers()
  local path = os.tmpname()
  files.write(path, '{"mcpServers":{}}')
  local group = assert(koine.mcp.load(path))
  os.remove(path)
  return group
end

--- The methods of each class of objects that users hold: class → table with the methods.
function classes.all()
  local book = koine.testing.playbook { { step = 1, type = "message", content = "Hello." } }
  local stream = assert(book:open "Hi")
  local other = koine.testing.playbook { { step = 1, type = "message", content = "{}" } }
  local shaped = assert(other:open("Hi", { output = { mode = "object" } }))
  local server <close> = assert(koine.testing.start())
  local agent, store = koine.agent { adapter = book }, koine.store.memory {}
  -- "cat" answers nothing, and is asked nothing
  local mcp <close> = assert(koine.mcp.connect { name = "cat", command = "cat", era = "modern" })
  local live <close> = assert(koine.process.open { "true" })
  local bench = agents.bench()
  local connection = bench:connect ""
  local acp_session = assert(connection:new())
  local acp_turn = assert(acp_session:start "Hi")
  bench:close()
  return {
    adapter = core.adapter_methods, stream = core.stream_methods, response = response_methods(),
    error = methods_of(koine.errors.new { kind = "other", message = "m" }), playbook = book,
    custom_stream = methods_of(stream), output_stream = methods_of(shaped),
    conversation = methods_of(koine.conversation(book)), engine = methods_of(core.engine()),
    server = methods_of(server), limiter = methods_of(koine.rate_limiter {}), agent = methods_of(agent),
    run = methods_of(agent:start "Hi"), store = methods_of(store),
    keeper = methods_of(koine.agent.keeper { store = store, key = "k" }),
    shared_limiter = methods_of(koine.rate_limiter { store = store, key = "k", capacity = 1, per = 1 }),
    task = task_methods(), alarm = methods_of(koine.packing.overhead_alarm()),
    dispatcher = methods_of(koine.dispatcher { target = { ensure_session = print, run_turn = print, cancel = print } }),
    mcp_client = methods_of(mcp), mcp_servers = methods_of(mcp_servers()),
    mcp_login = methods_of(koine.mcp.login { url = "https://localhost" }),
    acp = methods_of(connection), acp_session = methods_of(acp_session), acp_turn = methods_of(acp_turn),
    observe_cost = methods_of(koine.observe.cost()), observe_otlp = methods_of(koine.observe.otlp()),
    executor = methods_of(koine.executor { workdir = "." }), program = methods_of(live),
    provider = methods_of(koine.session.new "anthropic"),
    session = methods_of(koine.session.events(book, { workdir = ".", role = "implementor", model = "tester-playbook",
      allowed_tools = {}, prompt = "Hi", context_files = {}, require_git = false })),
    step = { is = true, answer = true }, cassette = methods_of(koine.testing.cassette.open("none", { mode = "live" })),
  }
end

return classes
