-- coding_session.lua: a model repairs a program in a git repository. Prints its actions and the changed files.
-- Uses Anthropic if ANTHROPIC_API_KEY is set, else Koine's loopback provider with a script.
local koine = require "koine"

-- Runs a program in the folder and returns its output.
local folder
local function run(...)
  local done = assert(koine.process.run({ ... }, { cwd = folder, merge = true }))
  assert(done.code == 0, done.stdout)
  return done.stdout
end

local function write(name, text)
  local file <close> = assert(io.open(folder .. "/" .. name, "w"))
  assert(file:write(text))
end

-- A repository with a program that has a bug, and a test that finds it.
folder = run("mktemp", "-d"):gsub("\n", "")
local gone <close> = setmetatable({}, { __close = function() run("rm", "-rf", folder) end }) -- luacheck: ignore gone
write("add.sh", "echo $(($1 - $2))\n")
write("test.sh", '[ "$(sh add.sh 19 23)" = 42 ] && echo passed || { echo failed; exit 1; }\n')
write("issue.md", "add.sh 19 23 should print 42. The test is test.sh.\n")
run("git", "init", "--quiet")
run("git", "add", "-A")
run("git", "-c", "user.name=Koine", "-c", "user.email=koine@example.org", "commit", "--quiet", "-m", "A program")

local function call(id, name, arguments) return { type = "tool_use", id = id, name = name, arguments = arguments } end
local SCRIPT = {
  { content = { { type = "text", text = "I run the test first." }, call("call_1", "bash", { command = "sh test.sh" }) },
    usage = { input_tokens = 1200, output_tokens = 40, cache_read_tokens = 0, cache_creation_tokens = 0 } },
  { content = { call("call_2", "edit_file", { path = "add.sh", old_str = "$1 - $2", new_str = "$1 + $2" }),
                call("call_3", "bash", { command = "sh test.sh" }) },
    usage = { input_tokens = 1300, output_tokens = 90, cache_read_tokens = 0, cache_creation_tokens = 0 } },
  { content = "It subtracted. Now it adds, and the test passes.",
    usage = { input_tokens = 1450, output_tokens = 20, cache_read_tokens = 0, cache_creation_tokens = 0 } },
}

local model, url, key = os.getenv "KOINE_MODEL" or "claude-sonnet-4-5", os.getenv "KOINE_BASE_URL", nil
local server <close> = not os.getenv "ANTHROPIC_API_KEY" and assert(koine.testing.start { script = SCRIPT }) or nil
if server then url, key = server.url, "loopback" end

local SHOW = {
  output = function(event) print(event.content) end,
  reasoning = function(event) print("(" .. event.content .. ")") end,
  tool_call = function(event) print(("  -> %s %s"):format(event.tool_name, event.tool_input)) end,
  tool_result = function(event) print("  <- " .. event.content:gsub("\n$", ""):gsub("\n", "\n     ")) end,
}

local result = koine.session.run(koine.anthropic { model = model, base_url = url, key = key }, {
  workdir = folder, role = "implementor", model = model,
  allowed_tools = { "bash", "read_file", "edit_file", "report_blocked" },
  prompt = "Fix the issue, and make sure that the test passes.",
  context_files = { folder .. "/issue.md" },
  on_event = function(event) SHOW[event.kind](event) end,
})

local usage = result.usage
print(("[%s; %d tokens in, %d out, %s USD]"):format(result.reason or result.outcome, usage.tokens_in, usage.tokens_out,
  usage.cost_usd and ("%.4f"):format(usage.cost_usd) or "?"))
print("changed: " .. table.concat(result.artifacts, ", "))
