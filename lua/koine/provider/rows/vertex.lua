-- Gemini on Vertex AI, Google Cloud's service. The models and what they take are those of Google's API with a key. In
-- express mode a key stands for project and location.

local gemini = require "koine.provider.rows.gemini"

local HOST, EXPRESS = "https://{host}/v1", "https://aiplatform.googleapis.com/v1"
local LOCATED = HOST .. "/projects/{project}/locations/{location}"
local GOOGLE = "/publishers/google"

return {
  name = "vertex",
  title = "Vertex AI",
  telemetry = "gcp.vertex_ai",
  codec = "gemini",
  base_url = LOCATED .. GOOGLE,
  express_base_url = EXPRESS .. GOOGLE,
  -- Of names that say where the model is: of another publisher, tuned, deployed.
  places = {
    { model = "^projects/", part = "/projects/", base_url = HOST, express_base_url = EXPRESS },
    { model = "/", part = "/publishers/", base_url = LOCATED, express_base_url = EXPRESS },
  },
  list = false,
  counts = true,
  env = { "GOOGLE_APPLICATION_CREDENTIALS" },
  default_model = gemini.default_model,
  auth = "google",
  options = { project = "name", location = "name", token = "key", credentials_file = "path" },
  heads = { "^projects/[^/]+/locations/[^/]+/", "^publishers/google/models/" },
  quirks = { metadata_labels = true, plain_count = true, no_tool_invocations = true, structured = "schema",
    structured_tools = true, schema_dialect = "gemini" },
  models = gemini.models,
  models_checked = gemini.models_checked,
  embed = { path = "/models/{model}:predict", dialect = "vertex_predict", model = "gemini-embedding-001", batch = 250,
    tokens = 20000, models = {
      { prefix = "gemini-embedding-001", batch = 1 },
      { prefix = "gemini-embedding-2", path = "/models/{model}:embedContent", dialect = "vertex_content", batch = 1,
        wrap = gemini.embed.models[1].wrap },
    } },
  source = "recordings",
  seen = { "blocked prompts, an unexpected call, an error", "logins, `count_tokens`, express mode" },
  says = { base_url = "[by location](vertex.md#project-and-location)",
    key = "`GOOGLE_APPLICATION_CREDENTIALS`, or [others](vertex.md)" },
}
