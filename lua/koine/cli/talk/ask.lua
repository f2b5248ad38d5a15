--- Asks once: sends the words of the user, writes the answer, a block of code of it, or the value of a shape in it. The
-- model may use tools first: those of files of Lua, or of servers.

local adapters = require "koine.cli.adapters"
local ending = require "koine.cli.talk.ending"
local exchange = require "koine.cli.talk.exchange"
local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local json = require "koine.cli.json"
local keeper = require "koine.cli.logs.keeper"
local koine = require "koine"
local template = require "koine.cli.settings.template"
local terminal = require "koine.cli.terminal"
local toolbox = require "koine.cli.talk.toolbox"
local work = require "koine.cli.talk.work"

local ask = {}

local REPAIR = 1 -- how often the model is asked again after an answer of another shape

-- The schema that a word of the command line is, or the file that it names: no schema in short begins with "/" or ".".
-- A template may give a table.
local function schema_of(word)
  if type(word) == "table" then
    koine.schema.check(word, "schema")
    return word
  end
  local text, name = word, "--schema"
  if word:find "^[/.]" or word:lower():find "%.json$" then text, name = input.read_text(word), word end
  local made = koine.schema.parse(text, name)
  koine.schema.check(made, name)
  return made
end

-- Writes a value that was asked for: the exit code. `response` is the last Response, nil where there is none, `err` why
-- there is no value, `keep` keeps the Response then: true, or false where it could not. Raises the error of a call that
-- failed, and of an answer that has another shape.
local function write_value(value, response, err, args, keep)
  if args.json and response then
    terminal.out(json.encode(response:to_table()) .. "\n")
  elseif value ~= nil then
    terminal.out(json.value(value, terminal.output) .. "\n")
  end
  local kept = not response or keep()
  if value ~= nil then return exchange.code_of(response, kept) end
  if not err then failure.fail(failure.FAILED, "no value: the model did not come to an end") end
  if response and err.code == "refused" then failure.fail(failure.REFUSED, "%s", ending.refusal(response)) end
  if response and err.code == "truncated" then failure.fail(failure.FAILED, "%s", (ending.of(response))) end
  error(err, 0)
end

-- Asks for a value and writes it: the exit code.
local function ask_for_value(adapter, said, args, schema, about)
  terminal.progress("waiting for " .. adapter:model_name())
  local history = table.move(args.keeper.history, 1, #args.keeper.history, 1, koine.array {})
  history[#history + 1] = { role = "user", content = said }
  local value, answer = adapter:object(history, template.options(args,
    { system = args.system, output = { schema = schema, repair = REPAIR } }))
  local response = answer
  if value == nil then response = answer.kind == "output" and answer.partial or nil end
  return write_value(value, response, answer, args, function()
    history[#history + 1] = response:message()
    return args.keeper:keep(history, response, about)
  end)
end

-- The same with tools.
local function ask_for_value_with_tools(adapter, said, args, schema, about, tools)
  local worker = work.new(args, { adapter = adapter, system = args.system, tools = tools.list, needed = tools.needed,
    options = template.options(args, { output = { schema = schema, repair = REPAIR } }) })
  worker.history = args.keeper.history
  local result = work.task(worker, said)
  return write_value(result.output, result.response, result.output_error, args, function()
    return args.keeper:keep(result.messages, result.response, about)
  end)
end

-- Fails as wrong use for options that cannot be combined.
local function check(args)
  if args.schema and args.extract then
    failure.fail(failure.WRONG_USE, "--extract and --schema: only one of them")
  elseif args.schema and args.stream then
    failure.fail(failure.WRONG_USE, "--stream: with --schema the value is written when it is complete")
  elseif args.extract and (args.stream or args.json) then
    failure.fail(failure.WRONG_USE, "--extract and %s: only one of them", args.stream and "--stream" or "--json")
  end
end

--- The command `ask`: the exit code.
function ask.command(args)
  local filled = template.apply(args)
  check(args)
  local schema = args.schema and schema_of(args.schema)
  local said = input.said_by(args, filled)
  local kept <close> = keeper.open(args)
  args.keeper = kept
  local about = { model = adapters.model_of(args), system = args.system }
  local adapter
  adapter, about.base_url = adapters.adapter_of(args, about.model)
  local tools <close> = toolbox.open(args)
  if schema then
    return (tools and ask_for_value_with_tools or ask_for_value)(adapter, said, args, schema, about, tools)
  end
  return exchange.say(kept:talk(adapter, template.options(args, { system = args.system })), said, args, about, tools)
end

return ask
