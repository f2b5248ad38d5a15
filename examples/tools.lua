-- tools.lua: offers a tool, runs the model's calls and sends the results.
local koine = require "koine"

local adapter = koine.adapter(arg[1] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })

local add = {
  name = "add",
  description = "Adds two numbers.",
  parameters = {
    type = "object",
    properties = { a = { type = "number" }, b = { type = "number" } },
    required = { "a", "b" },
  },
}

local history = { { role = "user", content = "What is 19 plus 23? Use the tool." } }
local response = assert(adapter:chat(history, { tools = { add } }))
while response.stop_reason == "tool_use" do
  local results = {}
  for i, call in ipairs(response.tool_calls) do
    local bad = call.arguments_error -- the arguments are not a JSON object: send the error instead
    local content = bad or tostring(call.arguments.a + call.arguments.b)
    print("called", call.name, call.arguments_json, "=>", content)
    results[i] = { type = "tool_result", tool_use_id = call.id, content = content, is_error = bad ~= nil }
  end
  history[#history + 1] = response:message()
  history[#history + 1] = { role = "user", content = results }
  response = assert(adapter:chat(history, { tools = { add } }))
end
print(response:text())
