-- Cerebras. Keys that it does not know are refused, `reasoning_content` among them (qwen-code#11045).

return {
  name = "cerebras",
  title = "Cerebras",
  codec = "chat",
  base_url = "https://api.cerebras.ai/v1",
  list = "/models",
  env = { "CEREBRAS_API_KEY" },
  default_model = "gpt-oss-120b",
  auth = "bearer",
  quirks = { reasoning_field = "reasoning", no_documents = true, no_images = true,
    structured = "schema" },
  source = "documentation",
}
