-- xAI: no additionalProperties in tool schemas (vercel/ai 85735d8), reasoning deltas sent twice (6d835a7), completion
-- tokens that leave reasoning out. Prices that depend on the length of the prompt are left out. At most eight
-- alternatives to a token are told, in Chat; Responses only includes encrypted reasoning
-- (docs.x.ai/docs/api-reference).

return {
  name = "xai",
  title = "xAI",
  telemetry = "x_ai",
  base_url = "https://api.x.ai/v1",
  options = { "api" },
  api = "chat",
  apis = {
    chat = { codec = "chat" },
    responses = { codec = "responses",
      quirks = { no_additional_properties = true, no_documents = true, reports_cost = true, logprobs = "none",
        structured = "schema", structured_tools = true, structured_strict = true, schema_dialect = "openai_strict" } },
  },
  list = "/models",
  env = { "XAI_API_KEY" },
  default_model = "grok-4",
  auth = "bearer",
  quirks = { reasoning_field = "reasoning_content", no_additional_properties = true, dedup_reasoning = true,
    reasoning_outside_output = true, no_documents = true, reports_cost = true, logprobs_most = 8,
    structured = "schema", structured_tools = true, structured_strict = true, schema_dialect = "openai_strict" },
  models = {
    { prefix = "grok-4", thinking = "none", vision = true, quirks = { effort = "none", no_stop = true } },
    { prefix = "grok-4.", vision = true },
    { prefix = "grok-4.3", context = 1000000, max_output = 30000, vision = true },
    { prefix = "grok-code-fast-1", context = 256000, max_output = 10000, thinking = "none",
      price = { input = 0.2, output = 1.5, cache_read = 0.02 }, quirks = { effort = "none", no_stop = true } },
    { prefix = "grok-3-mini", context = 131072, thinking = "effort" },
  },
  models_checked = "2026-11-21",
  source = "recordings",
  seen = { "Chat: reasoning, tools; Responses: text, an error", "prices, limits of models" },
}
