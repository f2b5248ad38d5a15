-- llama.cpp's server, by default on this machine. A key only where the server was started with one. It makes Chat
-- requests of the other two wires: the thinking option goes to the model's template on each, Responses' files are
-- refused and Messages' documents lost. top_k and min_p are taken (llama.cpp tools/server/README.md).

local anthropic = require "koine.provider.rows.anthropic"

return {
  name = "llamacpp",
  title = "llama.cpp",
  base_url = "http://127.0.0.1:8080/v1",
  options = { "api" },
  api = "chat",
  apis = {
    chat = { codec = "chat",
      quirks = { reasoning_field = "reasoning_content", effort = "template", no_documents = true,
        structured = "schema", no_json_object = true, schema_dialect = "gbnf", top_k = true, min_p = true } },
    responses = { codec = "responses", quirks = { effort = "template", no_documents = true, structured = "none" } },
    anthropic = { codec = "anthropic", counts = true, auth = anthropic.auth, headers = anthropic.headers,
      quirks = { route = "unversioned", effort = "template", unsigned_thinking = true, no_documents = true,
        structured = "none" } },
  },
  list = "/models",
  env = { "LLAMA_API_KEY" },
  auth = "bearer",
  key_optional = true,
  embed = { path = "/embeddings", dialect = "openai", hint = "start the server with --embeddings" },
  source = "recordings",
  seen = { "Chat: reasoning, tools, errors", '`api = "responses"` and `"anthropic"`' },
}
