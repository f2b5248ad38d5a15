-- Moonshot AI. Tool ids (functions.NAME:0) go back unchanged, and so does the reasoning of thinking models. Its API
-- names neither seed nor logprobs (platform.moonshot.ai/docs/api/chat).

return {
  name = "moonshot",
  title = "Moonshot AI",
  telemetry = "moonshot_ai",
  codec = "chat",
  base_url = "https://api.moonshot.ai/v1",
  list = "/models",
  env = { "MOONSHOT_API_KEY" },
  auth = "bearer",
  quirks = { reasoning_field = "reasoning_content", no_documents = true, structured = "object",
    structured_tools = true, seed_field = "none", logprobs = "none" },
  models = { { prefix = "kimi-k", quirks = { structured = "schema" } } }, -- K2 and later
  models_checked = "2026-11-23",
  source = "documentation",
}
