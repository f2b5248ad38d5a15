--- What an agent still says of a turn that was broken off: Claude Code sends text of a cancelled message after the end
-- of its turn. It is known by the ids of messages and tool calls, as far as the agent gives them. The last thousand or
-- so are remembered.

local read = require "koine.protocol.acp.client.read"

local late = {}

local IDS_MAX, ID_MAX = 1000, 200 -- ids of a turn, and of turns that were broken off; bytes of one

local methods = {}
local metatable = { __index = methods }

-- Updates that belong to a message or a call, and their fields that say to which.
local FIELDS = { agent_message_chunk = "messageId", agent_thought_chunk = "messageId", tool_call = "toolCallId",
  tool_call_update = "toolCallId" }

-- What an update belongs to: a string; nil where it does not say so.
local function key_of(update)
  local field = FIELDS[update.sessionUpdate]
  local id = field and read.text(update[field])
  return id and #id <= ID_MAX and field .. id or nil
end

-- Adds a key to a set, which forgets what it had where it is full.
local function add(set, key)
  if set.keys[key] then return end
  if set.count == IDS_MAX then set.keys, set.count = {}, 0 end
  set.keys[key], set.count = true, set.count + 1
end

--- Whether an update that comes while a turn runs is of that turn; a tool_call is new in any case.
function methods:is_of_turn(update)
  local key = key_of(update)
  if not key then return true end
  if update.sessionUpdate ~= "tool_call" and self.broken.keys[key] and not self.said.keys[key] then return false end
  add(self.said, key)
  return true
end

--- The turn that ran is over; `is_broken`: it was broken off. Returns nothing.
function methods:finish(is_broken)
  for key in next, is_broken and self.said.keys or {} do add(self.broken, key) end
  self.said = { keys = {}, count = 0 }
end

--- Nothing was said yet, in a process of the agent.
function late.new()
  return setmetatable({ said = { keys = {}, count = 0 }, broken = { keys = {}, count = 0 } }, metatable)
end

return late
