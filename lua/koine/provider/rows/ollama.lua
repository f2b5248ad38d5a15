-- Ollama's native API, by default on this machine; OLLAMA_HOST says where else. Few facts about models: what is
-- installed is the user's, and a context given here would be asked for as num_ctx. The harmony models think always.

return {
  name = "ollama",
  title = "Ollama",
  codec = "ollama",
  base_url = "http://127.0.0.1:11434",
  list = "/api/tags",
  show = "/api/show",
  loaded = "/api/ps",
  pull = "ollama_pull",
  env = { "OLLAMA_API_KEY" },
  auth = "ollama",
  key_optional = true,
  quirks = { structured = "schema", schema_dialect = "ollama", forced_choice = "never" },
  models = { { prefix = "gpt-oss", thinking = "effort" } },
  models_checked = "2026-08-21",
  embed = { path = "/api/embed", dialect = "ollama", batch = 64 }, -- one by one inside: a timeout costs little
  source = "recordings",
  seen = { "text, thinking, tools, a JSON answer, the cloud, an error, the list of models", "downloads, `model_info`" },
  says = {
    base_url = "what `OLLAMA_HOST` says, else `http://127.0.0.1:11434`",
    key = "`OLLAMA_API_KEY`, for the cloud alone: [Ollama](ollama.md)",
  },
}
