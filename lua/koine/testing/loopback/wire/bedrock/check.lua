--- Strict validation of Converse requests: what the real API refuses for the model's family is a problem here, and so
-- is what it only forgives. Pure; `issued` is the memory of what this server handed out (see issued.lua).

local blocks = require "koine.testing.loopback.wire.bedrock.blocks"
local check = require "koine.testing.loopback.check"
local check_format = require "koine.testing.loopback.wire.bedrock.format"
local json = require "koine.testing.loopback.json"
local settings = require "koine.testing.loopback.wire.bedrock.settings"

local set = check.set

local KEYS = set [[inferenceConfig outputConfig additionalModelRequestFields additionalModelResponseFieldPaths
  guardrailConfig performanceConfig serviceTier requestMetadata promptVariables system toolConfig messages]]
local COUNT_KEYS = set "messages system toolConfig"

-- `ctx` is what one request is checked with: {check = collector, issued, model, family, marks, ids, names, tools =
-- whether the history has any}. Of the family "nine_characters", Mistral's models, ids of calls have so many.

local function family_of(model)
  model = model:gsub("^arn:[^/]*/", ""):gsub("^[%l-]+%.(%l+%.)", "%1")
  return model:find "^anthropic%." and "claude" or model:find "^amazon%.nova" and "nova"
    or model:find "^meta%.llama" and "llama" or model:find "^mistral%." and "nine_characters" or "other"
end

