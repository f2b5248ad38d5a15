-- stream.lua: prints the answer as it arrives. Leaving the loop early closes the connection.
local koine = require "koine"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })

for delta in adapter:stream(arg[2] or "Explain Lua in one line.") do
  if delta.type == "text_delta" then io.write(delta.text):flush() end
end
print()
