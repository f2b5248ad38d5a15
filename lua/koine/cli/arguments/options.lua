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

--- The number of seconds that a word is, for --timeout; nil and why not.
function options.seconds(word)
  local n = tonumber(word)
  if n and n > 0 and n < math.huge then return n end
  return nil, ("--timeout: seconds expected, got %q"):format(word)
end

-- An option of a command that becomes one of the adapter's constructor.
local function gives(command, flag, about, name, convert)
  command:option(flag, about):action(function(args, _, word)
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
  command:option("-o --option", "NAME=VALUE: any option of the adapter's constructor."):count "*":target "given":init {}
    :convert(assignment)
  gives(command, "--base-url", "URL of the server, instead of the provider's own.", "base_url")
  gives(command, "--timeout", "Seconds for the whole call.", "timeout")
  gives(command, "--retries", "Number of retries (2).", "retry", function(n) return { max = value_of(n) } end)
end

--- Of commands that talk to models.
function options.model(command)
  options.online(command)
  command:option("-m --model", "PROVIDER/MODEL or an alias (else KOINE_MODEL, the settings, the first key).")
  command:option("-s --system", "The system prompt.")
  gives(command, "--max-tokens", "The maximum number of tokens of the answer.", "max_tokens")
  gives(command, "--thinking", "low, medium, high, …, a number of tokens, or off.", "thinking", function(word)
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
  command:option("-t --template", "Ask as this template says: a name, or a path of a .lua or .txt file.")
  command:option("-p --param", "NAME=VALUE: a parameter of the template."):count "*":convert(parameter)
  command:option("-T --tools", "Let the model call the tools that this Lua file returns."):count "*"
  command:option("--mcp", "Let the model use the tools of the servers of this file (mcp.json)."):count "*"
  command:flag("-y --yes", "Do not ask before a tool runs.")
  command:flag("-u --usage", "Say after each answer what it took, on a terminal or not.")
  command:mutex(
    command:option("--log", "Keep questions and answers in this file: .db, .sqlite or lines of JSON (else KOINE_LOG)."),
    command:flag("--no-log", "Keep nothing, whatever KOINE_LOG and the settings say."))
  command:mutex(command:flag("-c --continue", "Go on with the last conversation of the log."),
    command:option("--cid", "Go on with the conversation whose id begins so."))
end

return options
