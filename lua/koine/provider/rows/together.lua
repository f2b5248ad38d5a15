-- Together AI. It takes top_k and min_p; `logprobs` is a number (togethercomputer/together-python, types of chats).

return {
  name = "together",
  title = "Together AI",
  codec = "chat",
  base_url = "https://api.together.xyz/v1",
  list = "/models",
  env = { "TOGETHER_API_KEY" },
  auth = "bearer",
  quirks = { no_documents = true, structured = "object", top_k = true, min_p = true, logprobs = "count" },
  embed = { path = "/embeddings", dialect = "openai" },
  source = "documentation",
}
