--- A history, told to the editor as if it happened now.

local core = require "koine.core"

local replay = {}

local function say(session, kind, id, content)
  session:send { sessionUpdate = kind, messageId = id, content = content }
end

local function text(words) return { type = "text", text = words } end

local blocks = { user = {}, assistant = {} }

function blocks.user.text(session, block, id) say(session, "user_message_chunk", id, text(block.text)) end

function blocks.user.image(session, block, id)
  if not block.media_type then return end
  say(session, "user_message_chunk", id, { type = "image", data = block.source, mimeType = block.media_type })
end

function blocks.user.document(session, block, id)
  say(session, "user_message_chunk", id, text(("[%s]"):format(block.title or "document")))
end

local function words_of(content)
  if type(content) == "string" then return content end
  local texts = {}
  for _, block in ipairs(content or {}) do texts[#texts + 1] = block.type == "text" and block.text or nil end
  return table.concat(texts, "\n")
end

function blocks.user.tool_result(session, block, _, state)
  local id = state.calls[block.tool_use_id]
  if not id then return end
  session:send { sessionUpdate = "tool_call_update", toolCallId = id,
    status = block.is_error and "failed" or "completed",
    content = core.array { { type = "content", content = text(words_of(block.content)) } } }
end

function blocks.assistant.text(session, block)
  if block.text ~= "" then say(session, "agent_message_chunk", session:message_id(), text(block.text)) end
end

blocks.assistant.refusal = blocks.assistant.text

function blocks.assistant.thinking(session, block)
  if block.thinking ~= "" then say(session, "agent_thought_chunk", session:message_id(), text(block.thinking)) end
end

function blocks.assistant.tool_use(session, block, _, state)
  if block.output then return blocks.assistant.text(session, { text = block.arguments_json }) end
  local id = session:call_id(block.id)
  state.calls[block.id] = id
  local update = state.show(block)
  update.sessionUpdate, update.toolCallId, update.status = "tool_call", id, "pending"
  session:send(update)
end

--- Tells the whole history of a session. `show(block)` gives what the editor is shown of a call.
function replay.tell(session, show)
  local state = { calls = {}, show = show }
  for _, message in ipairs(session.messages) do
    local content = message.content
    if type(content) == "string" then content = { { type = "text", text = content } } end
    local id = message.role == "user" and session:message_id()
    for _, block in ipairs(content) do
      local tell = blocks[message.role] and blocks[message.role][block.type]
      if tell then tell(session, block, id, state) end
    end
  end
end

return replay
