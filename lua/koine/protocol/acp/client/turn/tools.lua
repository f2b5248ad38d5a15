--- The tool calls of a turn: what the agent tells about each, bit by bit, as one tool_call event and one tool_result.
-- A call is told when its input is known: with the first input that is not empty, when it runs, when permission is
-- asked for it, or when it is over.

local core = require "koine.core"
local read = require "koine.protocol.acp.client.read"

local tools = {}

local CALLS_MAX = 10000 -- of a turn
local OVER = { completed = true, failed = true }
local PRINTED = { "terminal_output", "terminal_output_delta" } -- members of _meta, each with more of the output

local methods = {}
local metatable = { __index = methods }

-- Members of an update that say something: name on the wire → name of ours, and what reads it.
local FIELDS = { title = { "title", read.text }, kind = { "kind", read.text }, status = { "status", read.text },
  rawInput = { "input", read.any }, rawOutput = { "output", read.any } }

-- {path, line} of each place.
local function places(list)
  local made = core.array {}
  for _, one in ipairs(list) do
    local path, line = read.text(read.at(one, "path")), read.number(read.at(one, "line"))
    if path then made[#made + 1] = { path = path, line = line } end
  end
  return made
end

-- What an agent calls the tool, where it says so.
local function name_of(update)
  return read.text(update.name) or read.text(read.at(update, "_meta", "claudeCode", "toolName"))
end

local function merge(tool, update)
  for field, how in next, FIELDS do
    local value = how[2](update[field])
    if value ~= nil then tool[how[1]] = value end
  end
  tool.said_name = name_of(update) or tool.said_name
  tool.name = tool.told and tool.name or tool.said_name or tool.title or tool.kind or tool.id
  if read.any(update.content) ~= nil then tool.content = read.list(update.content) end
  if read.any(update.locations) ~= nil then tool.locations = places(read.list(update.locations)) end
end

--- The call that an update is about, changed by it; nil where the update has no id, or there are too many calls.
function methods:merge(update)
  local id = read.text(update.toolCallId)
  local tool = id and self.by_id[id]
  if not tool then
    if not id or #self.list >= CALLS_MAX then return nil end
    tool = { id = id, title = nil, kind = nil, status = "pending", locations = core.array {}, content = {},
      printed = {}, told = false, over = false, at = core.wall(), denied = false }
    self.by_id[id], self.list[#self.list + 1] = tool, tool
  end
  merge(tool, update)
  if not self.tell then tool.content, tool.output = {}, nil end -- nobody will be told
  return tool
end

local function is_empty(input) return input == nil or type(input) == "table" and next(input) == nil end

-- Tells the call, once.
local function tell(self, tool)
  if tool.told then return end
  tool.told = true
  self.tell { kind = "tool_call", tool_name = tool.name, tool_call_id = tool.id, tool_kind = tool.kind,
    tool_input = tool.input == nil and "{}" or core.encode(tool.input), locations = tool.locations }
end

local function add_block(parts, block)
  local text = read.text(read.at(block, "text")) or read.text(read.at(block, "resource", "text"))
    or read.text(read.at(block, "uri"))
  if text then parts[#parts + 1] = text elseif read.text(read.at(block, "type")) then
    parts[#parts + 1] = ("[%s]"):format(block.type)
  end
end

local adds = {}

function adds.content(_, item, parts) add_block(parts, item.content) end

function adds.diff(_, item, parts, diffs)
  local path = read.text(item.path)
  if not path then return end
  parts[#parts + 1] = path
  diffs[#diffs + 1] = { path = path, old = read.text(item.oldText), new = read.text(item.newText) or "" }
end

function adds.terminal(self, item, parts, _, tool)
  local text = self.terminal_text(read.text(item.terminalId)) or table.concat(tool.printed)
  if text ~= "" then parts[#parts + 1] = text end
end

-- The text of a call's result, and its diffs (nil: none).
local function result_of(self, tool)
  local parts, diffs = {}, core.array {}
  for _, item in ipairs(tool.content) do
    local add = adds[read.text(read.at(item, "type")) or false]
    if add then add(self, item, parts, diffs, tool) end
  end
  if #parts == 0 then parts[1] = tool.printed[1] and table.concat(tool.printed) end
  if #parts == 0 and tool.output ~= nil then
    parts[1] = type(tool.output) == "string" and tool.output or core.encode(tool.output)
  end
  return table.concat(parts, "\n"), #diffs > 0 and diffs or nil
end

-- Tells the result, once.
local function finish(self, tool)
  if tool.over then return end
  tool.over = true
  local content, diffs = result_of(self, tool)
  self.tell { kind = "tool_result", tool_name = tool.name, tool_call_id = tool.id, content = content, diffs = diffs,
    is_error = tool.status == "failed" or nil }
  tool.content, tool.output, tool.printed = {}, nil, {}
end

-- Keeps what a command printed in a terminal of the agent's own, which some agents tell beside the call.
local function keep_printed(tool, update)
  for _, name in ipairs(PRINTED) do
    local text = read.text(read.at(update, "_meta", name, "data"))
    if text and not tool.over then tool.printed[#tool.printed + 1] = text end
  end
end

--- Takes a tool_call or a tool_call_update.
function methods:take(update)
  local tool = self:merge(update)
  if not tool then return end
  keep_printed(tool, update)
  if tool.status == "in_progress" or OVER[tool.status] or not is_empty(tool.input) then tell(self, tool) end
  if OVER[tool.status] then finish(self, tool) end
end

--- Takes the call of a question for permission.
function methods:asked(update)
  local tool = self:merge(update)
  if tool then tell(self, tool) end
end

--- Tells the calls that nothing was told of, and the results of those that were denied, where the agent told none: at
-- the end of a turn. `denied` has the reasons by id.
function methods:finish(denied)
  for _, tool in ipairs(self.list) do
    tell(self, tool)
    local reason = denied[tool.id]
    if reason and not tool.over then
      tool.status, tool.content, tool.output = "failed", {}, "denied: " .. reason
      finish(self, tool)
    end
  end
end

--- No calls yet. `on_event(event)` gets the events, `terminal_text(id)` → the output of a terminal or nil; neither is
-- needed where calls are only merged.
function tools.new(on_event, terminal_text)
  return setmetatable({ by_id = {}, list = {}, tell = on_event, terminal_text = terminal_text }, metatable)
end

return tools
