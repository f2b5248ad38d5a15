--- One request that uses most of what a request may hold: nested schemas, a history with calls, results, images and
-- thinking, metadata, extra, headers. The wires share it, but for the fields that only one of them knows.

local koine = require "koine"

local sample = {}

-- Nine pixels of a GIF.
sample.gif = "R0lGODlhAwADAIAAAP///wAAACH5BAAAAAAALAAAAAADAAMAAAIDhI9WADs="

sample.tools = {
  {
    name = "weather",
    description = "The weather in a city.",
    parameters = {
      type = "object",
      properties = {
        city = { type = "string", description = "its name", minLength = 1 },
        unit = { type = "string", enum = { "c", "f" }, default = "c" },
        days = { type = "array", items = { type = "object", additionalProperties = false,
          properties = { date = { type = "string" }, hours = { type = "array", items = { type = "number" } } },
          required = { "date" } } },
        options = { type = "object", properties = {}, additionalProperties = { type = "boolean" } },
      },
      required = { "city" },
      additionalProperties = false,
    },
    run = print,
  },
  { name = "time", description = "The time in a city.", strict = true,
    parameters = { type = "object", properties = {}, additionalProperties = false } },
  { name = "add", parameters = { type = "object", properties = { a = { type = "number" }, b = { type = "number" },
    c = { type = "number" }, d = { type = "number" } }, required = { "d", "b" } } },
  { name = "judge", description = "Judges.", parameters = '{"type": "object", "properties": {"why": {"type": "string"},'
    .. '"answer": {"type": "object", "properties": {"yes": {"type": "boolean"}, "also": {}}}}}' },
}

--- The history, as it grew; every prefix that ends with a user message is a legal request. `provider` and `model` are
-- where the assistant's blocks come from.
function sample.history(provider, model)
  local origin = { provider = provider, model = model }
  return {
    { role = "user", content = { { type = "text", text = "What is this? é 😀 \"q\" \\ \n \t" },
      { type = "image", source = sample.gif, media_type = "image/gif" } } },
    { role = "assistant", content = {
      { type = "thinking", thinking = "A picture. ", signature = "c2lnbmF0dXJlLTE=", provider_data = origin },
      { type = "text", text = "Let me look." },
      { type = "tool_use", id = "toolu_a", name = "weather",
        arguments = { city = "Köln", days = { { date = "2026-01-01", hours = { 1, 2.5, 1e21, 0.1 + 0.2 } } },
          options = {} } },
      { type = "tool_use", id = "toolu_b", name = "add",
        arguments = { a = 9007199254740993, b = -0.5, c = math.maxinteger, d = math.mininteger },
        arguments_json = '{"b": -0.5, "a":9007199254740993,"d":-9223372036854775808, "c":9223372036854775807}' },
    } },
    { role = "user", content = {
      { type = "tool_result", tool_use_id = "toolu_a", content = "18 degrees" },
      { type = "tool_result", tool_use_id = "toolu_b", content = { { type = "text", text = "no such number" } },
        is_error = true },
    } },
    { role = "assistant", content = "It rains in Köln." },
    { role = "user", content = "And now?" },
    { role = "assistant", content = {
      { type = "thinking", thinking = "The clock.", signature = "c2lnbmF0dXJlLTI=", provider_data = origin },
      { type = "tool_use", id = "toolu_c", name = "time", arguments = {}, arguments_json = "{}" },
    } },
    { role = "user", content = { { type = "tool_result", tool_use_id = "toolu_c",
      content = { { type = "text", text = "noon" },
        { type = "image", source = sample.gif, media_type = "image/gif" } } },
      { type = "text", text = "Go on." } } },
    { role = "assistant", content = { { type = "text", text = "It is noon." } } },
    { role = "user", content = "Thanks." },
  }
end

