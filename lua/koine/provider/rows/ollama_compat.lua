-- Ollama through its OpenAI-compatible address, by default on this machine; a key only for its cloud. http image URLs
-- are refused, num_ctx cannot be set this way.

return {
  name = "ollama_compat",
  title = "Ollama (OpenAI-compatible)",
  codec = "chat",
  base_url = "http://127.0.0.1:11434/v1",
  list = "/models",
  env = { "OLLAMA_API_KEY" },
  auth = "bearer",
  key_optional = true,
  quirks = { reasoning_field = "reasoning", null_content = "empty", image_data_only = true, no_documents = true,
    structured = "schema", schema_dialect = "ollama" },
  embed = { path = "/embeddings", dialect = "openai" },
  source = "recordings",
  seen = { "reasoning and a tool call, from the cloud", "everything else" },
}
