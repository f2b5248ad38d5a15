-- Azure OpenAI: base_url is https://RESOURCE.openai.azure.com/openai/v1 (or …/openai/deployments/NAME?api-version=…),
-- the model the deployment's name, of which nothing is known here.

return {
  name = "azure",
  title = "Azure OpenAI",
  options = { "api" },
  api = "chat",
  apis = {
    chat = { codec = "chat", path = "/chat/completions" },
    responses = { codec = "responses", path = "/responses" },
  },
  models_path = "/models",
  env = { "AZURE_OPENAI_API_KEY" },
  auth = "api-key",
  quirks = { max_tokens_field = "max_completion_tokens", tool_id_max = 40 },
  source = "documentation",
}
