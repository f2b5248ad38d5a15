--- Captured content as OpenTelemetry's conventions for generative AI have it: text of JSON, messages of {role, parts}.

local core = require "koine.core"

local content = {}

local PARTS = {
  text = function(block) return { type = "text", content = block.text } end,
  refusal = function(block) return { type = "text", content = block.refusal or block.text } end,
  thinking = function(block) return { type = "reasoning", content = block.thinking } end,
  tool_use = function(block)
    return { type = "tool_call", id = block.id, name = block.name, arguments = block.arguments or block.arguments_json }
  end,
  tool_result = function(block)
    return { type = "tool_call_response", id = block.tool_use_id, result = block.content }
  end,
}

-- The parts of a string or of an array of blocks. Blocks that the conventions do not know stay as they are.
local function parts_of(blocks)
  local parts = core.array {}
  if type(blocks) == "string" then blocks = { { type = "text", text = blocks } } end
  for i, block in ipairs(type(blocks) == "table" and blocks or {}) do
    local make = type(block) == "table" and PARTS[block.type]
    parts[i] = make and make(block) or type(block) == "table" and block or { type = "text", content = tostring(block) }
  end
  return parts
end

-- Results of tools have the role "tool".
local function role_of(message, parts)
  for _, part in ipairs(parts) do
    if part.type ~= "tool_call_response" then return message.role end
  end
  return parts[1] and "tool" or message.role
end

--- Messages of a request (an array) as text; nil for anything else.
function content.input(messages)
  if type(messages) ~= "table" then return nil end
  local list = core.array {}
  for i, message in ipairs(messages) do
    local parts = parts_of(message.content)
    list[i] = { role = role_of(message, parts), parts = parts }
  end
  return core.encode(list)
end

--- The answer as text: one message; nil where there are no blocks. `reason` is why it ended, nil where nobody knows.
function content.output(blocks, reason)
  if blocks == nil then return nil end
  return core.encode(core.array { { role = "assistant", parts = parts_of(blocks), finish_reason = reason } })
end

--- A system text or its blocks, as text; nil for none.
function content.system(system) return system ~= nil and core.encode(parts_of(system)) or nil end

--- Any other captured value as text; nil for none.
function content.text(value)
  if value == nil or type(value) == "string" then return value end
  return core.encode(value)
end

return content
