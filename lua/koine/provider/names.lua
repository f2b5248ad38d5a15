-- The names of all rows, sorted. `make generate` writes this file.
return {
  "alibaba", "anthropic", "azure", "azure_claude", "bedrock", "bedrock_claude", "bedrock_openai", "cerebras", "cohere",
  "compatible", "copilot", "deepinfra", "deepseek", "fireworks", "gemini", "groq", "llamacpp", "lmstudio", "minimax",
  "mistral", "moonshot", "ollama", "ollama_compat", "openai", "openrouter", "perplexity", "sglang", "together",
  "vertex", "vertex_claude", "vllm", "voyage", "xai",
}
