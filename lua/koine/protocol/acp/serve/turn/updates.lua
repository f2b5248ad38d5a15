--- What the model says in a turn, as chunks: from the deltas, and from the events what no delta said (a refusal, the
-- answer of an adapter that does not stream). Each block has a messageId of its own.

local updates = {}

local CHUNKS = { text = "agent_message_chunk", thinking = "agent_thought_chunk" }
local EVENTS = { output = "text", reasoning = "thinking" }

local methods = {}
local metatable = { __index = methods }

local function chunk(self, kind, text, id)
  self.session:send { sessionUpdate = CHUNKS[kind], messageId = id, content = { type = "text", text = text } }
end

--- A delta: sent at once, which waits while the editor does not read.
function methods:on_delta(delta)
  local kind = delta.type:match "^(%a+)_delta$"
  if not CHUNKS[kind] or not delta.text then return end
  local block = self.block
  if not block or block.kind ~= kind then
    block = { kind = kind, id = self.session:message_id() }
    self.block = block
    table.insert(self.said, block)
  end
  block[#block + 1] = delta.text
  chunk(self, kind, delta.text, block.id)
end

--- The end of a block, which a *_start or *_end delta tells.
function methods:end_block() self.block = false end

-- Whether deltas said it; what they said up to there need not be kept.
local function was_said(self, kind, text)
  for i, block in ipairs(self.said) do
    if block.kind == kind and table.concat(block) == text then
      table.move(self.said, i + 1, #self.said + i, 1)
      return true
    end
  end
  return false
end

--- An event of a block, which is sent unless deltas said it. True for events of these kinds.
function methods:on_event(event)
  local kind = EVENTS[event.kind]
  if not kind then return false end
  self.block = false
  if event.content ~= "" and not was_said(self, kind, event.content) then self:say(kind, event.content) end
  return true
end

--- Sends a text as a block of its own. `kind` is "text" or "thinking".
function methods:say(kind, text) chunk(self, kind, text, self.session:message_id()) end

--- For one turn of a session.
function updates.new(session) return setmetatable({ session = session, said = {}, block = false }, metatable) end

return updates
