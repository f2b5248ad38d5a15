--- Asks for an answer of a shape: chooses how, by what row and model say, and changes the canonical request. Four ways:
--
--   native  the wire's own field holds the schema
--   tool    the model answers by calling a tool whose parameters are the schema
--   prompt  the system prompt holds the schema
--   object  any JSON object: the wire's own field for that, else the system prompt
--
-- Row and model say it in their quirks: structured, structured_tools, structured_strict, no_json_object,
-- forced_choice, schema_dialect (src/core/codec/codec.h).

local core = require "koine.core"
local errors = require "koine.data.errors"
local refused = require "koine.call.output.refused"
local schema = require "koine.data.schema"
local sent = require "koine.call.output.sent"

local ask = {}

local CALL_IT = "Give the final answer by calling this tool once."

-- Whether the model can be made to call a tool: request.thinking is what goes out.
local function may_force(facts, request)
  if facts.forced_choice == "never" then return false end
  return facts.forced_choice ~= "unthinking" or not request.thinking or request.thinking == "none"
end

local function has_tools(request) return request.tools ~= nil and next(request.tools) ~= nil end

-- The ways in which a schema may be asked for where the caller leaves that open, the best first.
local function ways(facts, request)
  local tools, list = has_tools(request), {}
  if facts.structured == "schema" and (facts.structured_tools or not tools) then list[1] = "native" end
  if facts.structured == "object" and not tools then list[#list + 1] = "prompt" end
  local may_call = not facts.no_tools and request.tool_choice ~= "none"
  if may_call and may_force(facts, request) then list[#list + 1] = "tool" end
  list[#list + 1] = "prompt"
  return list
end

-- The system prompt with a last block: what is cached before it stays.
local function add_system(request, text)
  local blocks, system = {}, request.system
  if type(system) == "string" then blocks[1] = { type = "text", text = system }
  elseif system then table.move(system, 1, #system, 1, blocks) end
  blocks[#blocks + 1] = { type = "text", text = text }
  request.system = blocks
end

local NAME_MAX <const> = 64 -- bytes of a tool's name

-- A name that no tool of the caller's has.
local function free_name(tools, name)
  local taken, wanted, n = {}, name, 1
  for _, tool in ipairs(tools) do taken[tool.name or ""] = true end
  while taken[wanted] do
    n = n + 1
    local suffix = "_" .. n
    wanted = name:sub(1, NAME_MAX - #suffix) .. suffix
  end
  return wanted
end

-- The schema of a tool, nil for one that is no schema: what is wrong with it is said when the request is written.
local function parameters_of(tool)
  local parameters = tool.parameters
  if type(parameters) == "string" then parameters = core.decode(parameters) end
  return type(parameters) == "table" and errors.try(function()
    schema.check(parameters, "parameters")
    return parameters
  end) or nil
end

-- The schemas of the strict tools that count with the shape's, an array.
local function strict_schemas(tools, facts)
  local list = {}
  for _, tool in ipairs(sent.counts_tools(facts) and tools or {}) do
    if tool.strict == true then list[#list + 1] = parameters_of(tool) end
  end
  return list
end

-- How each way asks: function(plan, request, spec, state), which changes the request; nil and a refusal where it
-- cannot.
local by_mode = {}

-- Notes what became of the schema, and returns what goes out.
local function take(plan, made)
  plan.wrapped, plan.nullable, plan.warning = made.wrapped, made.nullable, made.warning or plan.warning
  return made.schema
end

local TOO_COMPLEX = { path = "schema", message = "schema: the provider finds it too complex" }

function by_mode.native(plan, request, spec, state)
  local facts = state.quirks
  local beside, refusal, made = strict_schemas(request.tools, facts), sent.unfit(request.messages, facts), nil
  if not refusal then made, refusal = sent.native(spec, facts, beside) end
  if not made then return nil, refusal end
  if ask.is_open(spec) and refused.has(state, made.schema, beside) then return nil, TOO_COMPLEX end
  if has_tools(request) and not facts.structured_tools then
    plan.warning = { code = "output_deferred", field = "output",
      message = "the provider takes no schema beside tools: it is sent with requests that offer none" }
    return true
  end
  request.output = { name = spec.name, description = spec.description, schema = take(plan, made), strict = made.strict }
  plan.schema, plan.beside = made.schema, beside
  return true
end

function by_mode.tool(plan, request, spec, state)
  local facts, given = state.quirks, request.tools or {}
  local tools, made = table.move(given, 1, #given, 1, {}), sent.tool(spec, facts)
  plan.loose = true -- the model may answer in words instead
  plan.tool = free_name(tools, spec.name)
  tools[#tools + 1] = { name = plan.tool, parameters = take(plan, made), strict = made.strict,
    description = spec.description and CALL_IT .. " " .. spec.description or CALL_IT }
  request.tools = tools
  if request.tool_choice ~= nil then return true end -- the caller's wins
  if may_force(facts, request) then
    request.tool_choice = #given > 0 and "any" or { type = "tool", name = plan.tool }
  else
    add_system(request, ("Give the final answer by calling the tool %s."):format(plan.tool))
  end
  return true
end

function by_mode.prompt(plan, request, spec, state)
  plan.loose = true
  add_system(request, "Answer with one JSON value that satisfies this JSON Schema, and nothing else.\n"
    .. core.write_schema(take(plan, sent.plain(spec))))
  if state.quirks.structured == "object" and not has_tools(request) then request.output = { name = spec.name } end
  return true
end

function by_mode.object(plan, request, spec, state)
  local facts = state.quirks
  plan.loose = true
  local native = (facts.structured == "schema" or facts.structured == "object")
    and (facts.structured_tools or not has_tools(request))
  if native and not facts.no_json_object then
    request.output = { name = spec.name }
  elseif native and facts.schema_dialect == "gbnf" then -- any object, by a grammar
    request.output = { name = spec.name, schema = { type = "object" } }
  else
    add_system(request, "Answer with one JSON object, and nothing else.")
  end
  return true
end

-- A table with what `below` holds, and over it what `above` holds; two tables become one. New tables.
local function merged(below, above)
  if type(below) ~= "table" or type(above) ~= "table" then
    if above == nil then return below end
    return above
  end
  local made = {}
  for name, value in next, above do made[name] = value end
  for name, value in next, below do made[name] = merged(value, above[name]) end
  return made
end

--- Whether another way may be taken where the provider cannot be held to the schema.
function ask.is_open(spec) return spec.mode == "auto" and spec.strict ~= true end

--- Puts what asks for the shape into a canonical request: {mode, spec, wrapped = the value stands in an object's member
-- `value`, tool = the name of the tool that the answer comes in, loose = words may stand around the JSON, nullable =
-- null may stand for an optional property, warning, schema = what went out in the wire's own field, beside = the
-- schemas of the strict tools that went with it}. `spec` is the checked option (option.lua), `state` the adapter's
-- private table. Raises an ArgumentError where the caller's mode is native, or strict, and the wire cannot say the
-- schema.
function ask.plan(request, spec, state)
  local list = spec.mode == "auto" and ways(state.quirks, request) or { spec.mode }
  local refusal
  for _, mode in ipairs(list) do
    local plan = { mode = mode, spec = spec, warning = refusal and sent.refused(refusal, mode) }
    local asked, why_not = by_mode[mode](plan, request, spec, state)
    if asked then
      local extra = request.output and state.row.output_extra
      if extra then request.extra = merged(extra, request.extra) end
      return plan
    end
    refusal = why_not
    if not ask.is_open(spec) then break end
  end
  core.raise_argument("output." .. refusal.path, "a schema that the provider can be held to", refusal.message)
end

return ask
