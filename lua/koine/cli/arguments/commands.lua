--- The commands: an array of {name, what it does, function that adds its options and examples}.

local koine = require "koine"
local options = require "koine.cli.arguments.options"

local argument, option = options.argument, options.option

local function ask(command)
  options.model(command)
  options.talk(command)
  argument(command, "PROMPT", "The question, appended to the standard input; - alone is that input."):args "*"
  option(command, "-f --file -a --attachment FILE",
    "Attach a text, an image or a document: a file, a URL, - for the input.")
    :count "*"
  command:flag("-x --extract", "Write only the first block of code of the answer.")
  option(command, "--schema SHAPE",
    "Write JSON of this shape: \"name, age int\", or a file of JSON Schema (NAME.json).")
  command:flag("--json", "Write the whole Response as JSON.")
  command:epilog [[
Examples:
  koine "Why is the sky blue?"
  git diff | koine ask -m openai/gpt-4.1 "Write a commit message for this."
  koine ask - <question.txt
  koine ask -f chart.png -f notes.md "Do these agree?"
  koine ask -x "A shell command that counts the files here" | tee count.sh
  koine ask -t translate -p language=French <letter.txt
  koine ask -T tools.lua "Is it raining in Paris?"
  koine ask --schema "name, age int" "Who was Ada Lovelace?"
  koine ask --mcp mcp.json "What do my notes say of Athens?"
  koine ask --schema invoice.json <letter.txt | jq .total
  koine ask --log ~/talks.db "A river?"
  koine ask --log ~/talks.db -c "Its cities?"]]
end

local function chat(command)
  options.model(command)
  options.talk(command)
  command:epilog [[
Examples:
  koine chat
  koine chat -m anthropic/claude-sonnet-4-5 -s "Be brief."
  koine chat --log ~/talks.db -c
/help lists what one can do in a chat; Ctrl-D ends it.]]
end

local function agent(command)
  options.model(command)
  argument(command, "TASK", "The task (else, or for -, one a line from the standard input; /quit ends).", "prompt")
    :args "*"
  option(command, "-C --directory DIR", "The directory to work in (default: this one)."):overwrite(false)
  option(command, "--max-steps N", "The maximum number of model calls of a task (50)."):convert(options.value_of)
  command:flag("-y --yes", "Ask for nothing.")
  command:flag("--acp", "Serve an editor on standard input and output (Agent Client Protocol).")
  option(command, "--sessions DIR", "With --acp: a directory to keep sessions in.")
  command:epilog [[
Examples:
  koine agent "Why does the test fail? Repair it."
  koine agent -C ~/src/project -m anthropic/claude-sonnet-4-5
  koine agent --yes "Format all files" </dev/null
  koine agent --acp                     (the command that an editor starts)]]
end

local function embed(command)
  options.online(command)
  argument(command, "TEXT", "Texts, each as one argument (else, or for -, the lines of the standard input)."):args "*"
  option(command, "-m --model PROVIDER[/MODEL]",
    "The model, or the usual one of a provider (else the first provider with a key and embeddings).")
  option(command, "--dimensions N", "The width of the vectors."):convert(options.value_of)
  option(command, "--purpose WORD", "query, document, similarity, classification, clustering or code_query.")
  option(command, "--truncate WORD", "end or start: cut texts that are too long, where the provider can.")
  command:mutex(command:flag("--json", "Write the whole result as JSON."),
    command:flag("--packed", "Write the numbers as float32, little-endian, 4 bytes each."))
  command:epilog [[
Examples:
  koine embed -m openai "a text" "another text"
  koine embed -m voyage/voyage-3.5 --purpose query "a question"
  koine embed --packed --dimensions 256 <lines.txt >vectors.f32]]
end

local function logs(command)
  command:argument("action", "list (default), or show ID."):args "?":choices { "list", "show" }
  argument(command, "ID", "Of an exchange, or how it begins."):args "?":convert(options.text "ID")
  option(command, "--log FILE", "The log (else KOINE_LOG, or that of the settings).")
  option(command, "-n --number N", "List so many, the last ones (10; 0: all)."):convert(options.integer("-n", 0))
  option(command, "-q --search TEXT", "Only exchanges whose question or answer holds this text.")
    :convert(options.text "-q")
  option(command, "-m --model TEXT", "Only those of models whose name holds this text."):convert(options.text "-m")
  option(command, "--cid ID", "Only those of the conversation whose id begins so."):convert(options.text "--cid")
  command:flag("--json", "Write all that was kept, a line of JSON each.")
  command:epilog [[
Examples:
  koine logs --log ~/talks.db -n 3
  koine logs -q Athens -m claude
  koine logs show 3f2a
  koine logs --json -n 0 | jq -s 'map(.cost) | add']]
end

