--- Strict validation of the messages of Anthropic Messages requests: their order, calls and their results, and what the
-- last one may be. Pure. `ctx`: see check.lua.

local blocks = require "koine.testing.loopback.wire.anthropic.blocks"
local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"

local set = check.set

--- The tool_use ids of a message, in order.
local function calls_of(message)
  local ids = {}
  if message and message.role == "assistant" and json.is_array(message.content) then
    for _, block in ipairs(message.content) do
      if type(block) == "table" and block.type == "tool_use" then
        ids[#ids + 1] = block.id
      end
    end
  end
  return ids
end

--- Results first, each answering one call of the message before, every call answered.
local function check_pairs(ctx, path, message, before)
  local open = {}
  for _, id in ipairs(calls_of(before)) do
    open[id] = true
  end
  local others = false
  for i, block in ipairs(json.is_array(message.content) and message.content or {}) do
    local at = ("%s.content.%d"):format(path, i - 1)
    if type(block) == "table" and block.type == "tool_result" then
      if others then
        ctx.check:add(at, "`tool_result` blocks must come before all other content")
      end
      if not open[block.tool_use_id or false] then
        ctx.check:add(at, "unexpected `tool_use_id` %s: no open `tool_use` block with this id in the previous message",
          tostring(block.tool_use_id))
      end
      open[block.tool_use_id or false] = nil
    else
      others = true
    end
  end
  for _, id in ipairs(calls_of(before)) do
    if open[id] then
      ctx.check:add(path, "`tool_use` ids were found without `tool_result` blocks immediately after: %s", id)
    end
  end
end

local function check_last(ctx, path, message, body)
  if message.role ~= "assistant" then
    return
  end
  if #calls_of(message) > 0 then
    ctx.check:add(path, "`tool_use` ids were found without `tool_result` blocks immediately after")
  end
  local text = message.content
  if json.is_array(text) then
    local block = text[#text]
    text = type(block) == "table" and block.type == "text" and block.text
  end
  if type(text) == "string" and text:find("%s$") then
    ctx.check:add(path, "final assistant content cannot end with trailing whitespace")
  end
  if type(text) == "string" and json.is_object(body.thinking) and body.thinking.type == "enabled" then
    ctx.check:add(path, "an assistant message may not be prefilled when thinking is enabled")
  end
end

--- With budget thinking the last assistant message that calls tools begins with its thinking.
local function check_leading_thinking(ctx, messages, body)
  if not json.is_object(body.thinking) or body.thinking.type ~= "enabled" then
    return
  end
  for i = #messages, 1, -1 do
    if messages[i].role == "assistant" then
      local first = json.is_array(messages[i].content) and messages[i].content[1]
      local kind = type(first) == "table" and first.type
      if #calls_of(messages[i]) > 0 and kind ~= "thinking" and kind ~= "redacted_thinking" then
        ctx.check:add(("messages.%d.content.0.type"):format(i - 1),
          "Expected `thinking` or `redacted_thinking`, but found `%s`", tostring(kind))
      end
      return
    end
  end
end

--- Checks the messages of a request.
return function(ctx, body)
  if not ctx.check:array("messages", body.messages) then
    return
  end
  local messages = {}
  for i, message in ipairs(body.messages) do
    local path = ("messages.%d"):format(i - 1)
    if not ctx.check:object(path, message, set "role content", "role content") then
      return
    end
    messages[i] = message
    if ctx.check:word(path .. ".role", message.role, "user assistant") then
      local previous = i > 1 and messages[i - 1].role or "assistant"
      if previous == message.role then
        ctx.check:add(path .. ".role", i == 1 and "first message must use the user role"
          or "roles must alternate between user and assistant")
      end
    end
    if type(message.content) == "string" then
      ctx.check:text(path .. ".content", message.content)
    else
      blocks.check(ctx, path .. ".content", message.content, message.role)
    end
    check_pairs(ctx, path, message, messages[i - 1])
  end
  check_last(ctx, ("messages.%d"):format(#messages - 1), messages[#messages], body)
  check_leading_thinking(ctx, messages, body)
end
