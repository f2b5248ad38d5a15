-- Mistral: tool ids of exactly nine letters and digits, "any" where others say "required", images as plain strings, the
-- tool's name on its result, reasoning as an array inside content. Usage comes unasked. The seed has a name of its own,
-- and there are no logprobs (docs.mistral.ai/api).

return {
  name = "mistral",
  title = "Mistral",
  telemetry = "mistral_ai",
  codec = "chat",
  base_url = "https://api.mistral.ai/v1",
  list = "/models",
  env = { "MISTRAL_API_KEY" },
  default_model = "mistral-large-latest",
  auth = "bearer",
  quirks = { tool_id = "alnum9", tool_choice_any = "any", image_string = true, tool_result_name = true,
    reasoning_field = "content", no_stream_usage = true, no_documents = true,
    structured = "schema", structured_tools = true, structured_strict = true, schema_dialect = "openai_strict",
    seed_field = "random_seed", logprobs = "none" },
  models = {
    { prefix = "mistral-small", context = 128000, max_output = 16384, vision = true },
    { prefix = "mistral-large", context = 262144, vision = true },
  },
  models_checked = "2026-11-21",
  embed = { path = "/embeddings", dialect = "openai", model = "mistral-embed", batch = 32, tokens = 16384,
    dimensions = "output_dimension", base64 = true },
  source = "recordings",
  seen = { "thinking, tools, a JSON answer, an error", "limits of models" },
}
