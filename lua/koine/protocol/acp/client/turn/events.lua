--- Updates of a turn as events (docs/sessions.md): chunks become messages and thoughts, tool calls become calls and
-- results. A message ends with another message's id, with a tool call, a thought, or the turn.

local errors = require "koine.data.errors"
local read = require "koine.protocol.acp.client.read"
local tools = require "koine.protocol.acp.client.turn.tools"

local events = {}

local methods = {}
local metatable = { __index = methods }

local DELTAS = { output = "text_delta", reasoning = "thinking_delta" }

--- Ends the message that is open.
function methods:flush()
  local open = self.open
  if not open then return end
  self.open = false
  self.tell { kind = open.kind, content = table.concat(open.parts) }
end

-- The text of a block of a message; what is no text is shown by its address or its type.
local function text_of(block)
  return read.text(read.at(block, "text")) or read.text(read.at(block, "resource", "text"))
    or read.text(read.at(block, "uri")) or read.text(read.at(block, "type")) and ("[%s]"):format(block.type) or ""
end

local function chunk(self, kind, update)
  local text, id, open = text_of(update.content), read.text(update.messageId), self.open
  if text == "" then return end
  if open and (open.kind ~= kind or open.id ~= id) then self:flush() end
  if not self.open then self.open = { kind = kind, id = id, parts = {} } end
  local parts = self.open.parts
  parts[#parts + 1] = text
  self.delta { type = DELTAS[kind], text = text }
end

local takes = {}

function takes.agent_message_chunk(self, update) chunk(self, "output", update) end
function takes.agent_thought_chunk(self, update) chunk(self, "reasoning", update) end

function takes.tool_call(self, update)
  self:flush()
  self.tools:take(update)
end

function takes.tool_call_update(self, update) self.tools:take(update) end

-- Counts so many bytes: nil, or the error of a turn that says too much.
local function count(self, size)
  self.size = self.size + size
  if self.size <= self.max then return nil end
  return errors.new { kind = "limit", code = "output", retryable = false,
    message = ("the agent said more than %d bytes in a turn"):format(self.max) }
end

--- Takes an update (its object) of about `size` bytes: nil, or the error of a turn that says too much.
function methods:take(update, size)
  local problem = count(self, size)
  if problem then return problem end
  local take = takes[update.sessionUpdate]
  if take then take(self, update) end
end

--- Takes the tool call of a question for permission, of about `size` bytes: nil, or an error as `take` has it.
function methods:asked(call, size)
  local problem = count(self, size)
  if problem then return problem end
  self.tools:asked(call)
end

--- Ends what is open. `denied` has the reasons of calls that were denied, by id.
function methods:finish(denied)
  self:flush()
  self.tools:finish(denied)
end

--- An empty collector. `tell(event)` and `delta(delta)` get what there is, `terminal_text(id)` → a terminal's output;
-- `max`: bytes that a turn may say.
function events.new(tell, delta, terminal_text, max)
  local self = setmetatable({ open = false, size = 0, max = max, tell = tell, delta = delta, tools = false }, metatable)
  self.tools = tools.new(function(event)
    self:flush()
    tell(event)
  end, terminal_text)
  return self
end

return events