local function mcp(command)
  argument(command, "FILE", "A configuration of servers (mcp.json).")
  argument(command, "SERVER/TOOL", "Calls this tool.", "tool"):args "?"
  argument(command, "ARGUMENTS", "Its arguments, a JSON object (else none)."):args "?"
  command:flag("--json", "Write all fields as JSON.")
  option(command, "--timeout SECONDS", "Seconds for a server to start (30), or for the call."):convert(options.seconds)
  command:epilog [[
Examples:
  koine mcp mcp.json
  koine mcp mcp.json files/read_file '{"path":"notes.txt"}'
  koine mcp --json mcp.json | jq '.servers[].tools[].name']]
end

local function models(command)
  options.online(command)
  argument(command, "PROVIDER", "As in PROVIDER/MODEL."):args "?"
  command:flag("--json", "Write all fields of the models as JSON.")
  command:epilog [[
Examples:
  koine models anthropic
  koine models openai | grep mini
  koine models --json gemini | jq -r '.[].id']]
end

local function templates(command)
  argument(command, "NAME", "Show this one."):args "?"
  command:epilog [[
Examples:
  koine templates
  koine templates translate
  koine ask -t translate -p language=French <letter.txt]]
end

local function config(command)
  command:flag("--json", "Write it as JSON.")
  command:epilog [[
Examples:
  koine config
  ${EDITOR:-vi} "$(koine config --json | jq -r .path)"]]
end

local function pull(command)
  options.online(command)
  argument(command, "[PROVIDER/]MODEL", "A model of Ollama's.", "model")
  command:epilog [[
Example: koine pull qwen3:4b
After Ctrl-C the server keeps the pieces that it has; the same command goes on from there.]]
end

-- The names of the providers where a user logs in, who then has quotas there.
local function logins()
  local names = {}
  for _, provider in ipairs(koine.providers()) do
    if provider.login then names[#names + 1] = provider.name end
  end
  return names
end

local function login(command)
  options.online(command)
  local names = logins()
  command:argument("provider", table.concat(names, ", ")):choices(names)
  command:epilog(("Example: koine login %s"):format(names[1]))
end

local function usage(command)
  options.online(command)
  local names = logins()
  argument(command, "PROVIDER", table.concat(names, ", ") .. ": the others have no quotas."):args "?"
  command:flag("--json", "Write the whole report as JSON.")
  command:epilog(("Examples: koine usage; koine usage --json %s | jq '.limits[].amount'"):format(names[1]))
end

local function trace(command)
  argument(command, "FILE", "A file that koine.observe.jsonl wrote.")
  option(command, "-t --trace ID", "Only the trace whose id begins so."):convert(options.text "-t")
  command:mutex(
    option(command, "--html PAGE", "Write a page to this file instead (-: the output): a waterfall of all spans.")
      :convert(options.text "--html"),
    command:flag("--follow", "Write a line for each span when it ends, until Ctrl-C; the file may come later."))
  command:epilog "Examples: koine trace run.jsonl -t 0af76519; koine trace run.jsonl --html run.html"
end

local function doctor(command)
  options.online(command)
  command:flag("--offline", "Make no requests.")
  command:epilog "Examples: koine doctor; koine doctor --offline"
end

local function serve_loopback(command)
  command:mutex(option(command, "--script FILE", "JSON file with the answers to play."),
    command:flag("--echo", "Repeat each message (default without --script)."))
  option(command, "--port N", "Port to listen on (default: a free one)."):convert(options.integer("--port", 1, 65535))
  command:epilog [[
Examples:
  koine serve-loopback --port 8080
  export ANTHROPIC_API_KEY=any          (in another shell)
  koine ask -m anthropic/any --base-url http://127.0.0.1:8080 "Hello?"]]
end

local function cassette(command)
  command:argument("action", "check"):choices { "check" }
  argument(command, "FILE", "Cassettes.", "files"):args "+"
  option(command, "--allow TEXT", "A text that may stay, though it looks like a credential."):count "*"
  command:epilog [[
Example: koine cassette check spec/tapes/*.json]]
end

return {
  { "ask", "Ask one question.", ask },
  { "chat", "Chat; /help lists what one can do.", chat },
  { "agent", "Have an agent work in a directory.", agent },
  { "embed", "Turn texts into vectors, one a line.", embed },
  { "logs", "List or show what was asked and answered.", logs },
  { "templates", "List the templates, or show one.", templates },
  { "config", "Show the settings.", config },
  { "mcp", "List the tools of MCP servers, or call one.", mcp },
  { "models", "List a provider's models.", models },
  { "pull", "Have a server download a model.", pull },
  { "login", "Log in to a provider that has no keys.", login },
  { "usage", "Print the remaining quotas.", usage },
  { "trace", "Show a log of observers' records as trees.", trace },
  { "doctor", "Check libraries, keys and providers.", doctor },
  { "serve-loopback", "Run a test provider on this machine until Ctrl-C.", serve_loopback },
  { "cassette", "Look for credentials in recorded answers.", cassette },
}
