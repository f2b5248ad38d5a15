--- The words of the command line: commands, options, help.

local argparse = require "argparse"
local failure = require "koine.cli.failure"
local json = require "koine.cli.json"
local koine = require "koine"

local arguments = {}

-- The value that a word of the command line stands for; Koine itself refuses wrong values.
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

-- A number of seconds.
local function seconds(word)
  local n = tonumber(word)
  if n and n > 0 and n < math.huge then return n end
  return nil, ("--timeout: seconds expected, got %q"):format(word)
end

local parser = argparse("koine", "One interface to every LLM provider."):require_command(true):command_target "command"
parser:flag("--version", "Print the version."):action(function() os.exit(print("koine " .. koine.version)) end)

-- A command that talks to providers; with `model`, to one of their models.
local function online(called, about, model)
  local command = parser:command(called, about)
  local option = command:option("-o --option", "NAME=VALUE: any option of the adapter's constructor."):count "*"
  option:target "given":init {}:convert(function(word)
    local name, value = word:match "^([^=]*)(=?.*)$"
    return { name, value == "" or value_of(value:sub(2)) }
  end)
  gives(command, "--base-url", "URL of the server, instead of the provider's own.", "base_url")
  gives(command, "--timeout", "Seconds for the whole call.", "timeout")
  gives(command, "--retries", "Number of retries (2).", "retry", function(n) return { max = value_of(n) } end)
  if not model then return command end
  command:option("-m --model", "PROVIDER/MODEL (else KOINE_MODEL, else the first provider with a key).")
  command:option("--system", "The system prompt.")
  gives(command, "--max-tokens", "The maximum number of tokens of the answer.", "max_tokens")
  gives(command, "--thinking", "low, medium, high, …, a number of tokens, or off.", "thinking", function(word)
    return tonumber(word) and { budget_tokens = value_of(word) } or word ~= "off" and word
  end)
  command:mutex(command:flag("--stream", "Write the answer as it arrives (default on a terminal)."),
    command:flag("--no-stream", "Write the answer when it is complete."))
  return command
end

-- The log of what was asked.
local function logged(command)
  command:mutex(
    command:option("--log", "Keep questions and answers in this file: .db, .sqlite or lines of JSON (else KOINE_LOG)."),
    command:flag("--no-log", "Keep nothing, whatever KOINE_LOG says."))
  command:mutex(command:flag("-c --continue", "Go on with the last conversation of the log."),
    command:option("--cid", "Go on with the conversation whose id begins so."))
end

