--- A session: a directory, an agent, a history, and what belongs to them. It owns its executor and the connections to
-- the editor's MCP servers. One turn runs at a time; the others wait.

local calls = require "koine.protocol.acp.serve.turn.calls"
local client = require "koine.protocol.acp.serve.client"
local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local executor = require "koine.system.executor"
local mutex = require "koine.task.mutex"
local prompt = require "koine.protocol.acp.serve.prompt"
local servers = require "koine.protocol.acp.serve.servers"
local settings = require "koine.protocol.acp.serve.settings"
local tools = require "koine.agent.tool"
local turns = require "koine.protocol.acp.serve.turn"

local sessions = {}

local TITLE_MAX = 80 -- characters

local methods = {}
local metatable = { __index = methods, __name = "koine.acp.session" }

-- What the editor hears --------------------------------------------------------------------------------------------

--- Sends an update, and waits until it is written. Where the editor is gone the turn ends.
function methods:send(update)
  local ok = self.server.peer:notify("session/update", { sessionId = self.id, update = update })
  if not ok then self:cancel() end
end

--- Remembers what the user shall be told with the next turn.
function methods:note(...) table.insert(self.notes, string.format(...)) end

local function tell_notes(self)
  if #self.notes == 0 then return end
  local text = table.concat(self.notes, "\n")
  self.notes = {}
  self:send { sessionUpdate = "agent_thought_chunk", messageId = self:message_id(),
    content = { type = "text", text = text } }
end

--- A new id of a message.
function methods:message_id()
  self.messages_said = self.messages_said + 1
  return "m" .. self.messages_said
end

--- An id that no other call of the session has, for one that the provider gave a call.
function methods:call_id(id)
  local n = (self.calls_said[id] or 0) + 1
  self.calls_said[id] = n
  return n == 1 and id or ("%s#%d"):format(id, n)
end

--- Tells what a model call used: a Response, and the adapter that gave it.
function methods:used(response, adapter)
  local usage = response and response.usage
  local knows, size = pcall(function() return adapter:max_context_tokens() end)
  if not usage then return end
  local cost = usage.cost and usage.cost.total
  self.cost = self.cost and cost and self.cost + cost or false
  if not knows or not math.tointeger(size) then return end
  local used = 0
  for _, name in ipairs { "input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens" } do
    used = used + (usage[name] or 0)
  end
  self:send { sessionUpdate = "usage_update", used = math.tointeger(used), size = math.tointeger(size),
    cost = self.cost and { amount = self.cost, currency = "USD" } or nil }
end

-- The agent and its tools ------------------------------------------------------------------------------------------

--- The agent of the next turn: it, or nil, err.
function methods:agent()
  local given = self.server.options.agent
  if type(given) ~= "function" then return given end
  if self.made and not self.stale then return self.made end
  self.stale, self.made = false, nil
  local view = self.view
  view.mode, view.options = self.values.mode, {}
  for id, value in next, self.values.options do view.options[id] = value end
  local made, err = given(view)
  if made == nil then return nil, err or errors.new { kind = "other", message = "there is no agent" } end
  if type(made) ~= "table" or type(made.start) ~= "function" or type(made.spec) ~= "table" then
    errors.argument("agent", "a function that returns a koine.agent", made)
  end
  self.made = made
  return made
end

-- Whether a call waits for the user.
local function needs_approval(self, tool, args)
  if self.allowed[tool.name] then return false end
  local wanted = tool.needs_approval
  if type(wanted) == "function" then wanted = wanted(args) end
  if wanted then return true end
  local approval = self.server.options.approval
  if type(approval) == "function" then return approval(tool.name, args, self.view) and true or false end
  if approval ~= nil then return approval end
  return self.own_tools[tool] and executor.changes(tool.name, args) or false
end

