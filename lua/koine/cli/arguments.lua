--- The words of the command line: commands, options, help.

local argparse = require "argparse"
local failure = require "koine.cli.failure"
local json = require "koine.cli.json"
local koine = require "koine"

local arguments = {}

-- What a word of the command line stands for; wrong values are Koine's to refuse.
local function value_of(word)
  if word == "true" or word == "false" then return word == "true" end
  return json.integral(tonumber(word)) or word
end

-- An option of a command that becomes one of the adapter's constructor.
local function gives(command, flag, about, name, convert)
  command:option(flag, about):action(function(args, _, word)
    table.insert(args.given, { name, (convert or value_of)(word), flag = flag, word = word })
  end)
end

local parser = argparse("koine", "One tongue for every LLM provider."):require_command(true):command_target "command"
parser:flag("--version", "Say which version this is."):action(function() os.exit(print("koine " .. koine.version)) end)

-- A command that talks to providers; with `model`, to one of their models.
local function online(called, about, model)
  local command = parser:command(called, about)
  local option = command:option("-o --option", "NAME=VALUE: any option of the adapter's constructor."):count "*"
  option:target "given":init {}:convert(function(word)
    local name, value = word:match "^([^=]*)(=?.*)$"
    return { name, value == "" or value_of(value:sub(2)) }
  end)
  gives(command, "--base-url", "The server's address, in place of the provider's own.", "base_url")
  gives(command, "--timeout", "Seconds in total.", "timeout")
  gives(command, "--retries", "How often to try again (2).", "retry", function(n) return { max = value_of(n) } end)
  if not model then return command end
  command:option("-m --model", "PROVIDER/MODEL (else KOINE_MODEL, else the first provider with a key).")
  command:option("--system", "The system prompt.")
  gives(command, "--max-tokens", "The longest answer.", "max_tokens")
  gives(command, "--thinking", "low, medium, high, …, a number of tokens, or off.", "thinking", function(word)
    return tonumber(word) and { budget_tokens = value_of(word) } or word ~= "off" and word
  end)
  command:mutex(command:flag("--stream", "Write the answer as it arrives (usual on a terminal)."),
    command:flag("--no-stream", "Write the answer when it is whole."))
  return command
end

local ask = online("ask", "Ask once.", true)
ask:argument("prompt", "What to ask, beside the standard input."):args "*"
ask:option("-f --file", "Attach a text, an image or a PDF."):count "*"
ask:flag("--json", "Write the whole Response as JSON.")
online("chat", "Talk, a line at a time; /quit ends.", true)
local models = online("models", "List a provider's models.")
models:argument("provider", "As in PROVIDER/MODEL."):args "?"
models:flag("--json", "Write all that is known of them.")
online("login", "Log in to GitHub Copilot."):argument("provider", "copilot"):choices { "copilot" }
local usage = online("usage", "Say what is left of the quotas.")
usage:argument("provider", "copilot, which alone has any."):args "?"
usage:flag("--json", "Write the whole report.")
online("doctor", "Say what is installed, which keys are set, who answers."):flag("--offline", "Ask nobody.")
local serve = parser:command("serve-loopback", "Be a provider on this machine, until Ctrl-C.")
serve:mutex(serve:option("--script", "A file of JSON: the turns to play."),
  serve:flag("--echo", "Repeat what is said (without --script: default)."))
serve:option("--port", "Where to listen; else a free port."):convert(function(word)
  local port = math.tointeger(tonumber(word))
  if port and port > 0 and port < 65536 then return port end
  return nil, ("--port: number from 1 to 65535 expected, got %q"):format(word)
end)

-- Ends with wrong use where an option is not -o's to give, or is given twice.
local function check_given(given)
  local seen = {}
  for _, option in ipairs(given) do
    local name = option[1]
    local called = option.flag or "-o " .. name
    if name == "model" then failure.fail(failure.WRONG_USE, "-o model: -m PROVIDER/MODEL chooses the model") end
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

--- What the words mean: a table with `command`, its options and arguments, and for commands that talk to providers
-- `given`, an array of {option of the constructor, value, flag =, word =}. Fails as wrong use. --help and --version end
-- the program.
function arguments.parse(words)
  local understood, args = parser:pparse(joined(words))
  if not understood then failure.fail(failure.WRONG_USE, "%s (see koine --help)", args) end
  check_given(args.given or {})
  return args
end

return arguments
