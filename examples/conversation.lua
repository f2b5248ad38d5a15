-- conversation.lua: a chat with a history that stays valid after a failure. Type lines; an empty one ends it.
local koine = require "koine"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })
local talk = koine.conversation(adapter, { system = "Answer in one or two sentences." })

io.write("> "):flush()
for line in io.lines() do
  if line == "" then break end
  local response, err = talk:ask(line, function(delta)
    if delta.type == "text_delta" then io.write(delta.text):flush() end
  end)
  print(response and "" or "\n[" .. tostring(err) .. "]")
  io.write("> "):flush()
end
