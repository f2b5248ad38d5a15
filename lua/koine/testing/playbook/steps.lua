--- The steps of a playbook: reads them from JSON text or a list, checks them, and makes a scripted answer of each.
-- Every problem raises an InvalidPlaybookError whose `field` is the path of what is wrong (`steps[2].tool_calls[1].id`)
-- and whose `expected` says what belongs there.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local records = require "koine.data.records"
local failures = require "koine.testing.playbook.errors"
local vocabulary = require "koine.data.vocabulary"

local steps = {}

-- Returns the result of f(...); wrong use that it raises is an InvalidPlaybookError.
local function checked(f, ...)
  local kept, err = errors.try(f, ...)
  if err then failures.invalid(err) end
  return kept
end

-- Single values -----------------------------------------------------------------------------------------------------

local COUNT = check.integer(0)
local STATUS = check.integer(100)
local NAME = check.nonempty

local stop_reason = check.one_of(vocabulary.stops)

local usage = check.record { input_tokens = COUNT, output_tokens = COUNT, cache_read_tokens = COUNT,
  cache_creation_tokens = COUNT, reasoning_tokens = COUNT }

local answer_error = check.record { kind = NAME, status = STATUS, headers = check.table, type = NAME,
  code = NAME, message = NAME, body = check.string, retry_after = check.number() }

local stream_error = check.record { type = NAME, message = NAME, status = STATUS, code = NAME,
  after = COUNT }

-- There is no wire under a playbook: of all faults only the wait before the answer means something.
local fault = check.record { delay_ms = COUNT }

local object = check.that("object", function(value)
  if type(value) ~= "table" or getmetatable(value) == core.array_mt then return nil end
  for key in next, value do
    if type(key) ~= "string" then return nil end
  end
  return value
end)

-- A tool call, which may have other fields.
local function tool_call(call, path)
  if type(call) ~= "table" then errors.argument(path, "object", call) end
  NAME(call.id, path .. ".id")
  NAME(call.name, path .. ".name")
  object(call.arguments, path .. ".arguments")
  return call
end

local list_of_calls = check.list(tool_call, "non-empty array of tool calls")
local function tool_calls(value, path)
  local kept = list_of_calls(value, path)
  if #kept == 0 then errors.argument(path, "non-empty array of tool calls", value) end
  return kept
end

-- A tool call of an answer: the id may be left out, and the arguments be given by their bytes alone.
local answer_call = check.record { type = check.any, id = NAME, name = check.required(NAME),
  arguments = check.table, arguments_json = check.string, arguments_error = NAME, provider_data = check.table }

local function block(value, path)
  if type(value) == "table" and value.type == "tool_use" then return answer_call(value, path) end
  local _, err = errors.try(records.check_message, { role = "assistant", content = { value } }, path)
  if err then
    core.raise_argument(err.field:gsub("%.content%[1%]", "", 1), err.expected, err.message:match ", got (.*)$")
  end
  return value
end

local content = check.either("string or array of blocks", check.string, check.list(block))

-- The types of steps: what each may hold, what it must, and the answer that it stands for.

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

-- The fields of every step, and these.
local function fields(own)
  own.step, own.type, own.fault = check.any, check.any, fault
  return check.record(own)
end

local TYPES = {
  message = { answer = blocks_of, fields = fields { content = check.required(NAME), thinking = NAME, usage = usage,
    stop_reason = stop_reason } },
  tool_calls = { answer = blocks_of, fields = fields { tool_calls = check.required(tool_calls), content = NAME,
    thinking = NAME, usage = usage, stop_reason = stop_reason } },
  error = { answer = itself, fields = fields { error = check.required(answer_error) } },
  answer = { answer = itself, fields = fields { content = content, stop_reason = stop_reason, usage = usage,
    model = NAME, id = NAME, stop_sequence = NAME, chunk = check.integer(1), interleave = check.boolean,
    error = answer_error, stream_error = stream_error } },
}
local TYPE = check.one_of { "message", "tool_calls", "error", "answer" }
local ID = check.integer()

-- A step, checked: a new table.
local function keep(step, path)
  if type(step) ~= "table" or getmetatable(step) == core.array_mt then errors.argument(path, "object", step) end
  local id, kind = ID(step.step, path .. ".step"), TYPE(step.type, path .. ".type")
  local kept = TYPES[kind].fields(step, path)
  if kind == "answer" and (step.content == nil) == (step.error == nil) and not step.stream_error then
    core.raise_argument(path .. ".content", "either content or error", step.content == nil and "neither" or "both")
  end
  kept.step = id
  return kept
end

-- Steps: read-only views of what was checked ----------------------------------------------------------------------

local views = setmetatable({}, { __mode = "k" }) -- view → its private copy

local methods = {}

--- True when the step is of that type: "message", "tool_calls", "error" or "answer".
function methods:is(kind) return views[self].type == kind end

--- The scripted answer that the step stands for, a fresh table.
function methods:answer() return records.to_table(TYPES[views[self].type].answer(views[self])) end

local view_mt = { __name = "koine.testing.playbook.step" }

-- A member, or a copy of it where it is a table: a step never changes.
function view_mt.__index(view, key)
  return methods[key] or records.to_table(views[view][key])
end

function view_mt.__newindex(_, key) errors.argument(tostring(key), "nothing (a step does not change)", key) end

function view_mt.__tostring(view) return ("Step #%d (%s)"):format(views[view].step, views[view].type) end

--- Checks one step and returns its read-only view: its fields, `is(type)`, `answer()`, and "Step #42 (message)" as
-- text. `path` begins the field's name in errors ("step").
function steps.new(step, path)
  local kept, view = checked(keep, step, path or "step"), setmetatable({}, view_mt)
  views[view] = records.to_table(kept)
  return view
end

local LIST = check.list(check.any, "JSON text or array of steps")

-- The list that JSON text holds, or the list itself.
local function list_of(source)
  if type(source) ~= "string" then return LIST(source, "steps") end
  local list, err = core.decode(source)
  if list == nil then core.raise_argument("steps", "JSON text", "text that is none: " .. tostring(err)) end
  if type(list) ~= "table" or (getmetatable(list) ~= core.array_mt and next(list) ~= nil) then
    errors.argument("steps", "JSON array", list)
  end
  return list
end

--- Reads all steps: JSON text or a list. An array of views; step ids must differ.
function steps.load(source)
  local loaded, seen = {}, {}
  for i, step in ipairs(checked(list_of, source)) do
    local path = "steps[" .. i .. "]"
    local view = steps.new(step, path)
    if seen[view.step] then
      checked(core.raise_argument, path .. ".step", "id that no other step has", "a second " .. view.step)
    end
    loaded[i], seen[view.step] = view, true
  end
  return loaded
end

return steps
