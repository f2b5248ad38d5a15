-- Fireworks AI.

return {
  name = "fireworks",
  title = "Fireworks AI",
  codec = "chat",
  base_url = "https://api.fireworks.ai/inference/v1",
  list = "/models",
  env = { "FIREWORKS_API_KEY" },
  auth = "bearer",
  quirks = { no_documents = true, structured = "schema", structured_tools = true },
  embed = { path = "/embeddings", dialect = "openai" },
  source = "documentation",
}
