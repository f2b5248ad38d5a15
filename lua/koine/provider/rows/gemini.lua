-- Gemini, Google's API with a key. Models: the families of ai.google.dev. A model that is not here is taken for a new
-- one: it takes a level of thinking and checks thought signatures.

-- Before 3 a schema and tools exclude each other.
local QUIRKS_2 = { before_gemini_3 = true, structured_tools = false }
-- Before 2.5, and Gemma: not asked for a JSON Schema either.
local QUIRKS_1 = { before_gemini_3 = true, openapi_schema = true, structured = "object", structured_tools = false }
-- Makes images or speech.
local MEDIA = { structured = "none" }
local MEDIA_2 = { before_gemini_3 = true, structured = "none" }
local MINIMAL = { least_level = "minimal" }

-- gemini-embedding-2 ignores taskType and title: a purpose stands in the text
-- (ai.google.dev/gemini-api/docs/embeddings).
local PURPOSES = { query = "task: search result | query: {text}", document = "title: {title} | text: {text}",
  similarity = "task: sentence similarity | query: {text}", classification = "task: classification | query: {text}",
  clustering = "task: clustering | query: {text}", code_query = "task: code retrieval | query: {text}" }

-- 2.5: how many tokens it may think.
local function budget(prefix, least, most, always)
  return { prefix = prefix, context = 1048576, max_output = 65536, thinking = "budget", vision = true,
    quirks = { before_gemini_3 = true, thinking_least = least, thinking_most = most, thinking_always = always,
      structured_tools = false } }
end

-- From 3 on: how much it thinks, in words. The smaller models know a word for hardly at all.
local function level(prefix, quirks)
  return { prefix = prefix, context = 1048576, max_output = 65536, thinking = "level", vision = true, quirks = quirks,
    efforts = quirks == MINIMAL and { "minimal" } or nil }
end

-- Does not think when asked to.
local function older(prefix, quirks)
  return { prefix = prefix, thinking = "none", vision = true, quirks = quirks or QUIRKS_2 }
end

return {
  name = "gemini",
  title = "Gemini",
  telemetry = "gcp.gemini",
  rank = 3,
  codec = "gemini",
  base_url = "https://generativelanguage.googleapis.com/v1beta",
  list = "/models?pageSize=1000",
  counts = true,
  env = { "GEMINI_API_KEY", "GOOGLE_API_KEY" },
  default_model = "gemini-3.5-flash",
  auth = "x-goog-api-key",
  heads = { "^models/" },
  quirks = { structured = "schema", structured_tools = true, schema_dialect = "gemini" },
  models = {
    level("gemini-3-pro"), level("gemini-3.1-pro"),
    level("gemini-3-flash", MINIMAL), level("gemini-3.1-flash", MINIMAL), level("gemini-3.5-flash", MINIMAL),
    level("gemini-3.6-flash", MINIMAL),
    { prefix = "gemini-3-pro-image", thinking = "none", vision = true, quirks = MEDIA },
    { prefix = "gemini-3.1-flash-image", thinking = "none", vision = true, quirks = MEDIA },
    budget("gemini-2.5"), budget("gemini-2.5-pro", 128, 32768, true),
    budget("gemini-2.5-flash-lite", 512),
    older("gemini-2.5-flash-image", MEDIA_2), older("gemini-2.5-flash-preview-tts", MEDIA_2),
    older("gemini-2.5-pro-preview-tts", MEDIA_2),
    older("gemini-2.0", QUIRKS_1), older("gemini-1.5", QUIRKS_1),
    older("gemma-", { before_gemini_3 = true, no_system_prompt = true, openapi_schema = true,
      structured = "object", structured_tools = false }),
  },
  models_checked = "2026-11-22",
  embed = { path = "/models/{model}:batchEmbedContents", dialect = "gemini", model = "gemini-embedding-001",
    batch = 100, head = "^models/", models = { { prefix = "gemini-embedding-2", wrap = PURPOSES } } },
  source = "recordings",
  seen = { "text, signed thoughts, tools, Google's tools, images, blocks, errors, the list of models",
    "`count_tokens`, limits" },
}
