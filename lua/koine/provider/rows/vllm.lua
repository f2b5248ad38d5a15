-- vLLM, by default on this machine. It renamed reasoning_content to reasoning (vllm#27755); both are read. top_k and
-- min_p are among the extra parameters of chats (docs.vllm.ai, OpenAI-Compatible Server).

return {
  name = "vllm",
  title = "vLLM",
  base_url = "http://127.0.0.1:8000/v1",
  options = { "api" },
  api = "chat",
  apis = {
    chat = { codec = "chat" },
    responses = { codec = "responses", quirks = { no_documents = true, structured = "none" } },
  },
  list = "/models",
  env = { "VLLM_API_KEY" },
  auth = "bearer",
  key_optional = true,
  quirks = { reasoning_field = "reasoning", no_documents = true, structured = "schema", schema_dialect = "gbnf",
    top_k = true, min_p = true },
  embed = { path = "/embeddings", dialect = "openai" },
  source = "recordings",
  seen = { "Chat: text, reasoning, tools; Responses: a cut answer", "the list of models" },
}
