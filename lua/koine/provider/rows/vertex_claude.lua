-- Claude on Vertex AI, Google Cloud's service, in Anthropic's Messages. The login, the project and the location are
-- those of Vertex AI; Anthropic's own variables come before Google's. Prices are not Anthropic's.

local anthropic = require "koine.provider.rows.anthropic"

local QUIRKS = { route = "raw_predict" }
for name, value in pairs(anthropic.quirks) do QUIRKS[name] = value end

-- Only from 4.6 on a model can be held to a schema here.
local models = {}
for i, known in ipairs(require "koine.provider.claude") do
  models[i] = known
  if known.prefix:find "%-4%-[1-5]$" then
    models[i] = {}
    for name, value in pairs(known) do models[i][name] = value end
    models[i].quirks = { structured = "none" }
  end
end

return {
  name = "vertex_claude",
  title = "Claude on Vertex AI",
  telemetry = "gcp.vertex_ai",
  codec = "anthropic",
  base_url = "https://{host}/v1/projects/{project}/locations/{location}/publishers/anthropic",
  variables = { project = "ANTHROPIC_VERTEX_PROJECT_ID", location = "CLOUD_ML_REGION" },
  list = false,
  counts = true,
  env = { "GOOGLE_APPLICATION_CREDENTIALS" },
  default_model = "claude-sonnet-4-5@20250929",
  auth = "google",
  options = { project = "name", location = "name", token = "key", credentials_file = "name" },
  quirks = QUIRKS,
  plain_max_tokens = anthropic.plain_max_tokens,
  models = models,
  models_checked = anthropic.models_checked,
  source = "recordings",
  seen = { "a stream with text and a call", "logins, `count_tokens`, errors" },
  says = { base_url = "[by location](vertex.md#project-and-location)",
    key = "`GOOGLE_APPLICATION_CREDENTIALS`, or [others](vertex.md)" },
}
