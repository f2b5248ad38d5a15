-- ask.lua: one question, one answer. Usage: lua5.4 examples/ask.lua [provider/model] [question]
local koine = require "koine"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })
local response = assert(adapter:chat(arg[2] or "Why is the sky blue? One sentence."))

print(response:text())
print(("[%s, %s: %s tokens in, %s out]"):format(response.model, response.stop_reason,
  response.usage.input_tokens or "?", response.usage.output_tokens or "?"))
