-- Voyage AI: embeddings, nothing else. An address with a key of MongoDB Atlas is another one; give it as base_url.

return {
  name = "voyage",
  title = "Voyage AI",
  chat = false,
  codec = "chat", -- of its errors
  base_url = "https://api.voyageai.com/v1",
  list = false,
  env = { "VOYAGE_API_KEY" },
  auth = "bearer",
  embed = { path = "/embeddings", dialect = "openai", batch = 128, tokens = 120000, dimensions = "output_dimension",
    base64 = true, truncation = "truncation", not_found = { "is not supported" },
    purposes = { query = "query", document = "document", code_query = "query" } },
  source = "recordings",
  seen = { "embeddings, an error", "packed integers" },
  says = { speaks = "embeddings alone" },
}
