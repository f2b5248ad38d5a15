--- Checks the fields of a request to Converse beside tools and history, as a part of check.lua. Each function adds what
-- is wrong to the collector. Pure.

local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"

local set = check.set

local settings = {}

--- inferenceConfig.
function settings.inference(ctx, config)
  if not ctx.check:object("inferenceConfig", config, set "maxTokens temperature topP stopSequences") then
    return
  end
  ctx.check:integer("inferenceConfig.maxTokens", config.maxTokens, 1)
  ctx.check:number("inferenceConfig.temperature", config.temperature, 0, 1)
  ctx.check:number("inferenceConfig.topP", config.topP, 0, 1)
  ctx.check:strings("inferenceConfig.stopSequences", config.stopSequences, 2500)
  if ctx.family == "claude" and config.temperature and config.topP then
    ctx.check:add("inferenceConfig", "`temperature` and `top_p` cannot both be specified for this model")
  end
end

-- Claude's own choice of a tool, beside that of the format, which says the type where it says anything.
local function check_own_choice(ctx, choice, config)
  local path = "additionalModelRequestFields.tool_choice"
  if choice == nil or not ctx.check:object(path, choice, set "type name disable_parallel_tool_use") then
    return
  end
  local chosen = json.is_object(config) and config.toolChoice
  ctx.check:word(path .. ".type", choice.type, "auto any tool none")
  ctx.check:boolean(path .. ".disable_parallel_tool_use", choice.disable_parallel_tool_use)
  if not config then
    ctx.check:add(path, "there are no tools to choose from")
  elseif chosen and choice.type then
    ctx.check:add(path, "The additional field tool_choice/type conflicts with the field toolConfig.toolChoice.")
  elseif not chosen and not choice.type then
    ctx.check:add(path .. ".type", "Field required")
  end
end

--- Checks the fields that go to the model as they are: of Claude's those that thinking rules out.
function settings.more(ctx, body, forced)
  local more = body.additionalModelRequestFields
  if more == nil or not ctx.check:object("additionalModelRequestFields", more) or ctx.family ~= "claude" then
    return
  end
  check_own_choice(ctx, more.tool_choice, body.toolConfig)
  ctx.check:integer("additionalModelRequestFields.top_k", more.top_k, 0)
  local thinking, config = more.thinking, body.inferenceConfig or {}
  if not json.is_object(thinking) then
    return
  end
  local path = "additionalModelRequestFields.thinking"
  ctx.check:word(path .. ".type", thinking.type, "enabled disabled adaptive")
  if thinking.type == "enabled" then
    ctx.check:integer(path .. ".budget_tokens", thinking.budget_tokens or 0, 1024)
    if config.maxTokens and config.maxTokens <= (thinking.budget_tokens or 0) then
      ctx.check:add("inferenceConfig.maxTokens", "must be greater than `thinking.budget_tokens`")
    end
  end
  if thinking.type ~= "disabled" and more.top_k ~= nil then
    ctx.check:add("additionalModelRequestFields.top_k", "must be unset when thinking is enabled")
  end
  if thinking.type ~= "disabled" and (forced or config.temperature and config.temperature ~= 1) then
    ctx.check:add(path, "thinking allows neither a forced tool nor a temperature")
  end
end

--- requestMetadata.
function settings.metadata(ctx, metadata)
  local n = 0
  if metadata == nil or not ctx.check:object("requestMetadata", metadata) then
    return
  end
  for key, value in pairs(metadata) do
    n = n + 1
    if type(value) ~= "string" then
      ctx.check:add("requestMetadata." .. key, "a string expected")
    end
  end
  if n > 16 then
    ctx.check:add("requestMetadata", "at most 16 entries expected")
  end
end

return settings
