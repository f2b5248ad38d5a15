--- The tool calls of a turn, as the editor sees them: pending, then in_progress when the tool runs, then completed or
-- failed. A call is {key (its id in the history), id (in ACP), tool, args (nil where they do not fit), shown (what the
-- editor knows of it), status, diff, terminal (its id), value (what the tool returned)}.

local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local tools = require "koine.agent.tool"

local calls = {}

local methods = {}
local metatable = { __index = methods }

-- f(args), or nil where it fails: what is only shown must not end a run.
local function ask(f, args)
  if type(f) ~= "function" or not args then return nil end
  local ok, value = pcall(f, args)
  if ok then return value end
  if errors.is_error(value) and value.kind == "cancelled" then error(value, 0) end
end

local function absolute(session, path)
  if path:sub(1, 1) == "/" then return path end
  path = path:gsub("^%./", "")
  if path == "" or path == "." then return session.cwd end
  return (session.cwd:gsub("/$", "")) .. "/" .. path
end

local function locations_of(session, tool, args)
  local list = core.array {}
  local said = ask(tool.locations, args)
  for _, one in ipairs(type(said) == "table" and said or {}) do
    if type(one) == "string" then one = { path = one } end
    if type(one.path) == "string" then
      list[#list + 1] = { path = absolute(session, one.path), line = math.tointeger(one.line) }
    end
  end
  return #list > 0 and list or nil
end

local function title_of(tool, name, args)
  local title = type(tool.title) == "string" and tool.title or ask(tool.title, args)
  return type(title) == "string" and title ~= "" and title or name
end

-- The arguments of a call of that tool: a table; or nil, and what came in their place.
local function arguments_of(offered, tool, name, input)
  local args = core.decode(input)
  if type(args) ~= "table" or getmetatable(args) == core.array_mt then return nil, input end
  if tool.parameters and tools.problem(offered, { name = name, arguments = args }) then return nil, args end
  return args, args
end

--- What the editor is shown of a call: {title, name, kind, rawInput, locations}; the tool ({} for an unknown one); and
-- its arguments, nil where they do not fit. `offered` is the array of tools that there are, `input` the arguments'
-- JSON.
function calls.shown(session, offered, name, input)
  local tool = tools.find(offered, name) or {}
  local args, raw = arguments_of(offered, tool, name, input)
  return { title = title_of(tool, name, args), name = name, kind = tool.kind or "other", rawInput = raw,
    locations = locations_of(session, tool, args) }, tool, args
end

--- The diff that a call will make, as content; nil for none.
local function diff_of(session, call)
  local diff = ask(call.tool.diff, call.args)
  if type(diff) ~= "table" or type(diff.path) ~= "string" or type(diff.new) ~= "string" then return nil end
  return { type = "diff", path = absolute(session, diff.path), newText = diff.new,
    oldText = diff.old == nil and core.null or diff.old }
end

-- Tells the editor what changed.
local function tell(self, call, fields)
  fields.sessionUpdate, fields.toolCallId = "tool_call_update", call.id
  call.status = fields.status or call.status
  self.session:send(fields)
end

-- A copy of what the editor is shown of a call, with more fields.
local function with(shown, fields)
  for name, value in next, shown do fields[name] = value end
  return fields
end

--- A call that the model made (an event): tells the editor. `offered` is the array of tools that there are.
function methods:announce(event, offered)
  local shown, tool, args = calls.shown(self.session, offered, event.tool_name, event.tool_input)
  local call = { key = event.tool_call_id, id = self.session:call_id(event.tool_call_id), tool = tool, args = args,
    shown = shown, status = "pending" }
  self[#self + 1] = call
  self.session:send(with(shown, { sessionUpdate = "tool_call", toolCallId = call.id, status = call.status }))
end

-- The first call of that key for which f is true.
local function find(self, key, f)
  for _, call in ipairs(self) do
    if call.key == key and f(call) then return call end
  end
end

local function is_open(call) return call.status == "pending" or call.status == "in_progress" end
local function is_pending(call) return call.status == "pending" end
local function is_running(call) return call.status == "in_progress" end

--- What a request of permission says of a call: a ToolCallUpdate.
function methods:to_permit(key)
  local call = find(self, key, is_pending)
  if not call then return { toolCallId = key } end
  local update = with(call.shown, { toolCallId = call.id, status = "pending" })
  local diff = diff_of(self.session, call)
  if diff then update.content = core.array { diff } end
  return update
end

--- The call's tool begins: tells the editor, with what it will change.
function methods:begin(key)
  local call = find(self, key, is_pending)
  if not call then return end
  call.diff = diff_of(self.session, call)
  tell(self, call, { status = "in_progress", content = call.diff and core.array { call.diff } or nil })
  return call
end

--- The call's command runs in a terminal of the editor's.
function methods:in_terminal(key, terminal)
  local call = find(self, key, is_running)
  if not call then return end
  call.terminal = terminal
  tell(self, call, { content = core.array { { type = "terminal", terminalId = terminal } } })
end

local function content(block) return { type = "content", content = block } end

-- What a tool returned, as content: its text, and its images.
local function contents_of(call, text)
  local list = core.array {}
  if text ~= "" then list[1] = content { type = "text", text = text } end
  for _, block in ipairs(type(call.value) == "table" and call.value or {}) do
    if type(block) == "table" and block.type == "image" and type(block.media_type) == "string" then
      list[#list + 1] = content { type = "image", data = block.source, mimeType = block.media_type }
    end
  end
  return list
end

--- A call that was answered (an event): completed, or failed. A diff or a terminal stays as it is shown.
function methods:finish(event)
  local call = find(self, event.tool_call_id, is_open)
  if not call then return end
  local fields = { status = event.is_error and "failed" or "completed" }
  if call.terminal or call.diff and not event.is_error then
    fields.rawOutput = event.content
  else
    fields.content = contents_of(call, event.content)
  end
  call.value = nil
  tell(self, call, fields)
end

--- Whether every call was answered.
function methods:are_over()
  for _, call in ipairs(self) do
    if is_open(call) then return false end
  end
  return true
end

--- The turn is over: what was not answered has failed.
function methods:abandon()
  for _, call in ipairs(self) do
    if is_open(call) then tell(self, call, { status = "failed" }) end
  end
end

--- A tool whose calls the turn sees: a copy of it. `approval(tool, args)` says whether a call waits for the user.
function calls.watched(session, tool, approval)
  local copy = {}
  for field, value in next, tool do copy[field] = value end
  if not tool.run then return tool end
  function copy.run(args, ctx)
    local turn = session.turn
    local call = turn and turn.calls:begin(ctx.call.id)
    local kept = {}
    local note <close> = defer(function() -- luacheck: ignore note
      if call then call.value = kept[1] end
    end)
    kept[1], kept[2] = tool.run(args, ctx)
    return kept[1], kept[2]
  end
  function copy.needs_approval(args) return approval(tool, args) end
  return setmetatable(copy, getmetatable(tool))
end

--- No calls yet, of a turn of a session.
function calls.new(session) return setmetatable({ session = session }, metatable) end

return calls
