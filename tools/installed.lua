-- installed.lua: what an installed Koine must be able to do, however it was built: a stream, an executor with its file
-- tools and a command, and a session, against the loopback provider. Prints a line for each; fails at the first that
-- does not hold. Run with the installed modules alone on LUA_PATH and LUA_CPATH.
local koine = require "koine"

local made = assert(koine.process.run { "mktemp", "-d" })
local folder = made.stdout:match "%C+"
local gone <close> = setmetatable({}, { -- luacheck: ignore gone
  __close = function() koine.process.run { "rm", "-rf", folder } end,
})

local function call(id, name, arguments) return { type = "tool_use", id = id, name = name, arguments = arguments } end

local function same(got, expected, what)
  assert(got == expected, ("%s: %q expected, got %q"):format(what, expected, tostring(got)))
end

local server <close> = assert(koine.testing.start { script = {
  { content = "Two words.", chunk = 3 },
  { content = { call("call_1", "write_file", { path = "a.txt", content = "one\n" }),
                call("call_2", "bash", { command = "cat a.txt" }) } },
  { content = "Done." },
} })
local model = koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "loopback" }

local parts = {}
for delta in model:stream "Say two words." do
  if delta.type == "text_delta" then parts[#parts + 1] = delta.text end
end
same(table.concat(parts), "Two words.", "stream")
print "a stream"

local ex = assert(koine.executor { workdir = folder })
same(ex.run("write_file", { path = "sub/b.txt", content = "two\n" }), "Wrote 4 bytes to sub/b.txt.", "write_file")
same((ex.run("grep", { text = "two" }):match "[%w/]+%.txt"), "sub/b.txt", "grep")
same(ex.run("bash", { command = "cat sub/b.txt" }):match "two", "two", "bash")
print "an executor"

local result = koine.session.run(model, {
  workdir = folder, role = "implementor", model = "claude-sonnet-4-5", allowed_tools = { "bash", "write_file" },
  prompt = "Write a file.", context_files = {}, require_git = false,
})
same(result.outcome, "completed", "session")
same(io.open(folder .. "/a.txt"):read "a", "one\n", "session's file")
print "a session"
