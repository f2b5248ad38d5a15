--- Helpers of the specs of ACP: agents that a spec writes, as programs; what they heard.

local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local peers = require "spec.lua.net.peers"
local search_path = require "spec.support.search_path"

local kit = {}

local LUA = arg and arg[-1] or "lua5.4"
local HERE = lfs.currentdir()

--- What an interpreter with Koine's core needs of the environment, wherever it runs: a new table.
function kit.environment()
  return { LUA_PATH = search_path(package.path), LUA_CPATH = search_path(package.cpath),
    LD_PRELOAD = os.getenv "LD_PRELOAD", ASAN_OPTIONS = os.getenv "ASAN_OPTIONS" }
end

--- Seconds that nothing here takes, whatever the machine.
kit.SAFETY = 60

--- Ways to run functions at once, by name: tasks of koine.run, coroutines of each host; `plain`: one after the other.
kit.loops = peers.loops()
kit.all = { plain = function(...)
  for _, f in ipairs { ... } do f() end
end }
for name, loop in pairs(kit.loops) do kit.all[name] = loop end

--- Options of a question for permission as agents have them, as a line of an agent's source.
kit.OPTIONS = [[local OPTIONS = array { { optionId = "a", name = "Allow", kind = "allow_once" },
  { optionId = "A", name = "Always", kind = "allow_always" }, { optionId = "r", name = "Reject",
    kind = "reject_once" } }
]]

local methods = {}
local metatable = { __index = methods }

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

--- The options of connect for an agent that runs this Lua source (fake_agent.lua says what it sees), and others.
function methods:options(source, given)
  self.agents = self.agents + 1
  local path = ("%s/agent-%d.lua"):format(self.dir, self.agents)
  write(path, source)
  local made = { command = LUA, args = { HERE .. "/spec/lua/protocol/acp/fake_agent.lua", path, self.log },
    env = kit.environment(), cwd = self.dir, grace = 0.2 }
  for name, value in pairs(given or {}) do made[name] = value end
  return made
end

--- A connection to such an agent; the bench closes it.
function methods:connect(source, given)
  local connection = assert(koine.acp.connect(self:options(source, given)))
  self.open[#self.open + 1] = connection
  return connection
end

--- A session of such an agent, and its connection.
function methods:session(source, given)
  local connection = self:connect(source, given)
  return assert(connection:new()), connection
end

--- Plays a turn of an agent whose prompt has this body, which sees `words`, `id` and OPTIONS: events, result or nil,
-- error or nil, session. `given` are options of connect, `opts` of the prompt.
function methods:turn(body, given, opts)
  local session = self:session(kit.OPTIONS .. "prompt(function(words, id)\n" .. body .. "\nend)", given)
  local events, result, err = kit.play(session, "go", opts)
  return events, result, err, session
end

--- What the agents heard so far: array of messages; of one method alone where that is named.
function methods:heard(method)
  local list, file = {}, io.open(self.log)
  for line in file and file:lines() or function() end do
    local message = core.decode(line)
    if not method or message.method == method then list[#list + 1] = message end
  end
  if file then file:close() end
  return list
end

--- Ends what is open.
function methods:close()
  for _, connection in ipairs(self.open) do connection:close() end
  self.open = {}
  folder.remove(self.dir)
end

--- A bench for one test: an empty folder `dir`, and the agents of the test.
function kit.bench()
  local dir = folder.new()
  return setmetatable({ dir = dir, log = dir .. "/heard", agents = 0, open = {} }, metatable)
end

--- Events in short: {kind, content or tool_input} of each.
function kit.short(events)
  local list = {}
  for i, event in ipairs(events) do
    list[i] = event.kind .. " " .. (event.kind == "tool_call" and event.tool_name .. event.tool_input or event.content)
  end
  return list
end

--- Plays a turn: its events, its result or nil, and its error.
function kit.play(session, blocks, opts)
  local events = {}
  opts = opts or {}
  opts.on_event = function(event) events[#events + 1] = event end
  local result, err = session:prompt(blocks, opts)
  return events, result, err
end

return kit
