--- Data of the Copilot endpoint of the loopback provider: its models as the chat host lists them, the texts of its
-- refusals, and the words of GitHub's and the chat host's answers. Pure.

local json = require "koine.testing.loopback.json"

local array = json.array

local data = {}

local CHAT, RESPONSES, MESSAGES = "/chat/completions", "/responses", "/v1/messages"
local EFFORTS = { "low", "medium", "high" }

--- The models. Fields: id, vendor; endpoints = where the model is served (`unlisted`: the list does not say so);
-- efforts = array, none when it does not reason on demand; multiplier; policy = state, "enabled" when absent; picker,
-- vision, tools, streaming = false where it cannot; type, "chat" when absent; context, max_prompt, max_output = tokens;
-- no_effort_with_tools; raw = the entry as it is, instead of all others.
data.models = {
  { id = "gpt-4.1", vendor = "Azure OpenAI", endpoints = { CHAT }, unlisted = true, multiplier = 0 },
  { id = "gpt-4o", vendor = "Azure OpenAI", endpoints = { CHAT }, unlisted = true, multiplier = 0 },
  { id = "gpt-5-mini", vendor = "Azure OpenAI", endpoints = { CHAT, RESPONSES }, efforts = EFFORTS, multiplier = 0,
    context = 264000 },
  { id = "gpt-5.3-codex", vendor = "OpenAI", endpoints = { RESPONSES }, multiplier = 1, context = 400000,
    max_prompt = 272000, max_output = 128000, efforts = { "low", "medium", "high", "xhigh" } },
  { id = "gpt-5-codex", vendor = "OpenAI", endpoints = { RESPONSES }, unlisted = true, efforts = EFFORTS,
    multiplier = 1 },
  { id = "gpt-5.5", vendor = "OpenAI", endpoints = { CHAT, RESPONSES }, efforts = { "none", "low", "medium", "high" },
    multiplier = 7.5, no_effort_with_tools = true },
  { id = "claude-sonnet-4.5", vendor = "Anthropic", endpoints = { CHAT, MESSAGES }, multiplier = 1 },
  { id = "claude-sonnet-4.6", vendor = "Anthropic", endpoints = { MESSAGES, CHAT }, efforts = EFFORTS, multiplier = 1 },
  { id = "claude-opus-4.7", vendor = "Anthropic", endpoints = { MESSAGES, CHAT }, efforts = EFFORTS, multiplier = 7.5,
    policy = "disabled" },
  { id = "gemini-3-pro-preview", vendor = "Google", endpoints = { CHAT }, efforts = EFFORTS, multiplier = 1 },
  { id = "gpt-3.5-turbo", vendor = "Azure OpenAI", endpoints = { CHAT }, unlisted = true, multiplier = 0,
    picker = false, vision = false, context = 16384, max_prompt = 16384, max_output = 4096 },
  { id = "text-embedding-3-small", vendor = "Azure OpenAI", endpoints = {}, unlisted = true, picker = false,
    type = "embeddings", vision = false, tools = false, streaming = false },
  { raw = { object = "model", capabilities = "none" } },
}

local VISION = { max_prompt_image_size = 3145728, max_prompt_images = 5,
                 supported_media_types = array { "image/jpeg", "image/png", "image/webp", "image/gif" } }

--- A model as GET /models lists it.
function data.model(m)
  if m.raw then
    return m.raw
  end
  local seen = m.vision ~= false
  return {
    id = m.id, name = m.id, object = "model", vendor = m.vendor or "OpenAI", version = m.id, preview = false,
    is_chat_default = m.id == "gpt-4.1", model_picker_enabled = m.picker ~= false,
    supported_endpoints = not m.unlisted and array(table.move(m.endpoints, 1, #m.endpoints, 1, {})) or nil,
    policy = { state = m.policy or "enabled", terms = "The terms of " .. m.id },
    billing = { is_premium = (m.multiplier or 1) > 0, multiplier = m.multiplier or 1 },
    capabilities = {
      object = "model_capabilities", family = m.id, type = m.type or "chat", tokenizer = "o200k_base",
      limits = { max_context_window_tokens = m.context or 128000, max_prompt_tokens = m.max_prompt or 128000,
                 max_output_tokens = m.max_output or 16384, vision = seen and VISION or nil },
      supports = { streaming = m.streaming ~= false or nil, tool_calls = m.tools ~= false or nil, vision = seen or nil,
                   parallel_tool_calls = m.tools ~= false or nil,
                   reasoning_effort = m.efforts and array(table.move(m.efforts, 1, #m.efforts, 1, {})) or nil },
    },
  }
end

local PROSE = { ["content-type"] = "text/plain; charset=utf-8" }

--- The refusals that an answer's `error.copilot` names.
data.errors = {
  rate_limited = { status = 429, code = "rate_limited", type = "rate_limit_error",
    headers = { ["retry-after"] = "30", ["x-ratelimit-exceeded"] = "user_model_requests" },
    message = "Sorry, you have been rate-limited. Please wait a moment before trying again." },
  quota_exceeded = { status = 429, code = "quota_exceeded", type = "quota_error",
    message = "You have exceeded your premium request allowance." },
  weekly = { status = 429, headers = PROSE,
    body = "Sorry, you've exceeded your weekly rate limit. It resets on November 30, 2026 at 12:00 AM UTC.\n" },
  monthly = { status = 429, headers = PROSE,
    body = "You have no quota left for this month. Your allowance resets on December 1, 2026 at 12:00 AM UTC.\n" },
  payment = { status = 402, code = "quota_exceeded", type = "quota_error",
    message = "You have no quota left, and no budget for additional requests." },
  client_too_old = { status = 466, headers = PROSE, body = "This version of the client is no longer supported.\n" },
  wrong_host = { status = 421, headers = PROSE, body = "Misdirected Request\n" },
}

--- An answer's error with the fields that `copilot` stands for; the answer's own fields win.
function data.error(err)
  local whole = {}
  for _, fields in ipairs { data.errors[err.copilot], err } do
    for key, value in pairs(fields) do
      whole[key] = value
    end
  end
  return whole
end

--- GitHub's descriptions of the error words of the device flow.
data.device_errors = {
  authorization_pending = "The authorization request is still pending.",
  slow_down = "Too many requests have been made in the same timeframe.",
  expired_token = "This 'device_code' has expired.",
  access_denied = "The authorization request was denied.",
  incorrect_device_code = "The device_code provided is not valid.",
  unsupported_grant_type = "The grant type is not supported.",
  incorrect_client_credentials = "The client_id passed is incorrect.",
  device_flow_disabled = "Device Flow must be explicitly enabled for this App.",
}

--- The values of a list as a set; of none when there is no list.
function data.set(list)
  local t = {}
  for _, value in ipairs(list or {}) do
    t[value] = true
  end
  return t
end

--- A JSON answer.
function data.reply(status, value)
  return { status = status, headers = { { "content-type", "application/json; charset=utf-8" } },
           pieces = { json.encode(value) } }
end

--- An answer in plain text.
function data.prose(status, text)
  return { status = status, headers = { { "content-type", "text/plain; charset=utf-8" } }, pieces = { text .. "\n" } }
end

--- Notes a problem of the request. Returns the answer that says so, in plain text as GitHub's hosts do.
function data.refuse(record, text)
  record.problems[#record.problems + 1] = text
  return data.prose(400, text)
end

--- True when the request accepts one of the kinds by name.
function data.accepts(request, ...)
  local accept = request.headers["accept"] or ""
  for _, kind in ipairs { ... } do
    if accept:find(kind, 1, true) then
      return true
    end
  end
end

return data
