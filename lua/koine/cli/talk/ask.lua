--- Asks once: sends the words of the user, writes the answer, or the value of a shape in it. With --mcp the model may
-- use the tools of servers first.

local adapters = require "koine.cli.adapters"
local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local json = require "koine.cli.json"
local keeper = require "koine.cli.logs.keeper"
local koine = require "koine"
local mcp_tools = require "koine.cli.mcp.tools"
local terminal = require "koine.cli.terminal"
local work = require "koine.cli.talk.work"
local writer = require "koine.cli.talk.writer"

local ask = {}

-- Writes what the answer has beside its text; returns the exit code.
local function notes_on(response)
  for _, note in ipairs(response.warnings) do
    terminal.say("warning: %s: %s", note.field or note.code, note.message)
  end
  local reason = response.stop_reason
  if response.degenerate then terminal.say "the answer is empty" end
  if reason == "end_turn" or reason == "stop_sequence" then return 0 end
  for _, block in ipairs(response.content) do
    if block.type == "refusal" then terminal.say("refused: %s", block.text) end
  end
  terminal.say("the answer is not whole: %s", reason)
  return (reason == "refusal" or reason == "sensitive") and failure.REFUSED or 0
end

-- The exit code of an answer that was kept (true) or not.
local function code_of(response, kept)
  local code = notes_on(response)
  return code == 0 and not kept and failure.FAILED or code
end

--- Says something (a string or an array of blocks) in a conversation and writes the answer: the exit code. `about` is
-- {model, system}, for the log. Raises the error of a call that fails.
function ask.exchange(talk, said, args, about)
  local model, streams = talk.adapter:model_name(), writer.streams(args)
  args.keeper.meter:take() -- what a failure took before
  terminal.progress("waiting for " .. model)
  local response, err = talk:ask(said, streams and writer.deltas(model) or nil)
  if not response then error(err, 0) end
  if args.json then
    terminal.out(json.encode(response:to_table()))
  elseif not streams then
    terminal.answer(response:text())
  end
  terminal.end_line()
  return code_of(response, args.keeper:keep_talk(talk, response, about))
end

local REPAIR = 1 -- how often the model is asked again after an answer of another shape

-- The schema that a word of the command line is, or the file that it names: no schema in short begins with "/" or ".".
local function schema_of(word)
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
  if value ~= nil then return code_of(response, kept) end
  if not err then failure.fail(failure.FAILED, "no value: the model did not come to an end") end
  if err.code == "refused" then failure.fail(failure.REFUSED, "%s", err.message) end
  error(err, 0)
end

-- Asks for a value and writes it: the exit code.
local function ask_for_value(adapter, said, args, schema, about)
  terminal.progress("waiting for " .. adapter:model_name())
  local history = table.move(args.keeper.history, 1, #args.keeper.history, 1, koine.array {})
  history[#history + 1] = { role = "user", content = said }
  local value, answer = adapter:object(history, { system = args.system, output = { schema = schema, repair = REPAIR } })
  local response = answer
  if value == nil then response = answer.kind == "output" and answer.partial or nil end
  return write_value(value, response, answer, args, function()
    history[#history + 1] = response:message()
    return args.keeper:keep(history, response, about)
  end)
end

-- What the texts of an agent are written as.
local function writes(args, schema)
  if args.json or schema then return nil end
  return writer.streams(args) and "deltas" or "whole"
end

-- Asks with the tools of servers: the exit code.
local function ask_with_tools(adapter, said, args, schema, about)
  local servers <close> = mcp_tools.open(args.mcp, args.yes)
  local needed = {}
  for _, tool in ipairs(servers.list) do needed[tool.name] = tool.needs_approval end
  local worker = work.new(args, { adapter = adapter, system = args.system, tools = servers.list,
    observer = args.keeper.meter.observer, writes = writes(args, schema),
    options = schema and { output = { schema = schema, repair = REPAIR } } or nil,
    needed = function(tool) return needed[tool.name] end })
  worker.history = args.keeper.history
  local result = work.task(worker, said)
  local function keep() return args.keeper:keep(result.messages, result.response, about) end
  if schema then return write_value(result.output, result.response, result.output_error, args, keep) end
  if args.json then terminal.out(json.encode(result.response:to_table()) .. "\n") end
  return code_of(result.response, keep())
end

--- The command `ask`: the exit code.
function ask.command(args)
  local schema = args.schema and schema_of(args.schema)
  if schema and args.stream then
    failure.fail(failure.WRONG_USE, "--stream: with --schema the value is written when it is complete")
  end
  if args.yes and #args.mcp == 0 then failure.fail(failure.WRONG_USE, "--yes: nothing to allow without --mcp") end
  local said = input.said_by(args)
  local kept <close> = keeper.open(args)
  args.keeper = kept
  local about = { model = adapters.model_of(args), system = args.system }
  local adapter = adapters.adapter_of(args, about.model)
  if #args.mcp > 0 then return ask_with_tools(adapter, said, args, schema, about) end
  if schema then return ask_for_value(adapter, said, args, schema, about) end
  return ask.exchange(kept:talk(adapter, { system = args.system }), said, args, about)
end

return ask
