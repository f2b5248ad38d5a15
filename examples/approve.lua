-- approve.lua: a tool that needs approval. Answer y to run it, or type a reason to refuse.
local koine = require "koine"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })

local delete = koine.tool {
  name = "delete",
  description = "Deletes a file.",
  example = { path = "notes.txt" },
  needs_approval = function(args) return not args.path:find "^/tmp/" end,
  run = function(args) return "deleted " .. args.path .. " (not really)" end,
}

local agent = koine.agent { adapter = adapter, tools = { delete }, system = "You tidy up." }
local result, run = assert(agent:run "Delete /tmp/a.txt and /home/me/thesis.txt.")
while result.status == "paused" do
  for _, call in ipairs(result.pending) do
    io.write(("%s(%s)? "):format(call.name, call.arguments_json)):flush()
    local answer = io.read() or "no answer"
    if answer == "y" then run:approve(call.id) else run:deny(call.id, answer) end
  end
  result = assert(run:result())
end
for _, call in ipairs(result.calls) do print(call.executed and "ran:" or "did not run:", call.arguments_json) end
print(result.text)
