-- OpenRouter: many providers behind one address; ids are "vendor/model", its own routers "openrouter/auto". Signed and
-- encrypted reasoning comes and goes as reasoning_details.

return {
  name = "openrouter",
  title = "OpenRouter",
  base_url = "https://openrouter.ai/api/v1",
  options = { "api" },
  api = "chat",
  apis = {
    chat = { codec = "chat" },
    responses = { codec = "responses", quirks = { reports_cost = true, structured = "none" } },
  },
  list = "/models",
  env = { "OPENROUTER_API_KEY" },
  default_model = "openrouter/auto",
  auth = "bearer",
  quirks = { effort = "reasoning", reasoning_field = "reasoning_details", reports_cost = true,
    structured = "schema", structured_tools = true, structured_strict = true, schema_dialect = "openai_strict" },
  own_ids = { "^openrouter/[^/]+$" },
  embed = { path = "/embeddings", dialect = "openai", model = "openai/text-embedding-3-small" },
  source = "recordings",
  seen = { "Chat: signed reasoning, tools, annotations, errors in a stream; Responses: reasoning",
    "the list of models" },
}
