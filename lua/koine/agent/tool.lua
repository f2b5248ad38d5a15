--- Tools: what a model may call, and the function behind it.
--
--   local weather = koine.tool {
--     name = "weather", description = "The weather in a city.", example = { city = "Paris", ["days?"] = 3 },
--     run = function(args) return "rain in " .. args.city end,
--   }
--
-- A tool is a plain table that every adapter takes in `tools`. An agent (init.lua) calls it by itself; your own
-- loop asks `koine.tool.answer` for the result of a call. Whatever goes wrong in a tool is told to the model as an
-- error result. Two things end the loop instead: an error of Koine's with the kind "executor", trouble of the machine
-- behind the tools, and "cancelled".

local core = require "koine.core"
local call_context = require "koine.agent.call_context"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local scheduler = require "koine.task.scheduler"
local judge = require "koine.data.schema.judge"
local parts = require "koine.data.schema.parts"
local observe = require "koine.agent.observe"
local records = require "koine.data.records"
local schema = require "koine.data.schema"
local cut = require("koine.data.text").cut
local vocabulary = require "koine.data.vocabulary"

local tool = {}

-- The names that other libraries give these fields.
local HINTS = { input_schema = "parameters", inputSchema = "parameters", schema = "parameters", args = "parameters",
  handler = "run", execute = "run", fn = "run", func = "run", callback = "run", call = "run", ["function"] = "run",
  desc = "description" }
local NAME_MAX = 64          -- bytes: the least that any wire allows
local ERROR_TEXT_MAX = 4096  -- bytes of an error's text that the model is told
local LEVELS = 6             -- of tables around a result in a history and its dump
local tool_mt = { __name = "koine.tool",
  __tostring = function(one) return ("koine.tool (%s)"):format(tostring(one.name)) end }

local TYPE = check.that('"function" (koine.server_tool makes tools of the provider\'s own)', function(value)
  if value == "function" then return value end
end)
local NAME = check.that("at most 64 letters, digits, _ and -", function(value)
  if type(value) == "string" and #value <= NAME_MAX and value:find "^[%w_-]+$" then return value end
end)
local KIND = check.one_of { "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode",
  "other" }
local SCHEMA = check.either("JSON Schema, a table or text", check.table, check.string)
local FIELDS = { type = TYPE, name = check.required(NAME), description = check.required(check.string),
  parameters = SCHEMA, example = check.table, run = check.required(check.func), timeout = check.positive,
  needs_approval = check.either("true, false or a function", check.boolean, check.func), hidden = check.boolean,
  strict = check.boolean, cache_control = check.table, kind = KIND, title = check.either("string or function",
    check.string, check.func), locations = check.func, diff = check.func }
local TOOL = check.options(FIELDS, { path = "tool", what = "field", hints = HINTS, first = { "name" } })

-- `at` is what stands before the name of a field in errors: "", or "tools[1]."

-- The schema of the arguments, a copy.
local function parameters_of(given, at)
  local made, field = given.parameters, at .. "parameters"
  if not made then return schema.expand(given.example or {}, at .. "example") end
  if type(made) == "string" then made = schema.parse(made, field) end
  if made.type ~= "object" then errors.argument(field .. ".type", '"object"', made.type) end
  schema.check(made, field)
  local unfit = parts.unfit(made)
  if unfit then core.raise_argument(field, "values that JSON has", unfit) end
  return records.to_table(made)
end

local function new(given, at)
  local made = TOOL(given, at)
  if made.parameters and made.example then
    core.raise_argument(at .. "example", "parameters or example", "both")
  end
  made.type, made.example, made.parameters = nil, nil, parameters_of(given, at)
  return setmetatable(made, tool_mt)
end

-- Tools of the provider's own. Some of them the provider describes and the caller runs (bash, text_editor): those have
-- a `run`, and what else an agent reads; the rest is the provider's.

local AGENTS = { "run", "timeout", "needs_approval", "hidden", "kind", "title", "locations", "diff" }

local function is_server_tool(value)
  return type(value) == "table" and type(value.type) == "string" and value.type ~= "function"
end

local function new_server_tool(given, at)
  for _, name in ipairs(AGENTS) do
    if given[name] ~= nil then FIELDS[name](given[name], at .. name) end
  end
  if given.run then check.string(given.name, at .. "name") end
  local made = {}
  for name, value in next, given do made[name] = value end
  return setmetatable(made, tool_mt)
end

--- The tool with these fields: name, description, parameters (a schema) and run, which the caller has checked, as
-- koine.tool would, and hands over. Nothing is checked or copied: for rooms that make very many tools.
function tool.of_checked(fields) return setmetatable(fields, tool_mt) end

--- A tool of a list as an adapter takes it.
function tool.offer(one)
  if not is_server_tool(one) then return one end
  local offered = {}
  for name, value in next, one do offered[name] = value end
  for _, name in ipairs(AGENTS) do offered[name] = nil end
  return offered
end

--- True when `value` was made by koine.tool.
function tool.is_tool(value) return type(value) == "table" and getmetatable(value) == tool_mt end

