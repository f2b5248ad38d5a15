-- GitHub Copilot. Its API is undocumented and changes: every constant here has an option that overrides it.
-- Windows are the vendors'; Copilot's own are often smaller: list_models() says. Multipliers are the premium requests
-- that one request costs, as seen.

-- The key of the output cap differs by family; one client sends this one to all of them.
local NEW_CAP = { max_tokens_field = "max_completion_tokens" }
local NO_SYSTEM = { max_tokens_field = "max_completion_tokens", system_role = "user", no_sampling = true }

local function model(prefix, context, multiplier, quirks)
  return { prefix = prefix, context = context, multiplier = multiplier, quirks = quirks }
end

-- A model that refuses to be told how much to think. Of the others the list of models, or a refusal, says whether it
-- can be told.
local function plain(prefix, context, multiplier)
  return { prefix = prefix, context = context, multiplier = multiplier, thinking = "none" }
end

return {
  name = "copilot",
  title = "GitHub Copilot",
  codec = "chat",
  base_url = "https://api.githubcopilot.com",
  list = "/models",
  env = { "GH_COPILOT_TOKEN" },
  default_model = "gpt-4.1",
  auth = "copilot",
  id_header = "x-github-request-id",
  quirks = { reasoning_field = "reasoning_text", null_content = "omit", system_in_input = true,
    structured = "object", structured_tools = true },
  options = { "api", github_token = "secret", token_path = "path", github_host = "name", api_base = "url",
    client_id = "name", integration_id = "header", editor_version = "header", on_device_code = "function",
    rate_limit = "table", min_request_interval = "number", rate_limit_path = "path" },
  login = {
    client_id = "Iv1.b507a08c87ecfe98", -- of the GitHub app whose tokens the exchange takes
    integration_id = "vscode-chat",
    editor_version = "Koine/" .. require "koine.data.version",
    min_request_interval = 3.0,
    responses_models = { "^gpt%-5", "codex" }, -- patterns of ids that answer at /responses, where the list does not say
  },
  models = {
    model("gpt-5", nil, nil, NEW_CAP),
    model("gpt-5-mini", nil, 0, NEW_CAP),
    model("gpt-5.2", nil, 1, NEW_CAP),
    model("gpt-5.3", nil, 1, NEW_CAP),
    model("gpt-5.4", nil, 1, NEW_CAP),
    model("gpt-5.4-mini", nil, 0.33, NEW_CAP),
    model("gpt-5.5", nil, 7.5, NEW_CAP),
    plain("gpt-4.1", 1047576, 0),
    plain("gpt-4o", 128000, 0),
    plain("gpt-4-turbo", 128000),
    plain("gpt-4", 8192),
    plain("gpt-4."),
    plain("gpt-4-"),
    plain("gpt-3.5-turbo", 16385),
    model("o1", 200000, nil, NO_SYSTEM),
    model("o1-mini", 128000, nil, NO_SYSTEM),
    model("o1-preview", 128000, nil, NO_SYSTEM),
    model("o3", 200000, 30, NEW_CAP),
    model("o3-mini", 200000, nil, NEW_CAP),
    model("o4-mini", 200000, nil, NEW_CAP),
    plain("claude-3.5-sonnet", 200000),
    model("claude-3.7-sonnet", 200000),
    model("claude-haiku-4.5", nil, 0.33),
    model("claude-sonnet-4", nil, 1),
    plain("claude-sonnet-4.5", nil, 1),
    model("claude-opus-4.7", nil, 7.5),
    model("gemini", nil, nil, NEW_CAP),
    model("gemini-2.0-flash-001", 1048576, nil, NEW_CAP),
    model("gemini-2.5-pro", nil, 1, NEW_CAP),
    model("grok-code-fast-1", nil, 0.25),
  },
  models_checked = "2026-11-21",
  embed = { path = "/embeddings", dialect = "openai", model = "text-embedding-3-small" },
  source = "recordings",
  seen = { "Chat, Responses, the list of models", "the login, quotas: from the behaviour of public clients" },
  says = { speaks = "Chat or Responses, as the model wants" },
}
