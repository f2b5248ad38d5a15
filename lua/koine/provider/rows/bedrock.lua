-- Amazon Bedrock, Converse. A model's family decides what it takes of the format; ids may have a group of regions
-- or an ARN before them. Of an application's own profile nothing is known: the option quirks = {family = …} says it.
-- The date is that of Claude's entries, which are Anthropic's: the others were not compared with AWS's pages yet.

local anthropic = require "koine.provider.rows.anthropic"

-- Families whose models can be made to call a tool; others cannot.
local FORCED = { claude = "unthinking", nova = "always", nova2 = "unthinking", mistral_large = "always" }

-- Whose model an id with this prefix is, and what else is known of it.
local function model(prefix, family, quirks, fields)
  local entry = { prefix = prefix, quirks = { family = family, forced_choice = FORCED[family] } }
  for name, value in pairs(quirks or {}) do entry.quirks[name] = value end
  for name, value in pairs(fields or {}) do entry[name] = value end
  return entry
end

local NO_PREFILL = { no_prefill = true }
local TEXT_ALONE = { no_prefill = true, no_images = true }
local OLD_MISTRAL = { tool_id = "alnum9", system_role = "user", no_prefill = true, no_images = true }

local models = {
  model("anthropic.claude", "claude"),
  -- The first generation writes its thoughts as <thinking> into the text.
  model("amazon.nova", "nova", { no_prefill = true, inline_think = true }, { thinking = "none", vision = true }),
  model("amazon.nova-micro", "nova", { no_prefill = true, inline_think = true, no_images = true },
    { thinking = "none" }),
  model("amazon.nova-2", "nova2", NO_PREFILL, { thinking = "effort", vision = true }),
  model("amazon.titan-text", "other", { system_role = "user", no_prefill = true, no_images = true }),
  model("meta.llama", "llama", NO_PREFILL),
  model("mistral.mistral-large", "mistral_large", { tool_id = "alnum9", no_prefill = true }),
  model("mistral.pixtral-large", "mistral_large", { tool_id = "alnum9", no_prefill = true }, { vision = true }),
  -- The smaller ones cannot be made to call a tool, as Llama cannot.
  model("mistral.", "llama", { tool_id = "alnum9", no_prefill = true }),
  model("mistral.mistral-7b", "llama", OLD_MISTRAL),
  model("mistral.mixtral", "llama", OLD_MISTRAL),
  model("openai.gpt-oss", "gpt_oss", TEXT_ALONE, { thinking = "effort" }),
  model("qwen.", "thinker", { no_prefill = true, inline_think = true }),
  model("deepseek.", "thinker", { no_prefill = true, inline_think = true, no_images = true }),
}

-- The models of Claude that Converse holds to a schema; newer ones are refused.
local STRUCTURED = { ["claude-haiku-4-5"] = true, ["claude-sonnet-4-5"] = true, ["claude-opus-4-5"] = true,
  ["claude-sonnet-4-6"] = true, ["claude-opus-4-6"] = true }

-- Claude as Anthropic has it, but for the prices.
for _, known in ipairs(anthropic.models) do
  local quirks = { structured = STRUCTURED[known.prefix] and "schema" or "none" }
  for name, value in pairs(known.quirks or {}) do quirks[name] = quirks[name] or value end
  models[#models + 1] = model("anthropic." .. known.prefix, "claude", quirks, { context = known.context,
    max_output = known.max_output, thinking = known.thinking, efforts = known.efforts, vision = known.vision })
end

return {
  name = "bedrock",
  title = "Amazon Bedrock",
  telemetry = "aws.bedrock",
  codec = "bedrock",
  base_url = "https://bedrock-runtime.{region}.amazonaws.com",
  list_base_url = "https://bedrock.{region}.amazonaws.com",
  list = "/foundation-models",
  counts = true,
  env = { "AWS_BEARER_TOKEN_BEDROCK" },
  default_model = "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
  auth = "sigv4",
  service = "bedrock",
  id_header = "x-amzn-requestid",
  quirks = { structured = "none", structured_tools = true, no_json_object = true, schema_dialect = "bedrock",
    forced_choice = "never" },
  options = { region = "name", credentials = "credentials" },
  heads = { "^arn:[^/]*/", "^us%-gov%.", "^us%.", "^eu%.", "^apac%.", "^jp%.", "^au%.", "^ca%.", "^global%." },
  models = models,
  models_checked = anthropic.models_checked,
  embed = { path = "/model/{model}/invoke", dialect = "titan", model = "amazon.titan-embed-text-v2:0", batch = 1,
    tokens_header = "x-amzn-bedrock-input-token-count", models = {
      { prefix = "amazon.nova-2-multimodal-embeddings", dialect = "nova" },
      { prefix = "cohere.embed", dialect = "cohere", batch = 96, in_path = true },
    } },
  source = "recordings",
  seen = { "Claude, Nova, gpt-oss: text, thinking, tools, errors and more; embeddings (not Titan's)",
    "other families" },
  says = { key = "`AWS_BEARER_TOKEN_BEDROCK`, or [others](bedrock.md)" },
}
