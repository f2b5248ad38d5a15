-- Cohere through its OpenAI-compatible address. Thinking is off or on, without a level; of its own options (documents,
-- citations) nothing goes this way. Of OpenAI's options it takes seed, not logprobs
-- (docs.cohere.com/docs/compatibility-api).

return {
  name = "cohere",
  title = "Cohere",
  codec = "chat",
  base_url = "https://api.cohere.ai/compatibility/v1",
  list = "/models",
  env = { "COHERE_API_KEY" },
  default_model = "command-a-03-2025",
  auth = "bearer",
  quirks = { effort = "none_or_high", no_documents = true, structured = "schema", logprobs = "none" },
  models = {
    { prefix = "command-a-03-2025", thinking = "none" },
    { prefix = "command-a-reasoning-08-2025", context = 256000, max_output = 32000, thinking = "effort" },
  },
  models_checked = "2026-11-22",
  embed = { base_url = "https://api.cohere.com/v2", path = "/embed", dialect = "cohere", model = "embed-v4.0",
    batch = 96 },
  source = "documentation",
  seen = { "embeddings, an error", "chats" },
}