-- The providers where a user logs in, who then has quotas there.
local logins, titles = {}, {}
for _, provider in ipairs(koine.providers()) do
  if provider.login then logins[#logins + 1], titles[#titles + 1] = provider.name, provider.title end
end
local login_names = table.concat(logins, ", ")

local ask = online("ask", "Ask one question.", true)
ask:argument("prompt", "The question, appended to the standard input."):args "*"
ask:option("-f --file", "Attach a text, an image or a PDF."):count "*"
ask:flag("--json", "Write the whole Response as JSON.")
ask:option("--schema", "Write JSON of this shape: \"name, age int\", or a file of JSON Schema (NAME.json).")
ask:option("--mcp", "Let the model use the tools of the servers of this file (mcp.json)."):count "*"
ask:flag("-y --yes", "With --mcp: do not ask before a tool runs.")
logged(ask)
ask:epilog [[
Examples:
  koine ask "Why is the sky blue?"
  git diff | koine ask -m openai/gpt-4.1 "Write a commit message for this."
  koine ask -f chart.png -f notes.md "Do these agree?"
  koine ask --schema "name, age int, works [string]" "Who was Ada Lovelace?"
  koine ask --mcp mcp.json "What do my notes say of Athens?"
  koine ask --schema invoice.json <letter.txt | jq .total
  koine ask --log ~/talks.db "A river?"; koine ask --log ~/talks.db -c "Its cities?"]]
logged(online("chat", "Chat, one question per line; /quit ends it.", true))
local agent = online("agent", "Have an agent work in a directory; it asks before it changes or runs anything.", true)
agent:argument("prompt", "The task (else one a line from the standard input; /quit ends)."):args "*"
agent:option("-C --directory", "The directory to work in (default: this one)."):overwrite(false)
agent:option("--max-steps", "The maximum number of model calls of a task (50)."):convert(value_of)
agent:flag("-y --yes", "Ask for nothing.")
agent:flag("--acp", "Serve an editor on standard input and output (Agent Client Protocol).")
agent:option("--sessions", "With --acp: a directory to keep sessions in.")
agent:epilog [[
Examples:
  koine agent "Why does the test fail? Repair it."
  koine agent -C ~/src/project -m anthropic/claude-sonnet-4-5
  koine agent --yes "Format all files" </dev/null
  koine agent --acp --sessions ~/.local/state/koine      (the command that an editor starts)]]
local embed = online("embed", "Turn texts into vectors, one a line.")
embed:argument("text", "Texts, each as one argument (else the lines of the standard input)."):args "*"
embed:option("-m --model", "PROVIDER/MODEL, or PROVIDER (else the first provider with a key and embeddings).")
embed:option("--dimensions", "The width of the vectors."):convert(value_of)
embed:option("--purpose", "query, document, similarity, classification, clustering or code_query.")
embed:option("--truncate", "end or start: cut texts that are too long, where the provider can.")
embed:mutex(embed:flag("--json", "Write the whole result as JSON."),
  embed:flag("--packed", "Write the numbers as float32, little-endian, 4 bytes each."))
embed:epilog [[
Examples:
  koine embed -m openai "a text" "another text"
  koine embed -m voyage/voyage-3.5 --purpose query "a question"
  koine embed --packed --dimensions 256 <lines.txt >vectors.f32]]
local logs = parser:command("logs", "List or show what was asked and answered with --log.")
logs:argument("action", "list (default), or show ID."):args "?":choices { "list", "show" }
logs:argument("id", "Of an exchange, or how it begins."):args "?"
logs:option("--log", "The log (else KOINE_LOG).")
logs:option("-n --number", "List so many, the last ones (10; 0: all)."):convert(function(word)
  local n = math.tointeger(tonumber(word))
  if n and n >= 0 then return n end
  return nil, ("-n: number from 0 on expected, got %q"):format(word)
end)
logs:option("-q --search", "Only exchanges whose question or answer holds this text.")
logs:option("-m --model", "Only those of models whose name holds this text.")
logs:option("--cid", "Only those of the conversation whose id begins so.")
logs:flag("--json", "Write all that was kept, a line of JSON each.")
logs:epilog [[
Examples:
  koine logs --log ~/talks.db -n 3
  koine logs -q Athens -m claude
  koine logs show 3f2a
  koine logs --json -n 0 | jq -s 'map(.cost) | add']]
local mcp = parser:command("mcp", "List the tools of MCP servers, or call one.")
mcp:argument("file", "A configuration of servers (mcp.json).")
mcp:argument("tool", "SERVER/TOOL: calls it."):args "?"
mcp:argument("arguments", "Its arguments, a JSON object (else none)."):args "?"
mcp:flag("--json", "Write all fields as JSON.")
mcp:option("--timeout", "Seconds for a server to start (30), or for the call."):convert(seconds)
mcp:epilog [[
Examples:
  koine mcp mcp.json
  koine mcp mcp.json files/read_file '{"path":"notes.txt"}'
  koine mcp --json mcp.json | jq '.servers[].tools[].name']]
local models = online("models", "List a provider's models.")
models:argument("provider", "As in PROVIDER/MODEL."):args "?"
models:flag("--json", "Write all fields of the models as JSON.")
local pull = online("pull", "Have a server download a model.")
pull:argument("model", "A model of Ollama's, or PROVIDER/MODEL.")
pull:epilog [[
Example: koine pull qwen3:4b
After Ctrl-C the server keeps the pieces that it has; the same command goes on from there.]]
local login = online("login", ("Log in to %s."):format(table.concat(titles, " or ")))
login:argument("provider", login_names):choices(logins)
local usage = online("usage", "Print the remaining quotas.")
usage:argument("provider", login_names .. ": the others have no quotas."):args "?"
usage:flag("--json", "Write the whole report as JSON.")
local trace = parser:command("trace", "Show a log of observers' records as trees.")
trace:argument("file", "A file that koine.observe.jsonl wrote.")
trace:option("-t --trace", "Only the trace whose id begins so.")
trace:mutex(
  trace:option("--html", "Write a page to this file instead (-: the output): a waterfall, with what each span says."),
  trace:flag("--follow", "Write a line for each span when it ends, until Ctrl-C; the file may come later."))
trace:epilog "Examples: koine trace run.jsonl -t 0af76519; koine trace run.jsonl --html run.html"

online("doctor", "Check libraries, keys and providers."):flag("--offline", "Make no requests.")
local serve = parser:command("serve-loopback", "Run a test provider on this machine until Ctrl-C.")
serve:mutex(serve:option("--script", "JSON file with the answers to play."),
  serve:flag("--echo", "Repeat each message (default without --script)."))
serve:option("--port", "Port to listen on (default: a free one)."):convert(function(word)
  local port = math.tointeger(tonumber(word))
  if port and port > 0 and port < 65536 then return port end
  return nil, ("--port: number from 1 to 65535 expected, got %q"):format(word)
end)

local cassette = parser:command("cassette", "Look for credentials in recorded answers: cassette check FILES.")
cassette:argument("action", "check"):choices { "check" }
cassette:argument("files", "Cassettes."):args "+"
cassette:option("--allow", "A text that may stay, though it looks like a credential."):count "*"
cassette:epilog [[
Example: koine cassette check spec/tapes/*.json]]

parser:add_complete_command { name = "completion", description = "Print what completes words in a shell.",
  epilog = "Example: eval \"$(koine completion bash)\"" }

-- Fails as wrong use for an option that -o cannot give, or that is given twice.
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

--- Parses the words: a table with `command`, its options and arguments, and for commands that talk to providers
-- `given`, an array of {option of the constructor, value, flag =, word =}. Fails as wrong use. --help and --version end
-- the program.
function arguments.parse(words)
  local understood, args = parser:pparse(joined(words))
  if not understood then failure.fail(failure.WRONG_USE, "%s (see koine --help)", args) end
  check_given(args.given or {})
  if args.command == "usage" then args.provider = args.provider or logins[1] end
  return args
end

return arguments
