-- llama.cpp's server, by default on this machine. A key only where the server was started with one.

return {
  name = "llamacpp",
  title = "llama.cpp",
  codec = "chat",
  base_url = "http://127.0.0.1:8080/v1",
  path = "/chat/completions",
  models_path = "/models",
  env = { "LLAMA_API_KEY" },
  auth = "bearer",
  key_optional = true,
  quirks = { reasoning_field = "reasoning_content", no_documents = true },
  source = "recordings",
}
