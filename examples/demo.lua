-- demo.lua: one tool-calling loop, unchanged, against two providers.
-- Uses the provider of ANTHROPIC_API_KEY or OPENAI_API_KEY, if set. Else Koine's loopback provider answers, over HTTP
-- on 127.0.0.1, first in Anthropic's wire format and then in OpenAI's.
local koine = require "koine"

local weather = {
  name = "weather",
  description = "The weather in a city, now.",
  parameters = { type = "object", properties = { city = { type = "string" } }, required = { "city" } },
  run = function(arguments) return ("18 degrees and rain in %s"):format(arguments.city) end,
}

-- The loop: asks, runs the called tools and sends their results, until the model is done.
local function ask(adapter, question)
  local history, usage = { { role = "user", content = question } }, { input_tokens = 0, output_tokens = 0 }
  while true do
    local stream = assert(adapter:open(history, { tools = { weather }, max_tokens = 1024 }))
    for delta in stream:deltas() do
      if delta.type == "text_delta" then io.write(delta.text):flush() end
    end
    local response = assert(stream:response())
    history[#history + 1] = response:message()
    for name, n in pairs(usage) do usage[name] = n + (response.usage[name] or 0) end
    if response.stop_reason ~= "tool_use" then return response, usage end
    local results = {}
    for i, call in ipairs(response.tool_calls) do
      print(("\n  -> %s(%s)"):format(call.name, call.arguments_json))
      local result = call.arguments_error or weather.run(call.arguments)
      print("  <- " .. result)
      results[i] = { type = "tool_result", tool_use_id = call.id, content = result,
        is_error = call.arguments_error ~= nil }
    end
    history[#history + 1] = { role = "user", content = results }
  end
end

local function show(adapter)
  print(("--- %s, %s"):format(adapter:provider_name(), adapter:model_name()))
  local response, usage = ask(adapter, "Do I need an umbrella in Paris today?")
  print(("\n[%s; %d tokens in, %d out]\n"):format(response.stop_reason, usage.input_tokens, usage.output_tokens))
end

local has = os.getenv
if has "ANTHROPIC_API_KEY" then show(koine.anthropic { model = has "KOINE_MODEL" or "claude-sonnet-4-5" }) end
if has "OPENAI_API_KEY" then show(koine.openai { model = has "KOINE_MODEL" or "gpt-4.1" }) end
if has "ANTHROPIC_API_KEY" or has "OPENAI_API_KEY" then return end

local answers = {
  { content = { { type = "text", text = "Let me look. " },
                { type = "tool_use", id = "call_1", name = "weather", arguments = { city = "Paris" } } },
    usage = { input_tokens = 92, output_tokens = 21 }, chunk = 4 },
  { content = "Yes: it is raining in Paris, at 18 degrees. Take the umbrella.",
    usage = { input_tokens = 141, output_tokens = 17 }, chunk = 6 },
}
local server <close> = assert(koine.testing.start())
server:script(answers)
show(koine.anthropic { model = "claude-sonnet-4-5", base_url = server.url, key = "loopback" })
server:script(answers)
show(koine.openai { model = "gpt-4.1", base_url = server.url .. "/v1", key = "loopback" })
