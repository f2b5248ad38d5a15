--- The chat host of the Copilot endpoint: the list of models, and the Chat and the Responses endpoint behind Copilot's
-- own headers, tokens and models. `self` is the state of one server (see init.lua).

local data = require "koine.testing.loopback.copilot.data"
local json = require "koine.testing.loopback.json"
local script = require "koine.testing.loopback.script"

local prose, refuse, accepts, set = data.prose, data.refuse, data.accepts, data.set

local host = {}

local EXPIRED = "IDE token expired: unauthorized: token expired"

--- The refusal of a request by its headers, or nil.
local function refusal_of(self, request, record)
  local headers, settings = request.headers, self.settings
  local token = (headers["authorization"] or ""):match("^Bearer (%S+)$")
  local editor, integration = headers["editor-version"], headers["copilot-integration-id"]
  if not token then
    record.problems[#record.problems + 1] = "authorization: Bearer and a token expected"
    return prose(401, "unauthorized: missing Authorization header")
  elseif not editor then
    return refuse(record, "missing Editor-Version header for IDE auth")
  elseif not editor:find("^[%w._-]+/[%w.+_-]+$")
    or settings.editors and not set(settings.editors)[editor:match("[^/]+")] then
    return refuse(record, "unknown Editor-Version")
  elseif not integration then
    return refuse(record, "missing Copilot-Integration-Id header")
  elseif not integration:find("^[%w-]+$") or settings.integrations and not set(settings.integrations)[integration] then
    return refuse(record, "unknown Copilot-Integration-Id")
  elseif token:find("^github_pat_") then
    return refuse(record, "Personal Access Tokens are not supported for this endpoint")
  elseif not (token:find("^gho_") and self.accepted[token]) and (self.tokens[token] or 0) <= os.time() then
    return prose(401, EXPIRED)
  end
end

--- The answer to GET /models.
function host.models(self, request, record)
  local refusal = refusal_of(self, request, record)
  if refusal then
    return refusal
  elseif not (request.headers["x-github-api-version"] or ""):find("^%d%d%d%d%-%d%d%-%d%d$") then
    return refuse(record, "X-Github-Api-Version: a date expected")
  end
  local list = json.array {}
  for i, model in ipairs(self.settings.models) do
    list[i] = data.model(model)
  end
  return data.reply(200, { object = "list", data = list })
end

local IMAGES = { image_url = true, input_image = true }

--- True when there is an image part anywhere in v.
local function has_image(v)
  if type(v) ~= "table" then
    return false
  end
  for _, member in pairs(v) do
    if type(member) == "table" and (IMAGES[member.type] or has_image(member)) then
      return true
    end
  end
  return false
end

-- Checks what a body asks of its model (nil: unknown): refused(code, format, …) for the first thing that is wrong.
local function judge_model(model, path, body, refused)
  local effort = body.reasoning_effort or json.is_object(body.reasoning) and body.reasoning.effort or nil
  if not model or (model.policy or "enabled") ~= "enabled" then
    refused("model_not_supported", "The requested model is not supported.")
  elseif not set(model.endpoints)[path] then
    refused("unsupported_api_for_model", "model %q is not accessible via the %s endpoint", model.id, path)
  elseif effort and not set(model.efforts)[effort] then
    refused("invalid_reasoning_effort", "reasoning_effort %q was provided, but model %s does not support %s",
      tostring(effort), model.id, model.efforts and "it" or "reasoning effort")
  elseif path == "/chat/completions" and model.no_effort_with_tools and body.tools and effort ~= "none" then
    refused("invalid_request_body", "Function tools with reasoning_effort are not supported for %s in " ..
      "/v1/chat/completions. Please use /v1/responses instead.", model.id)
  elseif body.max_tokens and (model.id:find("^o%d") or model.id:find("^gpt%-5")) then
    refused("unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. " ..
      "Use 'max_completion_tokens' instead.")
  elseif path == "/responses" and body.store ~= false then
    refused("invalid_request_body", "store: false expected, nothing is stored here")
  end
end

--- Checks a body as the chat host does: adds lines to `problems` and returns the code of the first, or nil.
local function judge(self, path, request, body, history, problems)
  local model, code
  for _, known in ipairs(self.settings.models) do
    model = known.id == body.model and known or model
  end
  local function refused(because, text, ...)
    problems[#problems + 1], code = text:format(...), code or because
  end
  judge_model(model, path, body, refused)
  if has_image(history) and request.headers["copilot-vision-request"] ~= "true" then
    refused("", "missing required Copilot-Vision-Request header for vision requests")
  end
  return code
end

--- A wire of the chat host: the endpoint behind Copilot's own headers, tokens and models.
function host.endpoint(self, path, endpoint)
  local seen
  return setmetatable({
    reasoning_field = "reasoning_text", rotate_ids = true,
    missing_key = function() end,
    id_header = function(id)
      return { "x-request-id", id }, { "x-github-request-id", id }
    end,
    refusal = function(request, record)
      seen = { record = record }
      self.chats[#self.chats + 1] = seen
      local initiator = request.headers["x-initiator"]
      local refusal = refusal_of(self, request, record)
      if refusal then
        return refusal
      elseif initiator ~= "user" and initiator ~= "agent" then
        return refuse(record, "X-Initiator: user or agent expected")
      elseif not accepts(request, "application/json", "text/event-stream", "*/*") then
        return refuse(record, "Accept: application/json or text/event-stream expected")
      end
    end,
    check = function(request, count, issued)
      local body, problems, code = endpoint.check(request, count, issued)
      if body then
        local history = script.history(body, endpoint.history)
        seen.model, seen.stream, seen.image = body.model, body.stream == true, has_image(history)
        code = judge(self, path, request, body, history, problems) or code
      end
      return body, problems, code
    end,
  }, { __index = endpoint })
end

return host
