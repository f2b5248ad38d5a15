--- Settles an answer: reads its value, judges it by the caller's schema, and notes on the Response what came of it.

local core = require "koine.core"
local cut = require("koine.data.text").cut
local grow = require "koine.call.output.grow"
local judges = require "koine.data.schema.judge"
local nulls = require "koine.data.schema.nulls"
local read = require "koine.call.output.read"

local CUT = { max_tokens = true, context_overflow = true }
local GOES_ON = { tool_use = true, pause_turn = true }
local REFUSED = { refusal = true, sensitive = true }
local TEXT_MAX = 65536 -- bytes of an answer that an error keeps

local settle = {}

--- Returns the answer's text, and how many calls hold an answer: the text is the arguments of the first.
function settle.said(response)
  local text, calls = nil, 0
  for _, block in ipairs(response.content) do
    if block.type == "tool_use" and block.output then
      text, calls = text or block.arguments_json, calls + 1
    end
  end
  return text or response:text(), calls
end

-- The words of a refusal, or nil.
local function refusal(response)
  for _, block in ipairs(response.content) do
    if block.type == "refusal" then return block.text end
  end
end

local function warn(warnings, code, message)
  warnings[#warnings + 1] = { code = code, field = "output", message = message }
end

-- The value under the name that a root of another kind was wrapped in.
local function unwrapped(plan, value)
  if not plan.wrapped then return value end
  if type(value) == "table" and value.value ~= nil then return value.value end
end

-- The words of what the caller's check gives as its reason: text, or what has a text of its own, such as an error.
local function words_of(why)
  local kind, mt = type(why), getmetatable(why)
  if kind == "string" or kind == "number" or type(mt) == "table" and mt.__tostring then return tostring(why) end
  return "the caller's check refused the value"
end

-- Judges a value by the schema, and by the caller's own check: nil, or what is wrong.
local function judge(plan, value)
  local spec = plan.spec
  if spec.schema ~= nil then
    local fits, why, path = judges.validate(spec.schema, spec.schema, value, "", true)
    if not fits then return { code = "invalid", message = why, path = path } end
  end
  if not spec.check then return nil end
  local accepted, why = spec.check(value)
  if accepted then return nil end
  return { code = "invalid", message = words_of(why) }
end

-- Why there is no value to look for, or nil.
local function stopped(response)
  local reason = response.stop_reason
  if CUT[reason] then return { code = "truncated", message = ("the answer was cut off (%s)"):format(reason) } end
  local words = refusal(response)
  if words or REFUSED[reason] then return { code = "refused", message = words or "the model refused to answer" } end
end

-- Whether the answer is not over: it calls tools, or the provider paused it.
local function is_on_its_way(response) return GOES_ON[response.stop_reason] or #response.tool_calls > 0 end

-- The value of an answer, or nil and what is wrong; adds to `warnings`.
local function value_of(plan, warnings, text, is_call)
  local value, what, why = read.text(text, plan.loose and not is_call)
  if value == nil then return nil, { code = what, message = why } end
  if what then warn(warnings, "output_extracted", what) end
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

-- Notes what else there was beside the call that holds the answer: other such calls, calls that were left undone.
local function note_others(response, warnings, calls)
  if calls > 1 then warn(warnings, "output_extracted", "the answer was several calls: the first was taken") end
  if #response.tool_calls == 0 then return end
  warn(warnings, "calls_undone", "the model called other tools beside its answer: they were not run")
end

--- Reads and judges the answer of a Response and notes output, output_error and output_mode on it. Returns the
-- output_error, nil where there is none: {code = "not_json", "invalid", "truncated", "refused" or "empty", message,
-- text, path = a JSON pointer where the schema refused something}. An answer that calls tools, and gives none, has
-- neither.
function settle.response(plan, response)
  local text, calls = settle.said(response)
  local problem, goes_on = stopped(response), calls == 0 and is_on_its_way(response)
  local value
  local warnings = { plan.warning }
  if not problem and not goes_on then value, problem = value_of(plan, warnings, text, calls > 0) end
  if not problem and calls > 0 then note_others(response, warnings, calls) end
  -- nothing was changed before: the caller's check may have been broken off
  table.move(warnings, 1, #warnings, #response.warnings + 1, response.warnings)
  core.annotate(response, "output_mode", plan.mode)
  if problem then problem.text = (cut(text, TEXT_MAX)) end
  core.annotate(response, problem and "output_error" or "output", problem or value)
  return problem
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