-- Raises unless the value is an array.
local function check_array(value, path)
  if check.is_list(value) then return end
  core.raise_argument(path, "array of tools", tool.is_tool(value) and "a single tool" or errors.describe(value))
end

--- Checks an array of tools, or of what koine.tool takes, and of tools of the provider's own (with a `type`): a new
-- array of koine.tool with unique names. `path` begins the field's name in errors. Raises an ArgumentError.
function tool.list(value, path)
  check_array(value, path)
  local kept, names = {}, {}
  for i, one in ipairs(value) do
    local at = ("%s[%d]"):format(path, i)
    if type(one) ~= "table" then errors.argument(at, "tool", one) end
    kept[i] = tool.is_tool(one) and one or (is_server_tool(one) and new_server_tool or new)(one, at .. ".")
    local name = kept[i].name
    if name and names[name] then errors.argument(at .. ".name", "unique name", name) end
    names[name or kept[i]] = true
  end
  return kept
end

-- Calls -------------------------------------------------------------------------------------------------------------

-- The names of the tools that are offered, in words.
local function names_of(tools)
  local names = {}
  for _, one in ipairs(tools) do names[#names + 1] = one.run and not one.hidden and one.name or nil end
  return #names > 0 and table.concat(names, ", ") or "none"
end

--- The tool of that name in an array of tools that can be run here, or nil.
function tool.find(tools, name)
  for _, one in ipairs(tools) do
    if one.name == name and one.run then return one end
  end
end

--- Why a call (a tool_use block) cannot be run with these tools, in words for the model that name the field; nil when
-- it can: there is no such tool (hidden ones are not named), its arguments are no JSON object or do not fit the schema.
function tool.problem(tools, call)
  local found = tool.find(tools, call.name)
  if not found then return ("unknown tool %q; there are: %s"):format(call.name, names_of(tools)) end
  if call.arguments_error then return "the arguments are no JSON object: " .. call.arguments_error end
  if not found.parameters then return nil end -- the provider has them
  local fits, why = judge.validate(found.parameters, found.parameters, call.arguments, "arguments")
  if not fits then return "bad arguments: " .. why end
end

local function capped(text)
  local kept, was_cut = cut(text, ERROR_TEXT_MAX)
  return was_cut and kept .. " …" or kept
end

-- True for errors that the model is not told.
local function ends_the_loop(err)
  return errors.is_error(err) and (err.kind == "executor" or err.kind == "cancelled")
end

-- Returns an error's words for the model: a text without places in files, the message of a table, else its JSON.
local function words_of(err)
  local mt = core.metatable(err)
  if type(err) == "table" and not (mt and mt.__tostring) then
    if type(err.message) == "string" then return err.message end
    local ok, text = pcall(core.encode, err)
    if ok then return text end
  end
  if err == nil then return "the tool failed without saying why" end
  local speaks = type(err) == "string" or type(err) == "number" or mt and mt.__tostring
  local ok, words = pcall(speaks and errors.words or error, err)
  return ok and words or "the tool failed with " .. errors.describe(err)
end

-- Returns the outcome of a failing tool, or nil, err. `traceback` is the author's: text, nil where nothing was raised.
local function failed(err, traceback)
  if ends_the_loop(err) then return nil, err end
  return { content = capped(words_of(err)), is_error = true, traceback = traceback and capped(traceback) }
end

-- True for an array whose members say that they are blocks that a result may hold.
local function is_blocks(value)
  if #value == 0 then return false end
  for _, block in ipairs(value) do
    local form = type(block) == "table" and vocabulary.blocks[block.type]
    if not (form and form.in_result) then return false end
  end
  return true
end

-- Why an array of blocks cannot be a result, or nil.
local function problem_of(blocks)
  local ok, err = errors.try(function()
    records.check_message({ role = "user", content = blocks }, "result")
    return true
  end)
  if not ok then return errors.words(err) end
  return parts.unfit(blocks, LEVELS)
end

-- Returns a table's content for the model: the blocks, or JSON, the same bytes for the same table; or nil, the reason.
local function told(value)
  if is_blocks(value) then
    local problem = problem_of(value)
    if problem then return nil, problem end
    return records.to_table(value)
  end
  local ok, text = pcall(core.encode, value)
  if ok then return text end
  return nil, (errors.words(text):gsub("^value", "result"))
end

-- The content of a result for what a tool returned, or nil and why it cannot be one.
local function content_of(value)
  local kind = type(value)
  if value == nil then return "(no output)" end
  if kind == "string" then return value end
  if kind == "number" or kind == "boolean" then return tostring(value) end
  if kind ~= "table" then return nil, errors.describe(value) .. " in place of text, a table or blocks" end
  local content, why = told(value)
  return content, why and "what cannot be sent: " .. why
end

-- Makes an outcome of a tool's results.
local function outcome(value, info)
  if not value and info ~= nil and (type(info) ~= "table" or getmetatable(info)) then return failed(info) end
  local content, why = content_of(value)
  if not content then return failed("the tool returned " .. why) end
  info = type(info) == "table" and info or {}
  return { content = content, is_error = (info.is_error or info.blocked) and true or false,
    blocked = info.blocked and true or nil, reason = info.reason ~= nil and tostring(info.reason) or nil,
    exit_code = math.type(info.exit_code) == "integer" and info.exit_code or nil }
end

local Raised = {}

-- Keeps what a tool raises together with its traceback.
local function raised(err)
  local ok, text = pcall(tostring, err)
  return setmetatable({ err = err, traceback = core.traceback(nil, ok and text or nil, 2) }, Raised)
end

-- xpcall's results as an outcome.
local function settle(ok, ...)
  if ok then return outcome(...) end
  local err = ...
  if core.metatable(err) == Raised then return failed(err.err, err.traceback) end
  return failed(err) -- the handler itself had no room left
end

local function execute(one, arguments, ctx)
  local run, seconds = one.run, one.timeout
  if not seconds then return settle(xpcall(run, raised, arguments, ctx)) end
  local done, result, err = false, nil, nil
  local ok, problem = pcall(scheduler.timeout, seconds, function()
    result, err = settle(xpcall(run, raised, arguments, ctx))
    done = true
  end)
  if done then return result, err end
  if not ok then return failed(problem) end
  return failed(("timed out after %g s"):format(seconds))
end

--- Runs a tool with arguments that fit it: {content, is_error, blocked, reason, traceback}, or nil, err for an error
-- that ends the loop. `traceback` is text where the tool raised: what, and where. Where ctx.observe is a context, the
-- call is observed, and the tool is handed the context of its own span. Never raises.
function tool.execute(one, arguments, ctx)
  if not ctx.observe then return execute(one, arguments, ctx) end
  local span <close> = observe.tool(ctx.observe, one, arguments, ctx.call)
  ctx.observe = span and span:context()
  local result, err = execute(one, arguments, ctx)
  if span then observe.tool_over(span, result, err) end
  return result, err
end

-- Raises unless these are tools and a call to answer.
local function check_answer(tools, call, ctx)
  check_array(tools, "tools")
  for i, one in ipairs(tools) do
    if not tool.is_tool(one) and not is_server_tool(one) then
      errors.argument(("tools[%d]"):format(i), "koine.tool", one)
    end
  end
  if type(call) ~= "table" then errors.argument("call", "tool_use block", call) end
  for _, name in ipairs { "id", "name" } do check.string(call[name], "call." .. name) end
  if ctx ~= nil then check.table(ctx, "ctx") end
end

--- The answer to a call (a tool_use block) with one of `tools` (array of koine.tool): a tool_result block, and
-- {blocked, reason} as the tool said, with `traceback` (text) where it raised; or nil, err for an error that ends the
-- loop. `ctx` is a table whose fields are handed to the tool beside `call`, nil for none. Approval is not asked for.
-- Raises an ArgumentError unless these are an array of tools, a call and a table.
function tool.answer(tools, call, ctx)
  check_answer(tools, call, ctx)
  local result, err
  local problem = tool.problem(tools, call)
  if problem then
    result = { content = problem, is_error = true }
  else
    local own = {}
    for name, value in next, ctx or {} do own[name] = value end
    own.call = call_context(call, call.arguments)
    result, err = tool.execute(tool.find(tools, call.name), call.arguments, own)
  end
  if not result then return nil, err end
  return { type = "tool_result", tool_use_id = call.id, content = result.content, is_error = result.is_error },
    { blocked = result.blocked, reason = result.reason, traceback = result.traceback }
end

--- koine.tool(given): makes a tool of a table of
--   name            string of at most 64 letters, digits, "_" and "-"
--   description     string: what it does, for the model
--   parameters      JSON Schema of its arguments (data/schema), whose type is "object", copied, or as text
--                   (schema.parse); or
--   example         arguments by example (schema.expand); neither: no arguments
--   run             function(args, ctx) → what the model is told: a string, a number, a boolean, an array of text,
--                   image and document blocks, any other table (goes as JSON), nothing for "(no output)"; and, second,
--                   nil or {is_error, blocked, reason}: whether that is an error, whether the call was refused, and
--                   why. Or nil, err. The model reads what it raises, without the place. `args` is the decoded
--                   arguments, `ctx` is {call = {id, name, arguments_json = the model's own text of them, nil where
--                   they were edited}, run = the agent's run or nil, observe = what calls in the tool take as their
--                   `parent` where the run is observed, lease = {key, fence, owner} where a keeper has the run}
--   timeout         seconds, nil = no limit: a tool that waits longer (through Koine) is answered as timed out
--   needs_approval  boolean, or function(args) → boolean: whether an agent pauses before the call; your own loop
--                   checks it itself
--   hidden          boolean: an agent does not offer the tool to the model, but answers calls of it
--   strict, cache_control   as in records.tool_definition
-- and, for those that show a call to a person (protocol/acp/serve):
--   kind       "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode" or "other"
--   title      string, or function(args) → string: the call in a few words
--   locations  function(args) → array of {path, line} or of paths: the files that the call is about
--   diff       function(args) → {path, old (nil: a new file), new}, or nil: what the call will change in a file
-- A new table with these fields (no `example`). Raises an ArgumentError naming the bad field.
local function make(_, given)
  return new(given, "")
end

return setmetatable(tool, { __call = make })
