-- three_providers.lua: one script on Claude, GitHub Copilot and OpenAI in turn. Skips providers without key or login.
local koine = require "koine"

local base = os.getenv "KOINE_BASE_URL" -- a loopback provider, in tests
local adapters = {
  koine.anthropic { model = "claude-sonnet-4-5", base_url = base },
  koine.copilot { model = "gpt-4.1", api_base = base, github_host = base },
  koine.openai { model = "gpt-4.1", base_url = base and base .. "/v1" },
}

-- Prints a streamed answer, its tokens and its cost; the same code for every provider.
local function ask(adapter, question)
  io.write(("%s (%s): "):format(adapter:provider_name(), adapter:model_name()))
  local stream, err = adapter:open(question, { max_tokens = 200 })
  if not stream then return print(err) end
  for delta in stream:deltas() do
    if delta.type == "text_delta" then io.write(delta.text):flush() end
  end
  local response = assert(stream:response())
  local usage = response.usage
  local cost = usage.cost and ("%.6f USD"):format(usage.cost.total) or "price unknown"
  print(("\n  [%s; %s tokens in, %s out, %s]"):format(response.stop_reason, usage.input_tokens or "?",
    usage.output_tokens or "?", cost))
end

for _, adapter in ipairs(adapters) do
  if adapter:authenticated() then ask(adapter, arg[1] or "What is a koine? One sentence.")
  else print(adapter:provider_name() .. ": no key, no login") end
end
