-- SGLang, by default on this machine. A key only where the server was started with one. It takes top_k and min_p
-- (docs.sglang.ai, Sampling Parameters).

return {
  name = "sglang",
  title = "SGLang",
  codec = "chat",
  base_url = "http://127.0.0.1:30000/v1",
  list = "/models",
  env = { "SGLANG_API_KEY" },
  auth = "bearer",
  key_optional = true,
  quirks = { reasoning_field = "reasoning_content", no_documents = true, structured = "schema",
    schema_dialect = "gbnf", top_k = true, min_p = true },
  embed = { path = "/embeddings", dialect = "openai" },
  source = "documentation",
}
