--- Options that several commands have.

local json = require "koine.cli.json"

local options = {}

--- The value that a word of the command line stands for; Koine itself refuses wrong values.
function options.value_of(word)
  if word == "true" or word == "false" then return word == "true" end
  return json.integral(tonumber(word)) or word
end
local value_of = options.value_of

--- A converter of words: a whole number from `min` to `max` (nil: none) for the option `flag`.
function options.integer(flag, min, max)
  return function(word)
    local n = math.tointeger(tonumber(word))
    if n and n >= min and n <= (max or n) then return n end
    return nil, ("%s: number from %d %s expected, got %q"):format(flag, min, max and "to " .. max or "on", word)
  end
end

--- A converter of words for the option `flag` that takes any but the empty one, which would fit all.
function options.text(flag)
  return function(word)
    if word ~= "" then return word end
    return nil, flag .. ": a text expected, got none"
  end
end

--- The number of seconds that a word is, for --timeout; nil and why not.
function options.seconds(word)
  local n = tonumber(word)
  if n and n > 0 and n < math.huge then return n end
  return nil, ("--timeout: seconds expected, got %q"):format(word)
end

--- Adds an argument of a command, and returns it, argparse's. Its name in `args` is `target`, by default `name` in
-- lower case.
function options.argument(command, name, about, target)
  return command:argument(name, about):argname(name):target(target or name:lower())
end

--- Adds an option of a command, given by its names and what it takes, "-f --file FILE", and returns it, argparse's.
function options.option(command, usage, about)
  local names, argname = usage:match "^(.*) (%S+)$"
  return command:option(names, about):argname(argname)
end
local option = options.option

-- An option of a command that becomes one of the adapter's constructor.
local function gives(command, usage, about, name, convert)
  local flag = usage:match "^%S+"
  option(command, usage, about):action(function(args, _, word)
    table.insert(args.given, { name, (convert or value_of)(word), flag = flag, word = word })
  end)
end

-- NAME=VALUE, or NAME for true: {name, value, word = VALUE}.
local function assignment(word)
  local name, value = word:match "^([^=]*)=(.*)$"
  if not name then return { word, true } end
  return { name, value_of(value), word = value }
end

--- Of commands that talk to providers.
function options.online(command)
  option(command, "-o --option NAME=VALUE", "Any option of the adapter's constructor."):count "*":target "given":init {}
    :convert(assignment)
  gives(command, "--base-url URL", "URL of the server, instead of the provider's own.", "base_url")
  gives(command, "--timeout SECONDS", "Seconds for the whole call.", "timeout")
  gives(command, "--retries N", "Number of retries (2).", "retry", function(n) return { max = value_of(n) } end)
end

--- Of commands that talk to models.
function options.model(command)
  options.online(command)
  option(command, "-m --model PROVIDER/MODEL",
    "The model, or an alias of one (else KOINE_MODEL, the settings, the first key).")
  option(command, "-s --system TEXT", "The system prompt.")
  gives(command, "--max-tokens N", "The maximum number of tokens of the answer.", "max_tokens")
  gives(command, "--thinking WORD", "low, medium, high, …, a number of tokens, or off.", "thinking", function(word)
    return tonumber(word) and { budget_tokens = value_of(word) } or word ~= "off" and word
  end)
  command:mutex(command:flag("--stream", "Write the answer as it arrives (default on a terminal)."),
    command:flag("--no-stream", "Write the answer when it is complete."))
end

-- name=value of a parameter.
local function parameter(word)
  local name, value = word:match "^([%a_][%w_]*)=(.*)$"
  if name then return { name, value } end
  return nil, ("-p: name=value expected, got %q"):format(word)
end

--- Of `ask` and `chat`.
function options.talk(command)
  option(command, "-t --template TEMPLATE", "Ask as this template says: a name, or a path of a .lua or .txt file.")
  option(command, "-p --param NAME=VALUE", "A parameter of the template."):count "*":convert(parameter)
  option(command, "-T --tools FILE", "Let the model call the tools that this Lua file returns."):count "*"
  option(command, "--mcp FILE", "Let the model use the tools of the servers of this file (mcp.json)."):count "*"
  command:flag("-y --yes", "Do not ask before a tool runs.")
  command:flag("-u --usage", "Say after each answer what it took, on a terminal or not.")
  command:mutex(
    option(command, "--log FILE",
      "Keep questions and answers in this file: .db, .sqlite or lines of JSON (else KOINE_LOG)."),
    command:flag("--no-log", "Keep nothing, whatever KOINE_LOG and the settings say."))
  command:mutex(command:flag("-c --continue", "Go on with the last conversation of the log."),
    option(command, "--cid ID", "Go on with the conversation whose id begins so.")
      :convert(options.text "--cid"))
end

return options
