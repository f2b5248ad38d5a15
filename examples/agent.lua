-- agent.lua: an agent with two tools. It asks the model, runs the tools that it calls, and repeats until it is done.
local koine = require "koine"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })

local weather = koine.tool {
  name = "weather",
  description = "The weather in a city, now.",
  example = { city = "Paris" },
  run = function(args) return "18 degrees and rain in " .. args.city end,
}

local convert = koine.tool {
  name = "convert",
  description = "Converts degrees Celsius to Fahrenheit.",
  parameters = { type = "object", properties = { celsius = { type = "number", minimum = -273.15 } },
    required = { "celsius" } },
  run = function(args) return args.celsius * 9 / 5 + 32 end,
}

local agent = koine.agent {
  adapter = adapter,
  tools = { weather, convert },
  system = "Be brief.",
  parallel = true,
  stop = { koine.agent.steps(10), koine.agent.deadline(120) },
  on_event = function(event)
    if event.kind == "tool_call" then print(("  -> %s(%s)"):format(event.tool_name, event.tool_input)) end
    if event.kind == "tool_result" then print("  <- " .. event.content) end
  end,
}

local result = assert(agent:run(arg[2] or "How warm is it in Paris, in Fahrenheit?"))
print(result.text)
print(("[%s; %d model calls, %d tokens in, %d out]"):format(result.reason or result.status, result.steps,
  result.usage.input_tokens, result.usage.output_tokens))
