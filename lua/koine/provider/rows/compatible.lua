-- Any server that speaks a known wire format: base_url is required; `name` (the row name in errors and replayed
-- blocks), `api` ("chat", "responses" or "anthropic"), `auth` and `quirks` say how it differs. A key is sent when one
-- is given.

local anthropic = require "koine.provider.rows.anthropic"

return {
  name = "compatible",
  title = "Compatible server",
  key_optional = true,
  options = { "name", "api", "auth" },
  api = "chat",
  apis = {
    chat = { codec = "chat", path = "/chat/completions", models_path = "/models", auth = "bearer" },
    responses = { codec = "responses", path = "/responses", models_path = "/models", auth = "bearer" },
    anthropic = { codec = "anthropic", path = anthropic.path, models_path = anthropic.models_path,
      count_path = anthropic.count_path, auth = anthropic.auth, headers = anthropic.headers },
  },
  source = "documentation",
}
