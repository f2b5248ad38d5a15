-- Azure OpenAI: the model is the deployment's name, of which nothing is known here. The address of a single deployment
-- (older, with ?api-version=… behind it) has no Responses.

local RESOURCE = "https://RESOURCE.openai.azure.com/openai/"

return {
  name = "azure",
  title = "Azure OpenAI",
  telemetry = "azure.ai.openai",
  base_urls = { RESOURCE .. "v1" },
  options = { "api" },
  api = "chat",
  apis = {
    chat = { codec = "chat", base_urls = { RESOURCE .. "v1", RESOURCE .. "deployments/NAME" } },
    responses = { codec = "responses" },
  },
  list = "/models",
  env = { "AZURE_OPENAI_API_KEY" },
  auth = "api-key",
  id_header = "apim-request-id",
  quirks = { max_tokens_field = "max_completion_tokens", tool_id_max = 40, structured = "schema",
    structured_tools = true, structured_strict = true, schema_dialect = "openai_strict" },
  embed = { path = "/embeddings", dialect = "openai", batch = 2048, tokens = 300000, base64 = true },
  source = "documentation",
  seen = { "a 429 error only", "everything else" },
}
