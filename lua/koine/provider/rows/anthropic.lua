-- Anthropic, Messages API. Models: platform.claude.com, models overview and migration guides.

local ALL_EFFORTS = { "xhigh", "max" }

-- From 4.6 a trailing assistant message is refused, after 4.6 sampling settings are too; 5 thinks unless told not to,
-- and what came after it cannot be told.
local PREFILL_REFUSED = { no_prefill = true }
local SAMPLING_REFUSED = { no_prefill = true, no_sampling = true }
local THINKS_BY_DEFAULT = { no_prefill = true, no_sampling = true, thinking_default = true }

-- USD per million tokens: what was read from the cache costs less than new input, what is written to it a quarter more,
-- for an hour twice as much.
local function price(input, output, cache_read)
  return { input = input, output = output, cache_read = cache_read, cache_write = input * 1.25,
    cache_write_1h = input * 2 }
end

local OPUS, OLD_OPUS, SONNET = price(5, 25, 0.5), price(15, 75, 1.5), price(3, 15, 0.3)

local function adaptive(prefix, prices, quirks, efforts, max_output)
  return { prefix = prefix, context = 1000000, max_output = max_output or 128000, thinking = "adaptive",
    efforts = efforts or ALL_EFFORTS, vision = true, price = prices, quirks = quirks }
end

local function older(thinking, prefix, prices, max_output, quirks)
  return { prefix = prefix, context = 200000, max_output = max_output, thinking = thinking, vision = true,
    price = prices, quirks = quirks }
end

-- Cannot be held to a schema; of Fable 5 sources disagree.
local BY_TOOL = { structured = "none" }
local FABLE = { no_prefill = true, no_sampling = true, structured = "none", forced_choice = "never" }

return {
  name = "anthropic",
  title = "Anthropic",
  rank = 1,
  codec = "anthropic",
  base_url = "https://api.anthropic.com",
  list = "/v1/models?limit=1000",
  counts = true,
  env = { "ANTHROPIC_API_KEY" },
  default_model = "claude-sonnet-4-5",
  auth = "x-api-key",
  headers = { ["anthropic-version"] = "2023-06-01" },
  quirks = { structured = "schema", structured_tools = true, no_json_object = true, schema_dialect = "anthropic",
    forced_choice = "unthinking" },
  plain_max_tokens = 21333, -- ten minutes at 128,000 tokens an hour: longer plain answers are refused
  models = {
    adaptive("claude-fable-5", price(10, 50, 1), FABLE),
    adaptive("claude-fable-5-1", nil, FABLE),
    adaptive("claude-opus-5-5", price(4, 20, 0.2), SAMPLING_REFUSED),
    adaptive("claude-opus-5", OPUS, THINKS_BY_DEFAULT),
    adaptive("claude-sonnet-5-5", price(2, 10, 0.1), SAMPLING_REFUSED),
    adaptive("claude-sonnet-5", price(2, 10, 0.2), THINKS_BY_DEFAULT),
    adaptive("claude-haiku-5-5", nil, SAMPLING_REFUSED),
    adaptive("claude-opus-4-8", OPUS, SAMPLING_REFUSED),
    adaptive("claude-opus-4-7", OPUS, SAMPLING_REFUSED),
    adaptive("claude-opus-4-6", OPUS, PREFILL_REFUSED, { "max" }),
    adaptive("claude-sonnet-4-6", SONNET, PREFILL_REFUSED, { "max" }, 64000),
    older("budget", "claude-opus-4-5", OPUS, 64000),
    older("budget", "claude-opus-4-1", OLD_OPUS, 32000),
    older("budget", "claude-opus-4", OLD_OPUS, 32000, BY_TOOL),
    older("budget", "claude-sonnet-4-5", SONNET, 64000),
    older("budget", "claude-sonnet-4", SONNET, 64000, BY_TOOL),
    older("budget", "claude-haiku-4-5", price(1, 5, 0.1), 64000),
    older("budget", "claude-3-7-sonnet", SONNET, 64000, BY_TOOL),
    older("none", "claude-3-5-sonnet", SONNET, 8192, BY_TOOL),
    older("none", "claude-3-5-haiku", price(0.8, 4, 0.08), 8192, BY_TOOL),
    older("none", "claude-3-opus", OLD_OPUS, 4096, BY_TOOL),
    older("none", "claude-3-haiku", { input = 0.25, output = 1.25, cache_read = 0.03, cache_write = 0.3,
      cache_write_1h = 0.5 }, 4096, BY_TOOL),
  },
  models_checked = "2026-11-21",
  source = "recordings",
  seen = { "text, signed thinking, tools, Anthropic's tools, citations, caching, refusals, errors",
    "prices, limits of models" },
}
