-- any_provider.lua: one program for every provider: a question, a tool, the answer as it is written, what it took.
-- Usage: lua5.4 examples/any_provider.lua [PROVIDER[/MODEL]] [QUESTION]
-- Without a name: that in KOINE_MODEL, else the first provider that has a key and a usual model.
local koine = require "koine"

local function with_a_key()
  for _, provider in ipairs(koine.providers()) do
    for _, variable in ipairs(provider.default_model and provider.env or {}) do
      if (os.getenv(variable) or "") ~= "" then return provider.name end
    end
  end
  error("name a provider, as in anthropic/claude-sonnet-4-5 or ollama/qwen3:4b", 0)
end

local name = arg[1] or os.getenv "KOINE_MODEL" or with_a_key()
local adapter = koine.adapter(name, { base_url = os.getenv "KOINE_BASE_URL" })

local weather = {
  name = "weather",
  description = "The weather in a city, now.",
  parameters = { type = "object", properties = { city = { type = "string" } }, required = { "city" } },
}

local history = { { role = "user", content = arg[2] or "Do I need an umbrella in Paris today?" } }
print(("--- %s, %s"):format(adapter:provider_name(), adapter:model_name()))
repeat
  local stream = assert(adapter:open(history, { system = "Be brief.", tools = { weather }, max_tokens = 1024 }))
  for delta in stream:deltas() do
    if delta.type == "text_delta" then io.write(delta.text):flush() end
  end
  local response = assert(stream:response())
  history[#history + 1] = response:message()
  for _, warning in ipairs(response.warnings) do print("\n  warning: " .. warning.message) end

  local results = {}
  for i, call in ipairs(response.tool_calls) do
    local content = call.arguments_error or ("18 degrees and rain in %s"):format(call.arguments.city)
    print(("\n  -> %s(%s)\n  <- %s"):format(call.name, call.arguments_json, content))
    results[i] = { type = "tool_result", tool_use_id = call.id, content = content,
      is_error = call.arguments_error ~= nil }
  end
  if results[1] then history[#history + 1] = { role = "user", content = results } end
  print(("\n[%s; %s tokens in, %s out]"):format(response.stop_reason, response.usage.input_tokens or "?",
    response.usage.output_tokens or "?"))
until not results[1]