-- The shape of an answer, whose properties have an order.
local SHAPE = { type = "object", required = { "why", "answer", "also" }, additionalProperties = false,
  properties = { answer = { type = "object", required = { "yes", "by" }, additionalProperties = false,
    properties = { by = { type = "string" }, yes = { type = "boolean" } } },
    also = { type = "array", items = { type = "string" } }, why = { type = "string", description = "first" } } }

-- Fields that only one of the wires takes.
local EXTRA = {
  anthropic = { service_tier = "auto", container = { id = "c", skills = koine.array {}, a = koine.null,
    b = { x = 1 } } },
  chat = { n = 1, logit_bias = { ["50256"] = -100, ["11"] = 1.5, ["198"] = 3, ["7"] = 0 }, user = "u" },
  responses = { seed = 7, truncation = "auto", prompt = { id = "p", variables = { b = "2", a = "1", c = "3" } } },
  gemini = { presence_penalty = 0.1, frequency_penalty = 0.2, generationConfig = { responseModalities = { "TEXT" },
    speechConfig = { b = { x = 1 }, a = 0.5, languageCode = "de" } },
    toolConfig = { retrievalConfig = { b = 1, a = 2 } },
    safetySettings = { { threshold = "BLOCK_NONE", category = "HARM_CATEGORY_HARASSMENT" } }, z = 1 },
  bedrock = { additionalModelRequestFields = { top_k = 3, b = { y = 1, x = 2.5 }, a = koine.array {} },
    performanceConfig = { latency = "standard" },
    guardrailConfig = { guardrailVersion = "1", guardrailIdentifier = "g" } },
  ollama = { keep_alive = "5m", options = { num_ctx = 4096, num_keep = 7, mirostat = 0, repeat_penalty = 1.1 } },
}

--- Those whose answers shall have a shape are the same as others but for their tools, beside which not every model
-- takes one.
function sample.shaped(wire)
  local options = sample.options(wire)
  options.tools, options.tool_choice, options.output = nil, nil, { schema = SHAPE, name = "verdict" }
  return options
end

--- The options of the call, on a wire: anthropic, chat, …
function sample.options(wire)
  return {
    system = { { type = "text", text = "Be brief." }, { type = "text", text = "Be kind." } },
    tools = sample.tools, tool_choice = "auto", max_tokens = 300, temperature = 0.7, top_p = 0.95,
    seed = 7, top_k = 40, min_p = 0.05, logprobs = 3, stop_sequences = { "END", "STOP" },
    metadata = wire == "anthropic" and { user_id = "u-1" }
      or { user_id = "u-1", team = "blue", zone = "eu", a = "1", b = "2" },
    betas = { "beta-one-2026-01-01", "beta-two-2026-01-01" },
    headers = { ["X-Team"] = "blue", ["x-a"] = "1", ["X-Zone"] = "eu", ["x-trace"] = "t-1" },
    extra = EXTRA[wire],
  }
end

--- The adapters that the sample is sent with: {constructor, model, wire, further path of the base URL, the path that
-- its requests go to}.
sample.adapters = {
  { "anthropic", "claude-sonnet-4-5", "anthropic", "", "/v1/messages" },
  { "openai", "gpt-4.1", "chat", "", "/chat/completions" },
  { "openai", "gpt-4.1", "responses", "", "/responses" },
  { "gemini", "gemini-3.5-flash", "gemini", "/v1beta", "/v1beta/models/gemini-3.5-flash:generateContent" },
  { "gemini", "gemini-2.0-flash", "gemini", "/v1beta", "/v1beta/models/gemini-2.0-flash:generateContent" },
  { "bedrock", "amazon.nova-2-lite-v1:0", "bedrock", "", "/model/amazon.nova-2-lite-v1%3A0/converse" },
  { "ollama", "qwen3:4b", "ollama", "", "/api/chat" },
}

--- One of them, for a server.
function sample.adapter(entry, url)
  local api = entry[1] == "openai" and entry[3] or nil
  return koine[entry[1]] { model = entry[2], api = api, key = "test-key", base_url = url .. entry[4], retry = false }
end

return sample
