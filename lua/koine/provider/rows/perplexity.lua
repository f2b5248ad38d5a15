-- Perplexity: no list of models; usage comes unasked, in every chunk. The reasoning models write their reasoning as
-- <think> into the text (docs.perplexity.ai/faq/faq). Its API names neither seed nor logprobs
-- (docs.perplexity.ai/api-reference/chat-completions-post).

return {
  name = "perplexity",
  title = "Perplexity",
  codec = "chat",
  base_url = "https://api.perplexity.ai",
  list = false,
  env = { "PERPLEXITY_API_KEY" },
  default_model = "sonar",
  auth = "bearer",
  quirks = { no_stream_usage = true, no_documents = true, reports_cost = true, structured = "schema",
    no_json_object = true, bare_output = true, seed_field = "none", logprobs = "none" },
  models = {
    { prefix = "sonar-reasoning", quirks = { inline_think = true } },
  },
  models_checked = "2026-11-21",
  embed = { path = "/v1/embeddings", dialect = "openai", model = "pplx-embed-v1-0.6b", batch = 512, tokens = 120000,
    dtype = "int8" },
  source = "documentation",
  seen = { "embeddings", "chats" },
}
