-- Bedrock under the contract of adapters: Converse with Claude, with a budget and adapting, with a bearer key and
-- signed, and with models of other families, which take less of the format; invoke with Claude.

local koine = require "koine"
local on_loopback = require "spec.lua.testing.contract.kit.on_loopback"

local busted = { describe = describe, it = it, assert = assert, setup = setup, teardown = teardown }

local KEYS = { access_key = "AKIDLOOPBACK", secret_key = "loopback/secret+key",
  session_token = "loopback-session-token" }

-- Per suite: model, further options, what it cannot do (or can beyond the others).
local SUITES = {
  { "us.anthropic.claude-sonnet-4-5-20250929-v1:0", {}, { signatures = true } },
  { "anthropic.claude-sonnet-4-6", { key = false, region = "eu-west-1", credentials = KEYS }, { signatures = true } },
  { "amazon.nova-2-lite-v1:0", {}, {} },
  { "amazon.nova-lite-v1:0", {}, { thinking_option = false } },
  { "openai.gpt-oss-120b-1:0", {}, { images = false } },
  { "meta.llama4-maverick-17b-instruct-v1:0", {}, { thinking_option = false } },
  { "mistral.mistral-large-2407-v1:0", {}, { thinking_option = false, exact_ids = false } },
}

for _, suite in ipairs(SUITES) do
  local options = { model = suite[1] }
  for name, value in pairs(suite[2]) do options[name] = value end
  local function construct(given)
    if suite[2].key == false then given.key = nil end
    return koine.bedrock(given)
  end
  local supports = { answer_model = false }
  for flag, value in pairs(suite[3]) do supports[flag] = value end
  on_loopback(busted, "koine.bedrock " .. suite[1], construct, options, supports)
end

-- Claude through invoke: Anthropic's blocks and counts of usage, AWS's errors and signatures.
for _, suite in ipairs { { "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "test-key" },
  { "us.anthropic.claude-sonnet-4-6" } } do
  local function construct(given)
    given.key = suite[2]
    return koine.bedrock_claude(given)
  end
  local options = { model = suite[1], api = "invoke" }
  if not suite[2] then options.region, options.credentials = "eu-west-1", KEYS end
  on_loopback(busted, "koine.bedrock_claude through invoke, " .. suite[1], construct, options,
    { signatures = true, blocks = true, sensitive = false })
end
