--- Strict validation of `output_config` of Anthropic Messages requests, and of strict tools: their schemas, one by one
-- and together. Pure.

local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"
local strict = require "koine.testing.loopback.strict.anthropic"

local set = check.set

-- The models that have no formats, by what is in their ids.
local WITHOUT = { "claude%-[123]%D", "claude%-instant", "claude%-opus%-4%-0", "claude%-sonnet%-4%-0",
  "claude%-opus%-4%-2025", "claude%-sonnet%-4%-2025" }

-- True where a document is to be cited.
local function has_citations(value)
  if type(value) ~= "table" then
    return false
  elseif json.is_object(value.citations) and value.citations.enabled == true then
    return true
  end
  for _, member in pairs(value) do
    if has_citations(member) then
      return true
    end
  end
  return false
end

local function check_around(ctx, body)
  local messages = json.is_array(body.messages) and body.messages or {}
  local last = messages[#messages]
  if has_citations(messages) then
    ctx.check:add("output_config.format", "cannot be used together with citations")
  elseif json.is_object(last) and last.role == "assistant" then
    ctx.check:add("output_config.format", "cannot be used together with the beginning of the answer")
  end
  for _, pattern in ipairs(WITHOUT) do
    if tostring(ctx.model):find(pattern) then
      ctx.check:add("output_config.format", "'%s' does not support output format.", ctx.model)
    end
  end
end

local function check_format(ctx, body, judge)
  local format = body.output_config.format
  if format == nil or not ctx.check:object("output_config.format", format, set "type schema", "type schema") then
    return
  end
  ctx.check:word("output_config.format.type", format.type, "json_schema")
  check_around(ctx, body)
  local problem = strict.problem(judge, format.schema)
  if problem then
    ctx.check:add("output_config.format.schema", "%s", problem)
  end
end

--- Checks both. `ctx`: see check.lua.
return function(ctx, body)
  local judge, config = strict.new(), body.output_config
  if config ~= nil and ctx.check:object("output_config", config, set "effort format task_budget") then
    ctx.check:word("output_config.effort", config.effort, "low medium high xhigh max")
    check_format(ctx, body, judge)
  end
  for i, tool in ipairs(json.is_array(body.tools) and body.tools or {}) do
    if json.is_object(tool) and tool.strict == true then
      strict.tool(judge, ctx.check, i, tool.input_schema)
    end
  end
  ctx.check.problems[#ctx.check.problems + 1] = strict.beyond(judge)
end
