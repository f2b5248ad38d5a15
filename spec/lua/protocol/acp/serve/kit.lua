-- An editor, in Lua: a peer on a program that serves an agent (agent_program.lua). What it is told and asked is kept in
-- its order.

local assert = require "luassert"
local core = require "koine.core"
local koine = require "koine"
local rpc = require "koine.protocol.rpc"

local kit = {}

local LUA = arg and arg[-1] or "lua5.4"
local TIMEOUT = 60 -- seconds that nothing here takes

local methods = {}
local metatable = { __index = methods, __close = function(self) self:close() end }

--- A step of a playbook: a text, or calls {name, arguments}.
function kit.text(content) return { step = 1, type = "message", content = content } end

function kit.calls(...)
  local list = {}
  for i, call in ipairs { ... } do
    list[i] = { id = call.id or "c" .. i, name = call[1], arguments = call[2] or {} }
  end
  return { step = 1, type = "tool_calls", tool_calls = list }
end

-- The steps with numbers of their own.
local function numbered(steps)
  for i, step in ipairs(steps) do
    if step.type then step.step = i else numbered(step) end
  end
  return steps
end

--- The answer of a request; fails where it is an error.
function methods:ask(method, params) return assert(self.peer:request(method, params, { timeout = TIMEOUT })) end

--- The error of a request: its code; fails where it is none.
function methods:refused(method, params)
  local result, err = self.peer:request(method, params, { timeout = TIMEOUT })
  assert.is_nil(result)
  return tonumber(err.code), err.message
end

--- session/new: the id. `where` (nil: the temporary folder) is its directory.
function methods:session(where)
  return self:ask("session/new", { cwd = where or self.dir, mcpServers = core.array {} }).sessionId
end

--- session/prompt with a text: the stop reason.
function methods:prompt(id, text)
  return self:ask("session/prompt", { sessionId = id, prompt = { { type = "text", text = text } } }).stopReason
end

--- What the updates of that kind say, joined; of one session, or of all.
function methods:said(kind, id)
  local list = {}
  for _, one in ipairs(self.told) do
    local update = one.update
    if update.sessionUpdate == kind and (not id or one.sessionId == id) then list[#list + 1] = update.content.text end
  end
  return table.concat(list)
end

--- The updates of tool calls: array of {id, status, …} with what each said.
function methods:calls()
  local list = {}
  for _, one in ipairs(self.told) do
    local update = one.update
    if update.sessionUpdate:find "^tool_call" then list[#list + 1] = update end
  end
  return list
end

--- The statuses of all calls, as words.
function methods:statuses()
  local words = {}
  for i, update in ipairs(self:calls()) do words[i] = update.toolCallId .. " " .. tostring(update.status) end
  return table.concat(words, ", ")
end

--- Waits until f() is true; the editor looks after each message.
function methods:await(f)
  while not f() do koine.park(self, 1) end
end

--- Closes the agent's input: how it ended, as koine.process.run tells.
function methods:finish()
  self.program:close_input()
  self.peer:serve() -- reads what it still says
  return assert(self.program:result())
end

function methods:close()
  self.peer:close()
  self.program:close()
end

--- Starts the program with that configuration. `editor` is {capabilities, requests, dir}. A value for <close>.
function kit.open(config, editor)
  editor = editor or {}
  config.steps, config.after = numbered(config.steps or {}), true
  local program = assert(koine.process.open({ LUA, "spec/lua/protocol/acp/serve/agent_program.lua",
    core.encode(config) }, { grace = 0.1, env = { LUA_PATH = package.path, LUA_CPATH = package.cpath,
    PATH = os.getenv "PATH", HOME = os.getenv "HOME", LD_PRELOAD = os.getenv "LD_PRELOAD" } }))
  local self = setmetatable({ program = program, told = {}, asked = {}, dir = editor.dir or "/tmp" }, metatable)
  local requests = {}
  for method, f in next, editor.requests or {} do
    requests[method] = function(params, request)
      table.insert(self.asked, { method = method, params = params })
      koine.wake(self)
      return f(params, request)
    end
  end
  self.peer = rpc.new(program, { requests = requests, notifications = { ["session/update"] = function(params)
    table.insert(self.told, params)
    koine.wake(self)
  end } })
  self.initialized = self:ask("initialize", { protocolVersion = 1, clientCapabilities = editor.capabilities or {},
    clientInfo = { name = "kit", version = "1" } })
  return self
end

--- An answer to session/request_permission.
function kit.choose(id) return { outcome = { outcome = "selected", optionId = id } } end

return kit
