--- Settles an answer: reads its value, judges it by the caller's schema, and notes on the Response what came of it.

local core = require "koine.core"
local cut = require("koine.data.text").cut
local grow = require "koine.call.output.grow"
local nulls = require "koine.data.schema.nulls"
local read = require "koine.call.output.read"
local schema = require "koine.data.schema"

local CUT = { max_tokens = true, context_overflow = true }
local GOES_ON = { tool_use = true, pause_turn = true }
local REFUSED = { refusal = true, sensitive = true }
local TEXT_MAX = 65536 -- bytes of an answer that an error keeps

local settle = {}

--- Returns the answer's text, and whether it is the arguments of the call that holds the answer.
function settle.said(response)
  for _, block in ipairs(response.content) do
    if block.type == "tool_use" and block.output then return block.arguments_json, true end
  end
  return response:text(), false
end

-- The words of a refusal, or nil.
local function refusal(response)
  for _, block in ipairs(response.content) do
    if block.type == "refusal" then return block.text end
  end
end

local function add_warning(response, warning)
  local warnings = response.warnings
  warnings[#warnings + 1] = warning
end

local function warn(response, code, message)
  add_warning(response, { code = code, field = "output", message = message })
end

-- The value under the name that a root of another kind was wrapped in.
local function unwrapped(plan, value)
  if not plan.wrapped then return value end
  if type(value) == "table" and value.value ~= nil then return value.value end
end

-- Judges a value by the schema, and by the caller's own check: nil, or what is wrong.
local function judge(plan, value)
  local spec = plan.spec
  if spec.schema ~= nil then
    local fits, why = schema.validate(spec.schema, value)
    if not fits then return { code = "invalid", message = why } end
  end
  if not spec.check then return nil end
  local accepted, why = spec.check(value)
  if accepted then return nil end
  return { code = "invalid", message = why ~= nil and tostring(why) or "the caller's check refused the value" }
end

-- Why there is no value to look for, or nil.
local function stopped(response)
  local reason = response.stop_reason
  if CUT[reason] then return { code = "truncated", message = ("the answer was cut off (%s)"):format(reason) } end
  local words = refusal(response)
  if words or REFUSED[reason] then return { code = "refused", message = words or "the model refused to answer" } end
end

-- The value of an answer, or nil and what is wrong.
local function value_of(plan, response, text, is_call)
  local value, what, why = read.text(text, plan.loose and not is_call)
  if value == nil then return nil, { code = what, message = why } end
  if what then warn(response, "output_extracted", what) end
  if plan.mode == "object" and (type(value) ~= "table" or getmetatable(value) == core.array_mt) then
    return nil, { code = "invalid", message = "a JSON object expected" }
  end
  value = unwrapped(plan, value)
  if value == nil then return nil, { code = "invalid", message = "an object with the member value expected" } end
  if plan.nullable then value = nulls.strip(plan.spec.schema, value) end
  if plan.spec.schema ~= nil then value = read.integers(value, plan.spec.schema) end
  local problem = judge(plan, value)
  if problem then return nil, problem end
  return value
end

-- Notes that calls beside the answer were left undone.
local function note_undone(response)
  if #response.tool_calls == 0 then return end
  warn(response, "calls_undone", "the model called other tools beside its answer: they were not run")
end

--- Reads and judges the answer of a Response and notes output, output_error and output_mode on it. Returns the
-- output_error, nil where there is none: {code = "not_json", "invalid", "truncated", "refused" or "empty", message,
-- path, text}. An answer that calls tools, and gives none, has neither.
function settle.response(plan, response)
  local text, is_call = settle.said(response)
  local problem = stopped(response)
  local value
  core.annotate(response, "output_mode", plan.mode)
  if plan.warning then add_warning(response, plan.warning) end
  if not problem and not is_call and GOES_ON[response.stop_reason] then return nil end
  if not problem then value, problem = value_of(plan, response, text, is_call) end
  if problem then
    problem.text = (cut(text, TEXT_MAX))
    core.annotate(response, "output_error", problem)
    return problem
  end
  if is_call then note_undone(response) end
  core.annotate(response, "output", value)
end

--- Notes what there is of a value on the Response (or nil) of an answer that broke off.
function settle.partial(plan, response)
  if not response then return end
  local text = settle.said(response)
  local view = grow(plan)
  view:feed(text)
  core.annotate(response, "output", view:value())
  core.annotate(response, "output_mode", plan.mode)
  core.annotate(response, "output_error", { code = "truncated", message = "the answer broke off",
    text = (cut(text, TEXT_MAX)) })
end

return settle
