-- Claude on Amazon Bedrock, in Anthropic's Messages: at Mantle, which speaks them as Anthropic does, and through
-- invoke, which hands them through. Ids have "anthropic." before Anthropic's own, and for an inference profile a group
-- of regions before that. Prices are not Anthropic's.

local anthropic = require "koine.provider.rows.anthropic"

local MANTLE = "https://bedrock-mantle.{region}.api.aws/anthropic"

-- Anthropic's quirks and these.
local function quirks(own)
  for name, value in pairs(anthropic.quirks) do own[name] = value end
  return own
end

return {
  name = "bedrock_claude",
  title = "Claude on Amazon Bedrock",
  telemetry = "aws.bedrock",
  options = { "api", region = "name", credentials = "credentials" },
  api = "anthropic",
  apis = {
    anthropic = { codec = "anthropic", base_url = MANTLE, list = false, service = "bedrock-mantle",
      headers = anthropic.headers, quirks = quirks { refusals = "bedrock" } },
    invoke = { codec = "bedrock_invoke", base_url = "https://bedrock-runtime.{region}.amazonaws.com",
      list_base_url = "https://bedrock.{region}.amazonaws.com", list = "/foundation-models?byProvider=anthropic",
      service = "bedrock", quirks = quirks { image_data_only = true } },
  },
  base_url = MANTLE,
  env = { "AWS_BEARER_TOKEN_BEDROCK" },
  auth = "sigv4",
  id_header = "x-amzn-requestid",
  plain_max_tokens = anthropic.plain_max_tokens,
  heads = { "^arn:[^/]*/", "^us%-gov%.", "^us%.", "^eu%.", "^apac%.", "^jp%.", "^au%.", "^ca%.", "^global%.",
    "^anthropic%." },
  models = require "koine.provider.claude",
  models_checked = anthropic.models_checked,
  source = "recordings",
  seen = { '`api = "invoke"`: calls, plain and streamed', "Mantle: the format is Anthropic's" },
  says = { key = "`AWS_BEARER_TOKEN_BEDROCK`, or [others](bedrock.md)" },
}