--- The agent's tools and the session's, of which those are left out whose names the agent's have, so that the turn sees
-- their calls: an array of koine.tool.
function methods:watched(given)
  local list, names = {}, {}
  local function approval(tool, args) return needs_approval(self, tool, args) end
  local function add(all)
    for _, tool in ipairs(all) do
      if not names[tool.name or tool] then
        names[tool.name or tool] = true
        list[#list + 1] = calls.watched(self, tool, approval)
      end
    end
  end
  add(tools.list(given, "tools"))
  add(self.tools)
  return list
end

-- Turns ------------------------------------------------------------------------------------------------------------

--- Runs a turn once those before it are over: the result of session/prompt, or nil, err. `blocks` are the user's, `id`
-- is the request's, `parent` what the turn is a part of for observers: a context, nil for none.
function methods:prompt(blocks, id, parent)
  local turn = turns.new(self, parent)
  local gone <close> = defer(function() self.turns[turn] = nil end) -- luacheck: ignore gone
  self.turns[turn] = id
  local held <close>, err = turn:breakable(function() return self.mutex:hold() end) -- luacheck: ignore held
  if turn.cancelled then return { stopReason = "cancelled" } end
  if err then return nil, err end
  local over <close> = defer(function() self.turn = nil end) -- luacheck: ignore over
  self.turn = turn
  tell_notes(self)
  return turn:play(blocks)
end

--- Cancels the turn that runs, and those that wait.
function methods:cancel()
  for turn in next, self.turns do turn:cancel() end
end

--- Cancels the turn of the request with that id: true, or false where there is none.
function methods:cancel_request(id)
  for turn, request in next, self.turns do
    if request == id then
      turn:cancel()
      return true
    end
  end
  return false
end

--- The history with another message: a new array.
function methods:messages_with(message)
  local list = table.move(self.messages, 1, #self.messages, 1, {})
  list[#list + 1] = message
  return list
end

-- Saves the session with that history: true, or nil, err.
local function save(self, messages, blocks)
  self.updated = core.wall()
  self.title = self.title or prompt.title(blocks, TITLE_MAX)
  return self.server.saved:put(self, messages)
end

--- Saves the history of a turn that goes on, where sessions are kept, so that its finished steps outlive this program.
-- Where that fails, the end of the turn tells, which saves again.
function methods:keep_step(messages, blocks)
  if self.closed then return end
  self.ahead = true
  save(self, messages, blocks)
end

-- Takes back what was saved of a turn that is to be forgotten: true, or nil, err.
local function take_back(self)
  self.ahead, self.title = false, self.title_told
  if #self.messages > 0 then return self.server.saved:put(self, self.messages) end
  self.version = "absent"
  return self.server.saved:delete(self.id)
end

--- Keeps the history of a turn that is over, unless it is to be forgotten, and saves the session where it is kept.
function methods:keep(messages, blocks, forget)
  if self.closed then return end
  local ok, err = true, nil
  if forget then
    if self.ahead then ok, err = take_back(self) end
  else
    self.messages, self.ahead = messages, false
    self.title = self.title or prompt.title(blocks, TITLE_MAX)
    if self.server.saved then ok, err = save(self, messages, blocks) end
  end
  if not ok then self:note("This session could not be saved: %s", errors.words(err)) end
  if self.title_told ~= self.title then
    self.title_told = self.title
    self:send { sessionUpdate = "session_info_update", title = self.title }
  end
end

--- Waits until no turn runs: a value for <close>, until which none begins.
function methods:hold() return self.mutex:hold() end

--- Cancels its turns and gives back what it owns. Returns nothing; any number of times.
function methods:close()
  self:cancel()
  if self.closed then return end
  self.closed = true
  if self.server.sessions[self.id] == self then self.server.sessions[self.id] = nil end
  if self.view.executor then self.view.executor:close() end
  for _, one in ipairs(self.connections) do pcall(one.close, one) end
end

-- The beginning ----------------------------------------------------------------------------------------------------

-- Makes the session's executor: true, or nil, err.
local function open_executor(self)
  local given = self.server.options.executor
  if not given then return true end
  local opts = { workdir = self.cwd }
  for name, value in next, given do opts[name] = value end
  opts.client = nil
  opts.through = given.client and client.through(self) or nil
  local made, err = executor(opts)
  if not made then return nil, err end
  self.view.executor = made
  for _, tool in ipairs(made:tools(opts.allowed_tools)) do
    self.own_tools[tool] = true
    table.insert(self.tools, tool)
  end
  return true
end

--- Opens a session: {id, cwd, additional (array), mcp_servers (array), kept (what was saved of it, or nil)}. The
-- session, or nil, err: its directory cannot be opened, or the agent's function said so.
function sessions.open(server, given)
  local kept = given.kept or {}
  local self = setmetatable({ server = server, id = given.id, cwd = given.cwd, additional = given.additional,
    values = settings.initial(server.options, kept), made = nil, stale = true, tools = {}, own_tools = {},
    connections = {}, messages = kept.messages or {}, mutex = mutex(), turn = nil, turns = {}, allowed = {},
    notes = {}, ahead = false, messages_said = 0, calls_said = {}, title = kept.title, title_told = kept.title,
    updated = kept.updated, version = kept.version or "absent", cost = kept.cost or 0, closed = false }, metatable)
  self.view = { id = self.id, cwd = self.cwd, additional_directories = self.additional, client = server.client,
    tools = self.tools }
  local failed <close> = defer(function() self:close() end)
  local ok, err = open_executor(self)
  if not ok then return nil, err end
  for _, tool in ipairs(server.options.tools) do table.insert(self.tools, tool) end
  servers.connect(self, given.mcp_servers)
  ok, err = self:agent()
  if not ok then return nil, err end
  failed:cancel()
  server.sessions[self.id] = self
  return self
end

return sessions
