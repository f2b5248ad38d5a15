--- One question and its answer in a conversation: asks the model, alone or with tools, writes what it says, and keeps
-- it.

local code_block = require "koine.cli.talk.code_block"
local ending = require "koine.cli.talk.ending"
local failure = require "koine.cli.failure"
local json = require "koine.cli.json"
local terminal = require "koine.cli.terminal"
local work = require "koine.cli.talk.work"
local writer = require "koine.cli.talk.writer"

local exchange = {}

-- Writes what the answer has beside its text; returns the exit code.
local function notes_on(response)
  for _, note in ipairs(response.warnings) do
    if not ending.explains(response, note) then
      terminal.say("warning: %s: %s", note.field or note.code, note.message)
    end
  end
  local line, code = ending.of(response)
  if response.degenerate and code == 0 then terminal.say "the answer is empty" end
  if line then terminal.say("%s", line) end
  return code
end

--- The exit code of an answer that was kept (true) or not; says what the answer has beside its text.
function exchange.code_of(response, kept)
  local code = notes_on(response)
  return code == 0 and not kept and failure.FAILED or code
end

-- Writes the first block of code of the answer: FAILED where there is none, with the answer on the other output.
local function write_code(response)
  local text = response:text()
  local code, cut = code_block(text)
  if code then
    terminal.out(code)
    return 0
  end
  if ending.is_refused(response) then return 0 end -- notes_on says it
  terminal.show(text)
  terminal.say(cut and "--extract: the block of code has no end" or "--extract: the answer has no block of code")
  return failure.FAILED
end

-- Writes a whole answer as the options want it: the exit code.
local function write_whole(args, response)
  if args.extract then return write_code(response) end
  if args.json then
    terminal.out(json.encode(response:to_table()) .. "\n")
  else
    terminal.answer(response:text())
    terminal.end_line()
  end
  return 0
end

-- Asks with tools: the Response, and whether its text is written. The history grows by all of it.
local function ask_with_tools(talk, said, args, tools)
  local writes = not (args.json or args.extract) and (writer.streams(args) and "deltas" or "whole") or nil
  local worker = work.new(args, { adapter = talk.adapter, system = talk.opts.system, tools = tools.list,
    writes = writes, needed = tools.needed, options = args.options })
  worker.history, worker.always = talk.history, tools.always
  local result = work.task(worker, said)
  talk.history = result.messages
  if not result.response then failure.fail(failure.FAILED, "the model did not come to an end") end
  return result.response, writes ~= nil
end

-- Asks the model alone: the Response, and whether its text is written.
local function ask_alone(talk, said, args)
  local streams = writer.streams(args)
  local name = talk.adapter:model_name()
  terminal.progress("waiting for " .. name)
  local response, err = talk:ask(said, streams and writer.deltas(name) or nil)
  if not response then error(err, 0) end
  return response, streams
end

--- Says something (a string or an array of blocks) in a conversation and writes the answer: the exit code. `tools` is
-- of toolbox.open, nil for none; `about` is {model, system, base_url}, for the log. Raises the error of a call that
-- fails.
function exchange.say(talk, said, args, about, tools)
  args.keeper.meter:take() -- what a failure took before
  local ask = tools and ask_with_tools or ask_alone
  local response, written = ask(talk, said, args, tools)
  local code = written and 0 or write_whole(args, response)
  terminal.end_line()
  local noted = exchange.code_of(response, args.keeper:keep_talk(talk, response, about))
  return noted ~= 0 and noted or code
end

return exchange
