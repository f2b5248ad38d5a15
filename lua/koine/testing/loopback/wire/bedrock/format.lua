--- Strict validation of `outputConfig` of Converse requests, and of strict tools, as a part of check.lua: the schema of
-- the answer is JSON in a string. Pure.

local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"
local strict = require "koine.testing.loopback.strict.anthropic"

local set = check.set

-- The models without it, by what is in their ids.
local WITHOUT = { "amazon%.nova", "claude%-3", "claude%-opus%-4%-[178]", "claude%-opus%-5", "claude%-sonnet%-5",
  "claude%-fable" }

local function check_schema(ctx, judge, path, text)
  local schema = type(text) == "string" and json.decode(text)
  if not schema then
    return ctx.check:add(path, "the text of a JSON Schema expected")
  end
  local problem = strict.problem(judge, schema)
  if problem then
    ctx.check:add("output_config.format.schema", "%s", problem)
  end
end

local function check_format(ctx, judge, config)
  local format = config.textFormat
  if format == nil or not ctx.check:object("outputConfig.textFormat", format, set "type structure", "type structure")
  then
    return
  end
  ctx.check:word("outputConfig.textFormat.type", format.type, "json_schema")
  local path, structure = "outputConfig.textFormat.structure", format.structure
  if not ctx.check:object(path, structure, set "jsonSchema", "jsonSchema")
    or not ctx.check:object(path .. ".jsonSchema", structure.jsonSchema, set "name description schema", "schema") then
    return
  end
  local asked = structure.jsonSchema
  if asked.name ~= nil then
    ctx.check:string(path .. ".jsonSchema.name", asked.name, "^[%w_-]+$", "a name of the form [a-zA-Z0-9_-]+")
  end
  check_schema(ctx, judge, path .. ".jsonSchema.schema", asked.schema)
  for _, pattern in ipairs(WITHOUT) do
    if ctx.model:find(pattern) then
      ctx.check:add("outputConfig.textFormat", "this model does not support structured output")
    end
  end
end

--- Checks both. `ctx`: see check.lua.
return function(ctx, body)
  local judge = strict.new()
  if body.outputConfig ~= nil and ctx.check:object("outputConfig", body.outputConfig, set "textFormat effort") then
    check_format(ctx, judge, body.outputConfig)
  end
  local tools = json.is_object(body.toolConfig) and body.toolConfig.tools
  for i, tool in ipairs(json.is_array(tools) and tools or {}) do
    local spec = json.is_object(tool) and json.is_object(tool.toolSpec) and tool.toolSpec
    if spec and spec.strict == true then
      strict.tool(judge, ctx.check, i, json.is_object(spec.inputSchema) and spec.inputSchema.json)
    end
  end
  ctx.check.problems[#ctx.check.problems + 1] = strict.beyond(judge)
end