--- The ids of a message's blocks of that kind, in order.
local function ids_of(message, kind)
  local ids = {}
  for _, block in ipairs(message and json.is_array(message.content) and message.content or {}) do
    local inner = json.is_object(block) and block[kind]
    ids[#ids + 1] = json.is_object(inner) and inner.toolUseId or nil
  end
  return ids
end

--- Every call of the message before is answered, and nothing else is.
local function check_pairs(ctx, path, message, before)
  local open = {}
  for _, id in ipairs(ids_of(before, "toolUse")) do
    open[id] = true
  end
  for _, id in ipairs(message.role == "user" and ids_of(message, "toolResult") or {}) do
    if not open[id] then
      ctx.check:add(path, "The number of toolResult blocks exceeds the number of toolUse blocks of previous turn: %s",
        id)
    end
    open[id] = nil
  end
  for id in pairs(open) do
    ctx.check:add(path, "Expected toolResult blocks for the following Ids: %s", id)
  end
end

-- Checks a message of the assistant at the end, which the model continues.
local function check_prefill(ctx, message)
  local last = message.content[#message.content]
  if ctx.family ~= "claude" or #ids_of(message, "toolUse") > 0 then
    ctx.check:add("messages", "A conversation must end with a user message.")
  end
  if json.is_object(last) and type(last.text) == "string" and last.text:find "%s$" then
    ctx.check:add("messages", "final assistant content cannot end with trailing whitespace")
  end
end

local function check_messages(ctx, body)
  if not ctx.check:array("messages", body.messages) then
    return
  end
  local before
  for i, message in ipairs(body.messages) do
    local path = ("messages.%d"):format(i - 1)
    if not ctx.check:object(path, message, set "role content", "role content") then
      return
    end
    if ctx.check:word(path .. ".role", message.role, "user assistant")
      and message.role == (before and before.role or "assistant") then
      ctx.check:add(path .. ".role", i == 1 and "A conversation must start with a user message."
        or "roles must alternate between user and assistant")
    end
    blocks.check(ctx, path .. ".content", message)
    check_pairs(ctx, path, message, before)
    before = message
  end
  if before.role == "assistant" then
    check_prefill(ctx, before)
  end
end

local function check_choice(ctx, choice, names)
  local key = choice ~= nil and blocks.key_of(ctx, "toolConfig.toolChoice", choice)
  if key == "tool" and not names[choice.tool.name or false] then
    ctx.check:add("toolConfig.toolChoice", "no such tool: %s", tostring(choice.tool.name))
  elseif key and key ~= "tool" and key ~= "any" and key ~= "auto" then
    ctx.check:add("toolConfig.toolChoice", "auto, any or tool expected")
  elseif key and key ~= "auto" and (ctx.family == "llama" or ctx.family == "other") then
    ctx.check:add("toolConfig.toolChoice", "the model knows auto alone")
  end
  return key == "any" or key == "tool"
end

--- Returns whether a call is forced.
local function check_tools(ctx, config)
  if not ctx.check:object("toolConfig", config, set "tools toolChoice", "tools")
    or not ctx.check:array("toolConfig.tools", config.tools) then
    return false
  end
  local names = {}
  for i, tool in ipairs(config.tools) do
    local path = ("toolConfig.tools.%d"):format(i - 1)
    local key = blocks.key_of(ctx, path, tool)
    if key == "cachePoint" then
      blocks.cache_point(ctx, path, tool.cachePoint, config.tools[i - 1])
      if ctx.family ~= "claude" then
        ctx.check:add(path, "the model does not cache tools")
      end
    elseif key == "toolSpec" and ctx.check:object(path, tool.toolSpec, set "name description inputSchema strict",
      "name inputSchema") then
      local spec = tool.toolSpec
      ctx.check:string(path .. ".name", spec.name, "^[%w_-]+$", "a name of the form [a-zA-Z0-9_-]{1,64}")
      if names[spec.name or false] then
        ctx.check:add(path, "tool names must be unique: %s", tostring(spec.name))
      end
      names[spec.name or false] = true
      if spec.description ~= nil then
        ctx.check:string(path .. ".description", spec.description)
      end
      ctx.check:boolean(path .. ".strict", spec.strict)
      if ctx.check:object(path .. ".inputSchema", spec.inputSchema, set "json", "json") then
        ctx.check:tool_schema(path .. ".inputSchema.json", spec.inputSchema.json)
      end
    elseif key and key ~= "toolSpec" and key ~= "systemTool" then
      ctx.check:add(path, "toolSpec, systemTool or cachePoint expected, got %s", key)
    end
  end
  return check_choice(ctx, config.toolChoice, names)
end

local function check_system(ctx, system)
  if system == nil or not ctx.check:array("system", system) then
    return
  end
  for i, block in ipairs(system) do
    local path = ("system.%d"):format(i - 1)
    local key = blocks.key_of(ctx, path, block)
    if key == "cachePoint" then
      blocks.cache_point(ctx, path, block.cachePoint, system[i - 1])
    elseif key == "text" then
      ctx.check:text(path .. ".text", block.text)
    elseif key and key ~= "guardContent" then
      ctx.check:add(path, "text or cachePoint expected, got %s", key)
    end
  end
end

local function unescape(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

-- Returns the request that a count wraps, or nil.
local function unwrap(c, body)
  if not c:object("request", body, set "input", "input")
    or not c:object("input", body.input, set "converse", "converse") then
    return nil
  end
  return body.input.converse
end

--- Checks a request to /model/ID/converse, /converse-stream or, when `count` is set, /count-tokens. `issued`: what the
-- server handed out. Returns the decoded body (nil when it is no object) with what its path says, `model` and `stream`,
-- and an array of problems.
return function(request, count, issued)
  local c = check.new()
  local id, action = request.target:match "^/model/([^/?]+)/([%l-]+)"
  local body = c:body(request)
  if body and count then
    body = unwrap(c, body)
  end
  if not body then
    return nil, c.problems
  end
  local model = unescape(id or "")
  local ctx = { check = c, issued = issued, marks = 0, ids = {}, names = {}, model = model, family = family_of(model) }
  c:object("request", body, count and COUNT_KEYS or KEYS, "messages")
  if body.inferenceConfig ~= nil then
    settings.inference(ctx, body.inferenceConfig)
  end
  settings.metadata(ctx, body.requestMetadata)
  check_format(ctx, body)
  check_system(ctx, body.system)
  local forced = body.toolConfig ~= nil and check_tools(ctx, body.toolConfig)
  check_messages(ctx, body)
  if ctx.tools and body.toolConfig == nil then
    c:add("toolConfig", "The toolConfig field must be defined when using toolUse and toolResult content blocks.")
  end
  settings.more(ctx, body, forced)
  if ctx.marks > 4 then
    c:add("cachePoint", "at most 4 cache points, found %d", ctx.marks)
  end
  body.model, body.stream = model, action == "converse-stream"
  return body, c.problems
end
