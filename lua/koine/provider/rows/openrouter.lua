-- OpenRouter: many providers behind one address; ids are "vendor/model", its own routers "openrouter/auto". Signed and
-- encrypted reasoning comes and goes as reasoning_details. It takes top_k and min_p, and leaves out what a provider
-- does not take (openrouter.ai/docs/api-reference/parameters).

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
    structured = "schema", structured_tools = true, structured_strict = true, schema_dialect = "openai_strict",
    top_k = true, min_p = true },
  output_extra = { provider = { require_parameters = true } }, -- else it may choose a provider that drops the schema
  own_ids = { "^openrouter/[^/]+$" },
  embed = { path = "/embeddings", dialect = "openai", model = "openai/text-embedding-3-small" },
  source = "recordings",
  seen = { "Chat: signed reasoning, tools, annotations, errors in a stream; Responses: reasoning",
    "the list of models" },
}
