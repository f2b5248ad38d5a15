--- Messages of sampling: a server's into Koine's, and a model's answer back. Nothing here raises or waits.

local blocks_of = require("koine.protocol.mcp.tools.content").blocks
local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local records = require "koine.data.records"

local messages = {}

local STOP_REASONS = { end_turn = "endTurn", max_tokens = "maxTokens", stop_sequence = "stopSequence",
  tool_use = "toolUse" }

local function present(value)
  if value ~= core.null then return value end
end

-- Items that only messages have, by type: function(item) → its block.
local own = {}

function own.tool_use(item)
  return { type = "tool_use", id = item.id, name = item.name, arguments = item.input }
end

function own.tool_result(item)
  local is_error = item.isError == true
  return { type = "tool_result", tool_use_id = item.toolUseId, is_error = is_error,
    content = blocks_of { content = item.content, structured = present(item.structuredContent), is_error = is_error } }
end

-- Blocks of what stands where an item or an array of them may.
local function list_of(content)
  if type(content) ~= "table" then return nil end
  if not check.is_list(content) then content = { content } end
  local list = {}
  for _, item in ipairs(content) do
    local make = type(item) == "table" and own[item.type]
    local made = make and { make(item) } or blocks_of { content = { item } }
    table.move(made, 1, #made, #list + 1, list)
  end
  return list
end

--- Koine's messages of a server's array of them; or nil, and what is wrong with it. What no provider takes becomes a
-- line of text, as in a tool's result.
function messages.read(given)
  if not check.is_list(given) or #given == 0 then return nil, "messages: array of messages expected" end
  local made = {}
  for i, message in ipairs(given) do
    if type(message) ~= "table" then return nil, ("messages[%d]: object expected"):format(i) end
    made[i] = { role = message.role, content = list_of(message.content) }
  end
  local kept, err = errors.try(records.check_messages, made, "messages")
  if not kept then return nil, errors.words(err) end
  return kept
end

--- Koine's tools of a server's array of them; or nil, and what is wrong with it.
function messages.tools(given)
  if not check.is_list(given) then return nil, "tools: array of tools expected" end
  local made = {}
  for i, tool in ipairs(given) do
    if type(tool) ~= "table" then return nil, ("tools[%d]: object expected"):format(i) end
    local kept, err = errors.try(records.tool_definition, { name = tool.name, parameters = tool.inputSchema,
      description = present(tool.description) or present(tool.title) or "" })
    if not kept then return nil, ("tools[%d]: %s"):format(i, errors.words(err)) end
    made[i] = kept
  end
  return made
end

-- The items of an answer that a server can read; nil, and why, when a call of the model's is malformed.
local function items_of(content)
  local items, texts = {}, {}
  for _, block in ipairs(content) do
    if block.type == "text" or block.type == "refusal" then
      items[#items + 1] = { type = "text", text = block.text }
      texts[#texts + 1] = block.text
    elseif block.type == "tool_use" then
      if block.arguments_error then return nil, "the model's call of a tool is malformed" end
      items[#items + 1] = { type = "tool_use", id = block.id, name = block.name, input = block.arguments }
    end
  end
  return items, texts
end

--- What a server is answered: {role, content, model, stopReason} of a Response or a table with its fields (content: a
-- string or blocks). With tools, content is an array where there is not just one block; without them it is one text.
-- Or nil, and why there is none.
function messages.write(response, has_tools)
  local content = response.content
  if type(content) == "string" then content = { { type = "text", text = content } } end
  local items, texts = items_of(content)
  if not items then return nil, texts end
  local answer = { role = "assistant", model = response.model or "unknown",
    stopReason = STOP_REASONS[response.stop_reason] or response.stop_reason }
  if not has_tools or #items == 0 then
    answer.content = { type = "text", text = table.concat(texts) }
  else
    answer.content = #items == 1 and items[1] or core.array(items)
  end
  return answer
end

return messages
