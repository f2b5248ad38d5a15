-- switch_provider.lua: a conversation that starts with one provider and continues with another.
-- Data that only the first one can read (signatures, encrypted reasoning) stays in the history, but is not sent.
local koine = require "koine"

local base, second_base = os.getenv "KOINE_BASE_URL", os.getenv "KOINE_SECOND_BASE_URL" -- nil: the providers' own
local first = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = base })
local second = koine.adapter(arg[2] or "openai/gpt-4.1", { base_url = second_base })

local history = { { role = "user", content = "Name a river in France." } }
local response = assert(first:chat(history))
print(first:provider_name() .. ": " .. response:text())

history[#history + 1] = response:message()
history[#history + 1] = { role = "user", content = "Which cities lie on it?" }
response = assert(second:chat(history))
print(second:provider_name() .. ": " .. response:text())
