-- DeepInfra. Models are named as their makers name them: "deepseek-ai/DeepSeek-V3". It takes top_k, min_p
-- and logprobs, but tells no alternatives to a token (the schema of its API, OpenAIChatCompletionsIn).

return {
  name = "deepinfra",
  title = "DeepInfra",
  codec = "chat",
  base_url = "https://api.deepinfra.com/v1/openai",
  list = "/models",
  env = { "DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN" },
  auth = "bearer",
  quirks = { no_documents = true, structured = "object", structured_tools = true, top_k = true, min_p = true,
    logprobs = "flag" },
  embed = { path = "/embeddings", dialect = "openai" },
  source = "documentation",
}
