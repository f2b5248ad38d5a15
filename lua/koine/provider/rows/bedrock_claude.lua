-- Claude on Amazon Bedrock's Mantle, which speaks Anthropic's Messages. Ids have "anthropic." before Anthropic's own.
-- Prices are not Anthropic's.

local anthropic = require "koine.provider.rows.anthropic"

return {
  name = "bedrock_claude",
  title = "Claude on Amazon Bedrock",
  codec = "anthropic",
  base_url = "https://bedrock-mantle.{region}.api.aws/anthropic",
  list = false,
  env = { "AWS_BEARER_TOKEN_BEDROCK" },
  auth = "sigv4",
  service = "bedrock-mantle",
  id_header = "x-amzn-requestid",
  headers = anthropic.headers,
  plain_max_tokens = anthropic.plain_max_tokens,
  options = { region = "name", credentials = "credentials" },
  heads = { "^us%.", "^eu%.", "^apac%.", "^jp%.", "^au%.", "^global%.", "^anthropic%." },
  models = require "koine.provider.claude",
  models_checked = anthropic.models_checked,
  source = "documentation",
  says = { key = "`AWS_BEARER_TOKEN_BEDROCK`, or [others](bedrock.md)" },
}
