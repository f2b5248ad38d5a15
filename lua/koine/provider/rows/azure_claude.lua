-- Claude on Microsoft Foundry, which speaks Anthropic's Messages. The model is the deployment's name, by default the
-- model's own. Keys go out as x-api-key, tokens of Entra ID as bearer: the option auth. Prices are not Anthropic's.

local anthropic = require "koine.provider.rows.anthropic"

return {
  name = "azure_claude",
  title = "Claude on Azure",
  codec = "anthropic",
  base_url = "https://{resource}.services.ai.azure.com/anthropic",
  blanks = { resource = "ANTHROPIC_FOUNDRY_RESOURCE" },
  list = false,
  counts = true,
  env = { "ANTHROPIC_FOUNDRY_API_KEY" },
  auth = "x-api-key",
  options = { "auth", resource = "name" },
  headers = anthropic.headers,
  quirks = anthropic.quirks,
  plain_max_tokens = anthropic.plain_max_tokens,
  models = require "koine.provider.claude",
  models_checked = anthropic.models_checked,
  source = "documentation",
  seen = { "none", "everything: the format is Anthropic's" },
}
