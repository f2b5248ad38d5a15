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
    chat = { codec = "chat", list = "/models", auth = "bearer" },
    responses = { codec = "responses", list = "/models", auth = "bearer" },
    anthropic = { codec = "anthropic", list = anthropic.list, counts = anthropic.counts, auth = anthropic.auth,
      headers = anthropic.headers },
  },
  quirks = { structured = "none" }, -- who knows
  embed = { path = "/embeddings", dialect = "openai" },
  source = "documentation",
  seen = { "none of its own: what the wire format knows", "the server's own ways" },
  says = { checked = "depends on the server" },
}
