--- The fields of an agent: what each of them may be. Tables are copied.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local observer = require "koine.data.observer"
local options = require "koine.call.options"
local records = require "koine.data.records"
local stop = require "koine.agent.stop"
local tool = require "koine.agent.tool"

local fields = {}

local SYSTEM = check.either("string or array of text blocks", check.string, check.table)
local function check_system(value, path) return records.to_table(SYSTEM(value, path)) end

local OWN = { system = true, tools = true, on_delta = true, stream = true, parent = true }

local function check_options(value, path)
  if type(value) ~= "table" then check.refuse(path, "table of call options", value) end
  for _, name in ipairs(check.names(value)) do
    local field = path .. "." .. tostring(name)
    if OWN[name] then errors.argument(field, "a field of the agent, not an option", name) end
    options.check_name(name, field)
  end
  return records.to_table(value)
end

local FIELDS = { adapter = check.adapter, tools = tool.list, system = check_system, stop = stop.list,
  options = check_options, parallel = check.boolean, prepare = check.func, on_event = check.func,
  on_delta = check.func, checkpoint = check.func, name = check.name, observer = observer.option,
  parent = observer.parent }

-- The names that other libraries give these fields, or have in their place.
local STEPS = "stop = koine.agent.steps(n)"
local HINTS = { max_steps = STEPS, max_iterations = STEPS, max_turns = STEPS, max_rounds = STEPS,
  max_tool_calls = STEPS, model = "adapter = koine.PROVIDER { model = … }", instructions = "system",
  system_prompt = "system",
  functions = "tools", callback = "on_event" }

--- Checks one field: the value to keep. `path` (nil: the name) begins the field's name in errors.
function fields.check(name, value, path) return FIELDS[name](value, path or name) end

-- Raises for an unknown field, which may be meant as an option.
local function unknown_field(name)
  if HINTS[name] or OWN[name] or not options.is_call(name) then check.unknown("field", name, FIELDS, nil, HINTS) end
  core.raise(errors.new { kind = "argument", field = name, expected = "options." .. name,
    message = ("%s: unknown field; did you mean options.%s?"):format(name, name) })
end

--- `given`, checked, over what `below` holds: a new table. Raises an ArgumentError for an unknown or bad field.
function fields.merged(given, below)
  local spec = {}
  for name, value in next, below do spec[name] = value end
  local names = check.names(given)
  for _, name in ipairs(names) do
    if not FIELDS[name] then unknown_field(name) end
  end
  for _, name in ipairs(names) do spec[name] = fields.check(name, given[name]) end
  return spec
end

return fields
