-- Every provider whose dialect differs, under the contract of adapters.

local koine = require "koine"
local on_loopback = require "spec.lua.testing.contract.kit.on_loopback"

local busted = { describe = describe, it = it, assert = assert, setup = setup, teardown = teardown }

-- Mistral and Perplexity report a stream's usage unasked; the loopback provider only where it is asked for.
-- Per suite: constructor, model, what the wire cannot do (or can beyond the others), where it puts its thinking, the
-- options of its embeddings.
local ROWS = {
  { "alibaba", "qwen-plus", { thinking_levels = false }, "reasoning_content", {} },
  { "azure", "my-deployment", {}, nil, { model = "e" } },
  { "cerebras", "gpt-oss-120b", { images = false }, "reasoning" },
  { "cohere", "command-a-03-2025", { thinking_option = false } },
  { "cohere", "command-a-reasoning-08-2025", { thinking_levels = false } },
  { "deepinfra", "m", {}, nil, { model = "e" } },
  { "deepseek", "deepseek-v4-flash", { thinking_levels = false }, "reasoning_content" },
  { "deepseek", "deepseek-chat", { thinking_option = false } },
  { "fireworks", "m", {}, nil, { model = "e" } },
  { "groq", "openai/gpt-oss-120b", {}, "reasoning" },
  { "llamacpp", "m", {}, "reasoning_content", { model = "e" } },
  { "lmstudio", "m", {}, nil, { model = "e" } },
  { "mistral", "mistral-large-latest", { exact_ids = false, stream_usage = false }, "content", {} },
  { "moonshot", "kimi-k2", {}, "reasoning_content" },
  { "ollama_compat", "qwen3", {}, "reasoning", { model = "e" } },
  { "openai", "o3-mini" },
  { "openrouter", "anthropic/claude-sonnet-4.5", { signatures = true }, "reasoning_details",
    { model = "openai/text-embedding-3-small" } },
  { "perplexity", "sonar", { stream_usage = false }, nil, { model = "e" } },
  { "sglang", "m", {}, "reasoning_content", { model = "e" } },
  { "together", "m", {}, nil, { model = "e" } },
  { "vllm", "m", {}, "reasoning", { model = "e" } },
  { "xai", "grok-4", { thinking_option = false }, "reasoning_content" },
  { "xai", "grok-3-mini", {}, "reasoning_content" },
}

for _, row in ipairs(ROWS) do
  local supports = { refusal = false }
  for flag, value in pairs(row[3] or {}) do supports[flag] = value end
  on_loopback(busted, "koine." .. row[1] .. " " .. row[2], koine[row[1]], { model = row[2], embed = row[5] }, supports,
    row[4])
end

on_loopback(busted, "koine.compatible, Anthropic's wire", koine.compatible, { model = "m", api = "anthropic" },
  { signatures = true, blocks = true, sensitive = false })

for model, images in pairs { ["MiniMax-M3"] = true, ["MiniMax-M2.7"] = false } do
  on_loopback(busted, "koine.minimax " .. model, koine.minimax, { model = model, base_path = "/anthropic" },
    { signatures = true, blocks = true, sensitive = false, images = images })
end

on_loopback(busted, "koine.azure_claude", koine.azure_claude, { model = "claude-sonnet-4-5",
  base_path = "/anthropic" }, { signatures = true, blocks = true, sensitive = false })

-- With the tests' key as a token.
local function vertex_claude(given)
  given.token, given.key = given.key, nil
  return koine.vertex_claude(given)
end
for _, model in ipairs { "claude-sonnet-4-5@20250929", "claude-sonnet-4-6" } do
  on_loopback(busted, "koine.vertex_claude " .. model, vertex_claude, { model = model,
    base_path = "/v1/projects/p/locations/eu/publishers/anthropic" },
    { signatures = true, blocks = true, sensitive = false })
end
