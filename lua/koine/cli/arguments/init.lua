--- The words of the command line: commands, options, help.

local argparse = require "argparse"
local commands = require "koine.cli.arguments.commands"
local failure = require "koine.cli.failure"
local first_word = require "koine.cli.arguments.first_word"
local terminal = require "koine.cli.terminal"

local arguments = {}

-- The commands that argparse brings; they need the options of all others.
local COMPLETION, HELP = "completion", "help"

local names = { COMPLETION, HELP }
for _, command in ipairs(commands) do names[#names + 1] = command[1] end

local is_command = {}
for _, name in ipairs(names) do is_command[name] = true end

-- The parser of the program. Only the command `chosen` has its options, unless it is one of argparse's: most runs need
-- few.
local function parser_of(chosen)
  local parser = argparse("koine", "One interface to every LLM provider."):require_command(true)
    :command_target "command"
  parser:help_max_width(80):help_description_margin(30)
  parser:usage "Usage: koine [-h] [--version] COMMAND …\n       koine QUESTION"
  parser:flag("--version", "Print the version.")
  for _, one in ipairs(commands) do
    local name, about, define = table.unpack(one)
    local command = parser:command(name, about)
    if chosen == name or chosen == COMPLETION or chosen == HELP then define(command) end
  end
  parser:add_complete_command { name = COMPLETION, description = "Print what completes words in a shell.",
    epilog = "Example: eval \"$(koine completion bash)\"" }
  parser:add_help_command { name = HELP, description = "Print the help of a command.",
    epilog = "Example: koine help ask" }
  parser:epilog [[
Examples:
  koine "Why is the sky blue?"              (this is `koine ask`)
  git diff | koine "Write a commit message for this."
  koine chat
  koine COMMAND --help]]
  return parser
end

-- Fails as wrong use for an option that -o cannot give, or that is given twice.
local function check_given(given)
  local seen = {}
  for _, option in ipairs(given) do
    local name = option[1]
    local called = option.flag or "-o " .. name
    if name == "model" then failure.fail(failure.WRONG_USE, "-o model: -m PROVIDER/MODEL chooses the model") end
    if seen[name] == called then failure.fail(failure.WRONG_USE, "%s: given twice", called) end
    if seen[name] then failure.fail(failure.WRONG_USE, "%s and %s: only one of them", seen[name], called) end
    seen[name] = called
  end
end

-- The words with "--retries -1" as "--retries=-1": argparse takes -1 for an option.
local function joined(words)
  local i = 2
  while words[i] and words[i - 1] ~= "--" do
    if words[i]:find "^%-[%d.]" and words[i - 1]:find "^%-%-[%l-]+$" then
      words[i - 1] = words[i - 1] .. "=" .. table.remove(words, i)
    else
      i = i + 1
    end
  end
  return words
end

-- Fails as wrong use for what argparse says against the words of a command.
local function refuse(command, why)
  local option, tip = why:match "^unknown option '([^\n]*)'\n?(.*)$"
  if not option then failure.fail(failure.WRONG_USE, "%s (see `koine %s --help`)", why, command) end
  local likely = {}
  for name in tip:gmatch "'([^']*)'" do likely[#likely + 1] = name end
  failure.fail(failure.WRONG_USE, "%s: unknown option%s (`koine %s --help` lists all)", option,
    likely[1] and ("; did you mean %s?"):format(table.concat(likely, " or ")) or "", command)
end

-- Fails as wrong use for words that begin with an option, where their question (an array of words) begins with a
-- command: it is meant as one. What is behind -- is a question.
local function check_order(words, question)
  local first, behind = question[1], 0
  for i, word in ipairs(words) do
    if word == "--" then
      behind = #words - i
      break
    end
  end
  if is_command[first] and #question > behind then
    failure.fail(failure.WRONG_USE,
      "%s: commands come before options: koine %s … (to ask the model this: koine ask … %s)", first, first, first)
  end
end

--- Parses the words: a table with `command`, its options and arguments, and for commands that talk to providers
-- `given`, an array of {option of the constructor, value, flag =, word =}. Fails as wrong use. --help ends the program.
function arguments.parse(words)
  local options_first = (words[1] or ""):find "^%-" ~= nil
  words = joined(first_word(words, names, not terminal.input))
  if not words[1] then
    failure.fail(failure.WRONG_USE, 'a question or a command is required: koine "Why?" (`koine --help` lists all)')
  end
  local asked = words[1] == HELP and words[2]
  if asked and not asked:find "^%-" and not is_command[asked] then
    failure.fail(failure.WRONG_USE, "%s: unknown command (`koine --help` lists all)", asked)
  end
  local understood, args = parser_of(words[1]):pparse(words)
  if not understood then refuse(words[1], args) end
  if options_first then check_order(words, args.prompt) end
  check_given(args.given or {})
  return args
end

return arguments
