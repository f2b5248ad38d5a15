--- Messages of sampling: a server's into Koine's, and a model's answer back. Nothing here raises or waits.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local records = require "koine.data.records"

local messages = {}

local STOP_REASONS = { end_turn = "endTurn", max_tokens = "maxTokens", stop_sequence = "stopSequence",
  tool_use = "toolUse" }

local function present(value)
  if value ~= core.null then return value end
end

local blocks = {}

local function block_of(item)
  local make = type(item) == "table" and blocks[item.type]
  if make then return make(item) end
  return { type = "text", text = ("[%s: not shown]"):format(type(item) == "table" and tostring(item.type) or "?") }
end

-- Blocks of what stands where a block or an array of them may.
local function list_of(content)
  if type(content) ~= "table" then return nil end
  if not check.is_list(content) then content = { content } end
  local list = {}
  for i, item in ipairs(content) do list[i] = block_of(item) end
  return list
end

function blocks.text(item) return { type = "text", text = item.text } end

function blocks.image(item) return { type = "image", source = item.data, media_type = item.mimeType } end

function blocks.audio(item)
  return { type = "text", text = ("[audio, %s: not shown]"):format(tostring(item.mimeType)) }
end

function blocks.resource_link(item)
  return { type = "text", text = ("%s: %s"):format(tostring(item.name), tostring(item.uri)) }
end

function blocks.resource(item)
  local resource = type(item.resource) == "table" and item.resource or {}
  local body = type(resource.text) == "string" and resource.text or "[not shown]"
  return { type = "text", text = ("%s\n%s"):format(tostring(resource.uri), body) }
end

function blocks.tool_use(item)
  return { type = "tool_use", id = item.id, name = item.name, arguments = item.input }
end

function blocks.tool_result(item)
  local content = list_of(item.content)
  if content and not content[1] and type(item.structuredContent) == "table" then content = nil end
  return { type = "tool_result", tool_use_id = item.toolUseId, is_error = item.isError == true,
    content = content or core.encode(item.structuredContent or {}) }
end

--- Koine's messages of a server's array of them; or nil, and what is wrong with it. Audio and what has no block of
-- Koine's becomes a line of text that names it.
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
