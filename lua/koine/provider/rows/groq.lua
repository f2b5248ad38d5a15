-- Groq. Keys that it does not know are refused, `reasoning_content` among them (freellmapi#1070). Qwen 3 writes its
-- reasoning as <think> into the text unless there are tools (console.groq.com/docs/reasoning: reasoning_format "raw").
-- logprobs are refused (console.groq.com/docs/openai).

local STRICT = { structured = "schema", structured_strict = true, schema_dialect = "openai_strict" }

return {
  name = "groq",
  title = "Groq",
  codec = "chat",
  base_url = "https://api.groq.com/openai/v1",
  list = "/models",
  env = { "GROQ_API_KEY" },
  default_model = "openai/gpt-oss-120b",
  auth = "bearer",
  quirks = { reasoning_field = "reasoning", no_documents = true, structured = "object", logprobs = "none" },
  failed_output = { code = "json_validate_failed", field = "failed_generation" },
  own_ids = { "^groq/compound" },
  models = {
    { prefix = "openai/gpt-oss-120b", context = 131072, max_output = 65536, thinking = "effort",
      quirks = STRICT, price = { input = 0.15, output = 0.6, cache_read = 0.075 } },
    { prefix = "openai/gpt-oss-20b", context = 131072, max_output = 65536, thinking = "effort", quirks = STRICT },
    { prefix = "qwen/qwen3", quirks = { inline_think = true } },
  },
  models_checked = "2026-11-21",
  source = "recordings",
  seen = { "reasoning, tools, errors in a stream", "prices, limits of models" },
}
