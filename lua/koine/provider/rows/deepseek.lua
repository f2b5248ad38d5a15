-- DeepSeek. V4 wants its reasoning back on every assistant message once tools are used (earendil-works/pi#3636), the
-- older reasoner never (vercel/ai 0498012). Prices depend on the hour and are left out. Its API names no
-- seed (api-docs.deepseek.com/api/create-chat-completion). Thinking models refuse logprobs, or did
-- (api-docs.deepseek.com/guides/reasoning_model).

local V4 = { reasoning_replay = "always", thinking_default = true }

local function models(v4)
  return {
    { prefix = "deepseek-v4", context = 1000000, max_output = 384000, thinking = "effort", efforts = { "max" },
      quirks = v4 },
    { prefix = "deepseek-reasoner", thinking = "effort", quirks = { reasoning_replay = "never" } },
    { prefix = "deepseek-chat", thinking = "none" },
  }
end

return {
  name = "deepseek",
  title = "DeepSeek",
  base_url = "https://api.deepseek.com",
  options = { "api" },
  api = "chat",
  apis = {
    chat = { codec = "chat" },
    -- here nothing tells V4 not to think
    responses = { codec = "responses", quirks = { no_documents = true, structured = "none" },
      models = models() },
  },
  list = "/models",
  env = { "DEEPSEEK_API_KEY" },
  default_model = "deepseek-chat",
  auth = "bearer",
  quirks = { reasoning_field = "reasoning_content", effort = "thinking", no_documents = true,
    structured = "object", structured_tools = true, forced_choice = "unthinking", seed_field = "none" },
  models = models(V4),
  models_checked = "2026-11-21",
  source = "recordings",
  seen = { "Chat: reasoning, tools, errors; Responses: a call", "limits of models" },
}
