--- The steps of a playbook: reads them from JSON text or a list, checks them, and turns each into a scripted turn.
-- Every problem raises an InvalidPlaybookError whose `field` is the path of what is wrong (`steps[2].tool_calls[1].id`)
-- and whose `expected` says what belongs there.

local core = require "koine.core"
local errors = require "koine.data.errors"
local records = require "koine.data.records"
local failures = require "koine.testing.playbook.errors"

local steps = {}

local function fail(field, expected, value) failures.invalid(field, expected, errors.describe(value)) end

-- The keys of a table in order, in words.
local function names_of(fields)
  local names = {}
  for name in next, fields do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, ", ")
end

local function check_fields(value, path, fields)
  if type(value) ~= "table" then fail(path, "table", value) end
  local unknown = {}
  for name in next, value do
    if not fields[name] then unknown[#unknown + 1] = tostring(name) end
  end
  table.sort(unknown)
  if unknown[1] then
    failures.invalid(path .. "." .. unknown[1], "one of the fields " .. names_of(fields), "an unknown one")
  end
  for name, check in next, fields do
    if value[name] ~= nil then check(value[name], path .. "." .. name) end
  end
end

-- Checks of single values: function(value, path), raising when it is not what the name says.

local function is(kind)
  return function(value, path)
    if type(value) ~= kind then fail(path, kind, value) end
  end
end

local function count(least)
  return function(value, path)
    if math.type(value) ~= "integer" or value < least then fail(path, "integer, " .. least .. " or more", value) end
  end
end

local function name(value, path)
  if type(value) ~= "string" or value == "" then fail(path, "non-empty string", value) end
end

local function any() end

local STOPS = { end_turn = true, tool_use = true, max_tokens = true, stop_sequence = true, pause_turn = true,
  refusal = true, sensitive = true, context_overflow = true }

local function stop_reason(value, path)
  if not STOPS[value] then fail(path, "one of " .. names_of(STOPS), value) end
end

local COUNTS = { input_tokens = count(0), output_tokens = count(0), cache_read_tokens = count(0),
  cache_creation_tokens = count(0), reasoning_tokens = count(0) }
local function usage(value, path) check_fields(value, path, COUNTS) end

local ERROR = { kind = name, status = count(100), headers = is "table", type = name, code = name, message = name,
  body = is "string", retry_after = is "number" }
local function turn_error(value, path) check_fields(value, path, ERROR) end

local STREAM_ERROR = { type = name, message = name, status = count(100), code = name, after = count(0) }
local function stream_error(value, path) check_fields(value, path, STREAM_ERROR) end

-- There is no wire under a playbook: of all faults only the wait before the answer means something.
local FAULT = { delay_ms = count(0) }
local function fault(value, path) check_fields(value, path, FAULT) end

local function is_object(value)
  if type(value) ~= "table" or getmetatable(value) == core.array_mt then return false end
  for key in next, value do
    if type(key) ~= "string" then return false end
  end
  return true
end

-- Raises for a table with holes or other keys than an array's, of which a part would not be played.
local function check_list(value, path, expected)
  if records.is_list(value) then return end
  failures.invalid(path, expected,
    type(value) == "table" and "a table with holes or other keys" or errors.describe(value))
end

local function tool_call(call, path)
  if type(call) ~= "table" then fail(path, "object", call) end
  name(call.id, path .. ".id")
  name(call.name, path .. ".name")
  if not is_object(call.arguments) then fail(path .. ".arguments", "object", call.arguments) end
end

local function tool_calls(value, path)
  check_list(value, path, "non-empty array of tool calls")
  if #value == 0 then fail(path, "non-empty array of tool calls", value) end
  for i, call in ipairs(value) do tool_call(call, path .. "[" .. i .. "]") end
end

-- A tool call of a turn: the id may be left out, and the arguments be given by their bytes alone.
local CALL = { type = any, id = name, name = name, arguments = is "table", arguments_json = is "string",
  arguments_error = name, provider_data = is "table" }
local function turn_call(block, path)
  name(block.name, path .. ".name")
  check_fields(block, path, CALL)
end

-- Content of a turn: a string or blocks.
local function content(value, path)
  if type(value) == "string" then return end
  check_list(value, path, "string or array of blocks")
  for i, block in ipairs(value) do
    local at = path .. "[" .. i .. "]"
    if type(block) == "table" and block.type == "tool_use" then
      turn_call(block, at)
    else
      local ok, err = errors.try(function()
        records.check_message({ role = "assistant", content = { block } }, at)
        return true
      end)
      if not ok then
        failures.invalid((err.field:gsub("%.content%[1%]", "", 1)), err.expected, err.message:match ", got (.*)$")
      end
    end
  end
end

-- The types of steps: what each may hold, what it must, and the turn that it stands for.

local function blocks_of(step)
  local blocks = {}
  if step.thinking then blocks[1] = { type = "thinking", thinking = step.thinking } end
  if step.content then blocks[#blocks + 1] = { type = "text", text = step.content } end
  for _, call in ipairs(step.tool_calls or {}) do
    blocks[#blocks + 1] = { type = "tool_use", id = call.id, name = call.name, arguments = call.arguments }
  end
  return { content = blocks, usage = step.usage, stop_reason = step.stop_reason, fault = step.fault }
end

local function itself(step) return step end

local TYPES = {
  message = { required = "content", turn = blocks_of,
    fields = { content = name, thinking = name, usage = usage, stop_reason = stop_reason, fault = fault } },
  tool_calls = { required = "tool_calls", turn = blocks_of, fields = { tool_calls = tool_calls, content = name,
    thinking = name, usage = usage, stop_reason = stop_reason, fault = fault } },
  error = { required = "error", turn = itself, fields = { error = turn_error, fault = fault } },
  turn = { turn = itself, fields = { content = content, stop_reason = stop_reason, usage = usage, model = name,
    id = name, stop_sequence = name, chunk = count(1), interleave = is "boolean", error = turn_error,
    stream_error = stream_error, fault = fault } },
}

for _, kind in next, TYPES do kind.fields.step, kind.fields.type = any, any end

local function check(step, path)
  if type(step) ~= "table" or getmetatable(step) == core.array_mt then fail(path, "object", step) end
  if math.type(step.step) ~= "integer" then fail(path .. ".step", "integer", step.step) end
  local kind = TYPES[step.type]
  if not kind then fail(path .. ".type", '"message", "tool_calls", "error" or "turn"', step.type) end
  check_fields(step, path, kind.fields)
  local required = kind.required
  if required and step[required] == nil then kind.fields[required](nil, path .. "." .. required) end
  if step.type == "turn" and (step.content == nil) == (step.error == nil) and not step.stream_error then
    failures.invalid(path .. ".content", "either content or error", step.content == nil and "neither" or "both")
  end
end

-- Steps: read-only views of what was checked ----------------------------------------------------------------------

local views = setmetatable({}, { __mode = "k" }) -- view → its private copy

local methods = {}

--- True when the step is of that type: "message", "tool_calls", "error" or "turn".
function methods:is(kind) return views[self].type == kind end

--- The scripted turn that the step stands for, a fresh table.
function methods:turn() return records.to_table(TYPES[views[self].type].turn(views[self])) end

local view_mt = { __name = "koine.testing.playbook.step" }

-- A member, or a copy of it where it is a table: a step never changes.
function view_mt.__index(view, key)
  return methods[key] or records.to_table(views[view][key])
end

function view_mt.__newindex(_, key) errors.argument(tostring(key), "nothing (a step does not change)", key) end

function view_mt.__tostring(view) return ("Step #%d (%s)"):format(views[view].step, views[view].type) end

--- Checks one step and returns its read-only view: its fields, `is(type)`, `turn()`, and "Step #42 (message)" as text.
-- `path` begins the field's name in errors ("step").
function steps.new(step, path)
  check(step, path or "step")
  local view = setmetatable({}, view_mt)
  views[view] = records.to_table(step)
  return view
end

-- The list that JSON text holds.
local function decoded(text)
  local list, err = core.decode(text)
  if list == nil then failures.invalid("steps", "JSON text", "text that is none: " .. tostring(err)) end
  if type(list) ~= "table" or (getmetatable(list) ~= core.array_mt and next(list) ~= nil) then
    fail("steps", "JSON array", list)
  end
  return list
end

--- Reads all steps: JSON text or a list. An array of views; step ids must differ.
function steps.load(source)
  local list = type(source) == "string" and decoded(source) or source
  check_list(list, "steps", "JSON text or array of steps")
  local loaded, seen = {}, {}
  for i, step in ipairs(list) do
    local path = "steps[" .. i .. "]"
    loaded[i] = steps.new(step, path)
    if seen[step.step] then
      failures.invalid(path .. ".step", "id that no other step has", "a second " .. tostring(step.step))
    end
    seen[step.step] = true
  end
  return loaded
end

return steps
