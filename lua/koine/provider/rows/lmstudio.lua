-- LM Studio, by default on this machine. Older builds refuse content: null (lmstudio-bug-tracker#261). Chats take seed
-- and top_k; logprobs and min_p are not named (lmstudio.ai/docs/developer/openai-compat/chat-completions).

return {
  name = "lmstudio",
  title = "LM Studio",
  codec = "chat",
  base_url = "http://127.0.0.1:1234/v1",
  list = "/models",
  env = { "LMSTUDIO_API_KEY" },
  auth = "bearer",
  key_optional = true,
  quirks = { null_content = "empty", no_documents = true, structured = "schema", no_json_object = true,
    schema_dialect = "gbnf", top_k = true, logprobs = "none" },
  embed = { path = "/embeddings", dialect = "openai", substitutes = true },
  source = "documentation",
}
