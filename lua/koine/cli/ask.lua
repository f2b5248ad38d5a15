--- Asks once: sends the words of the user, writes the answer.

local adapters = require "koine.cli.adapters"
local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local json = require "koine.cli.json"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

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

--- Says something (a string or an array of blocks) in a conversation and writes the answer: the exit code. Raises the
-- error of a call that fails.
function ask.exchange(talk, said, args)
  local model, spoke = talk.adapter:model_name(), false
  terminal.progress("waiting for " .. model)
  local streams = not args.json and (args.stream or not args.no_stream and terminal.output)
  local response, err = talk:ask(said, streams and function(delta)
    if delta.type == "text_delta" then
      spoke = true
      terminal.out(delta.text)
    elseif delta.type == "thinking_start" and not spoke then
      terminal.progress(model .. " is thinking")
    end
  end or nil)
  if not response then error(err, 0) end
  if not streams then terminal.out(args.json and json.encode(response:to_table()) or response:text()) end
  terminal.end_line()
  return notes_on(response)
end

--- The command `ask`: the exit code.
function ask.command(args)
  local said = input.said_by(args)
  local adapter = adapters.adapter_of(args, adapters.model_of(args))
  return ask.exchange(koine.conversation(adapter, { system = args.system }), said, args)
end

return ask
