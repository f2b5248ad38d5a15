-- The names of all rows, sorted. `make generate` writes this file.
return {
  "anthropic", "azure", "bedrock", "bedrock_claude", "bedrock_openai", "cerebras", "compatible", "copilot", "deepseek",
  "fireworks", "gemini", "groq", "llamacpp", "lmstudio", "mistral", "moonshot", "ollama", "ollama_compat", "openai",
  "openrouter", "perplexity", "together", "vertex", "vllm", "xai",
}
