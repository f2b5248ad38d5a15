-- Perplexity: no list of models; usage comes unasked, in every chunk.

return {
  name = "perplexity",
  title = "Perplexity",
  codec = "chat",
  base_url = "https://api.perplexity.ai",
  path = "/chat/completions",
  env = { "PERPLEXITY_API_KEY" },
  auth = "bearer",
  quirks = { no_stream_usage = true, no_documents = true },
  source = "documentation",
}
