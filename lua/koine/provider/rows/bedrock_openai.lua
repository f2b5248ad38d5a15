-- GPT and open models on Amazon Bedrock's Mantle, which speaks OpenAI's formats; some models speak Chat alone. Ids have
-- "openai." before OpenAI's own. Every call of a Responses answer is called call_0: the history's rules tell them
-- apart.

local MANTLE = "https://bedrock-mantle.{region}.api.aws"

return {
  name = "bedrock_openai",
  title = "OpenAI on Amazon Bedrock",
  telemetry = "aws.bedrock",
  options = { "api", region = "name", credentials = "credentials" },
  api = "responses",
  apis = {
    responses = { codec = "responses", base_url = MANTLE .. "/openai/v1" },
    chat = { codec = "chat", base_url = MANTLE .. "/v1" },
  },
  codec = "responses",
  base_url = MANTLE .. "/openai/v1",
  list = "/models",
  quirks = { refusals = "bedrock", structured = "schema", structured_tools = true, structured_strict = true,
    schema_dialect = "openai_strict" },
  env = { "AWS_BEARER_TOKEN_BEDROCK" },
  auth = "sigv4",
  service = "bedrock-mantle",
  id_header = "x-amzn-requestid",
  source = "recordings",
  seen = { "Responses: a call, a JSON answer", '`api = "chat"`' },
  says = { key = "`AWS_BEARER_TOKEN_BEDROCK`, or [others](bedrock.md)" },
}
