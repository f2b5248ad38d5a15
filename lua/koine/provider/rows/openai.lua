-- OpenAI: Responses, or Chat Completions with api = "chat".

local REASONING = { system_role = "developer", no_sampling = true }
-- From gpt-5.4 on, Chat Completions takes tools only with thinking = "none" (BerriAI/litellm#34569).
local REASONING_ALONE = { system_role = "developer", no_sampling = true, no_effort_with_tools = true }
local REASONING_NO_STOP = { system_role = "developer", no_sampling = true, no_stop = true }

local function reasoning(prefix, context, max_output, efforts, price, quirks)
  return { prefix = prefix, context = context, max_output = max_output, thinking = "effort", efforts = efforts,
    vision = true, price = price, quirks = quirks or REASONING }
end

-- Models that do not reason refuse to be asked for what they thought.
local function plain(prefix, context, max_output, price, structured)
  return { prefix = prefix, context = context, max_output = max_output, thinking = "none", vision = true,
    price = price, quirks = { no_encrypted_reasoning = true, structured = structured } }
end

-- Of others than those listed this is all that is known. The older ones cannot be held to a schema.
local function unlisted(prefix, structured)
  return { prefix = prefix, quirks = { no_encrypted_reasoning = true, structured = structured } }
end

return {
  name = "openai",
  title = "OpenAI",
  rank = 2,
  base_url = "https://api.openai.com/v1",
  list = "/models",
  env = { "OPENAI_API_KEY" },
  default_model = "gpt-4.1",
  auth = "bearer",
  options = { "api" },
  api = "responses",
  apis = {
    responses = { codec = "responses", counts = true },
    chat = { codec = "chat" },
  },
  quirks = { max_tokens_field = "max_completion_tokens", tool_id_max = 40, structured = "schema",
    structured_tools = true, structured_strict = true, schema_dialect = "openai_strict" },
  models = {
    -- prices that depend on the length of the prompt are left out: gpt-5.4 and later
    reasoning("gpt-6", 1050000, 128000, { "xhigh", "max" }, nil, REASONING_ALONE),
    reasoning("gpt-5.6", 1050000, 128000, { "none", "xhigh", "max" }, nil, REASONING_ALONE),
    reasoning("gpt-5.5", 1050000, 128000, { "none", "xhigh" }, nil, REASONING_ALONE),
    reasoning("gpt-5.4", 1050000, 128000, { "none", "xhigh" }, nil, REASONING_ALONE),
    reasoning("gpt-5.3", 400000, 128000, { "none", "xhigh" }),
    reasoning("gpt-5.2", 400000, 128000, { "none", "xhigh" }, { input = 1.75, output = 14, cache_read = 0.175 }),
    reasoning("gpt-5.1", 400000, 128000, { "none" }, { input = 1.25, output = 10, cache_read = 0.125 }),
    reasoning("gpt-5", 400000, 128000, { "minimal" }, { input = 1.25, output = 10, cache_read = 0.125 }),
    reasoning("gpt-5-mini", 400000, 128000, { "minimal" }, { input = 0.25, output = 2, cache_read = 0.025 }),
    reasoning("gpt-5-nano", 400000, 128000, { "minimal" }, { input = 0.05, output = 0.4, cache_read = 0.005 }),
    plain("gpt-5-chat", 128000, 16384),
    plain("gpt-5-chat-latest", 128000, 16384, { input = 1.25, output = 10, cache_read = 0.125 }),
    plain("gpt-5.1-chat", 128000, 16384),
    plain("gpt-5.1-chat-latest", 128000, 16384, { input = 1.25, output = 10, cache_read = 0.125 }),
    plain("gpt-5.2-chat", 128000, 16384),
    plain("gpt-5.2-chat-latest", 128000, 16384, { input = 1.75, output = 14, cache_read = 0.175 }),
    plain("gpt-5.3-chat", 128000, 16384),
    reasoning("o4-mini", 200000, 100000, nil, { input = 1.1, output = 4.4, cache_read = 0.275 }, REASONING_NO_STOP),
    reasoning("o3", 200000, 100000, nil, { input = 2, output = 8, cache_read = 0.5 }, REASONING_NO_STOP),
    reasoning("o3-mini", 200000, 100000, nil, { input = 1.1, output = 4.4, cache_read = 0.55 }, REASONING_NO_STOP),
    reasoning("o1", 200000, 100000, nil, { input = 15, output = 60, cache_read = 7.5 }),
    plain("gpt-4.1", 1047576, 32768, { input = 2, output = 8, cache_read = 0.5 }),
    plain("gpt-4.1-mini", 1047576, 32768, { input = 0.4, output = 1.6, cache_read = 0.1 }),
    plain("gpt-4.1-nano", 1047576, 32768, { input = 0.1, output = 0.4, cache_read = 0.025 }),
    plain("gpt-4o", 128000, 16384, { input = 2.5, output = 10, cache_read = 1.25 }),
    plain("gpt-4o-2024-05-13", 128000, 4096, { input = 5, output = 15 }, "object"), -- dearer than its successors
    plain("gpt-4o-mini", 128000, 16384, { input = 0.15, output = 0.6, cache_read = 0.075 }),
    unlisted("gpt-3.5", "object"), unlisted("gpt-4", "object"), unlisted("gpt-4.5"), unlisted("chatgpt-4o", "object"),
    unlisted("ft:gpt-3.5", "object"), unlisted("ft:gpt-4", "object"), unlisted "ft:gpt-4o", unlisted "ft:gpt-4.1",
  },
  models_checked = "2026-11-21",
  embed = { path = "/embeddings", dialect = "openai", model = "text-embedding-3-small", batch = 2048, tokens = 300000,
    base64 = true },
  source = "recordings",
  seen = { "Responses and Chat: text, reasoning, tools, OpenAI's tools, refusals, errors",
    "`count_tokens`, prices, limits" },
}
