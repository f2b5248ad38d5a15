-- Together AI.

return {
  name = "together",
  title = "Together AI",
  codec = "chat",
  base_url = "https://api.together.xyz/v1",
  list = "/models",
  env = { "TOGETHER_API_KEY" },
  auth = "bearer",
  quirks = { no_documents = true, structured = "object" },
  embed = { path = "/embeddings", dialect = "openai" },
  source = "documentation",
}
