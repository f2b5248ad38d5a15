-- Fireworks AI. It takes top_k and min_p; at most five alternatives to a token are told
-- (docs.fireworks.ai/api-reference/post-chatcompletions).

return {
  name = "fireworks",
  title = "Fireworks AI",
  codec = "chat",
  base_url = "https://api.fireworks.ai/inference/v1",
  list = "/models",
  env = { "FIREWORKS_API_KEY" },
  auth = "bearer",
  quirks = { no_documents = true, structured = "schema", structured_tools = true, top_k = true, min_p = true,
    logprobs_most = 5 },
  embed = { path = "/embeddings", dialect = "openai" },
  source = "documentation",
}
