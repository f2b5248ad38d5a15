-- Alibaba Cloud's Qwen models (Model Studio, DashScope), outside China. Inside it is at
-- https://dashscope.aliyuncs.com/compatible-mode/v1, with other keys. A model can be
-- told whether to think, not how much. top_k is taken, min_p is not named. Some models tell logprobs, with
-- at most five alternatives to a token (alibabacloud.com/help/en/model-studio/qwen-api-via-openai-chat-completions).

return {
  name = "alibaba",
  title = "Alibaba Cloud",
  codec = "chat",
  base_url = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
  list = "/models",
  env = { "DASHSCOPE_API_KEY" },
  default_model = "qwen-plus",
  auth = "bearer",
  quirks = { effort = "enable_thinking", reasoning_field = "reasoning_content", no_documents = true,
    structured = "object", structured_tools = true, top_k = true, logprobs_most = 5 },
  embed = { path = "/embeddings", dialect = "openai", model = "text-embedding-v4", batch = 10 },
  source = "documentation",
}
