--- The Copilot endpoint of the loopback provider: GitHub's device flow, the exchange for a short-lived token, the
-- account, and the chat host, whose two wires are the Chat and the Responses endpoint behind its own headers, tokens
-- and models. One table is the state of one server; `url` is where that server is reached.

local chat = require "koine.testing.loopback.wire.chat"
local data = require "koine.testing.loopback.copilot.data"
local host = require "koine.testing.loopback.copilot.host"
local http_server = require "koine.net.http_server"
local json = require "koine.testing.loopback.json"
local responses = require "koine.testing.loopback.wire.responses"
local script = require "koine.testing.loopback.script"
local answers = require "koine.testing.loopback.script.answers"

local reply, prose, refuse, accepts = data.reply, data.prose, data.refuse, data.accepts

local copilot = {}

local GRANT = "urn:ietf:params:oauth:grant-type:device_code"

local DEFAULTS = {
  github_tokens = { "ghu_loopback" }, interval = 5, expires_in = 900, token_lifetime = 1500, chat_enabled = true,
  endpoints = true, plan = "individual", sku = "monthly_subscriber_quota", reset_date = "2026-12-01",
  models = data.models,
  quota = { premium_interactions = { entitlement = 300, remaining = 250 }, chat = { unlimited = true },
            completions = { unlimited = true } },
}
local TYPES = {
  github_tokens = "table", device_flow = "table", client_id = "string", interval = "number", expires_in = "number",
  token_lifetime = "number", refresh_in = "number", chat_enabled = "boolean", endpoints = "boolean", plan = "string",
  sku = "string", quota = "table", reset_date = "string", models = "table", editors = "table", integrations = "table",
  expire = "boolean", proxy_ep = "string",
}

local methods = {}
local Copilot = { __index = methods, __name = "koine.testing.copilot" }

--- The problem with settings: one line naming the field, or nil.
function copilot.check(settings)
  if not json.is_object(settings) then
    return "copilot: a table expected"
  end
  for name, value in pairs(settings) do
    if not TYPES[name] then
      return ("copilot: unknown field %q"):format(tostring(name))
    elseif type(value) ~= TYPES[name] then
      return ("copilot.%s: a %s expected, got a %s"):format(name, TYPES[name], type(value))
    end
  end
  for i, said in ipairs(settings.device_flow or {}) do
    local path = ("copilot.device_flow[%d]"):format(i)
    local problem = not (type(said) == "table" or data.device_errors[said])
      and path .. ": an error word of the device flow or a table expected"
      or said.fault and answers.check_fault(path .. ".fault", said.fault)
    if problem then
      return problem
    end
  end
  for i, model in ipairs(settings.models or {}) do
    if type(model) ~= "table" or not model.raw and not (type(model.id) == "string" and type(model.endpoints) == "table")
    then
      return ("copilot.models[%d]: a table with id and endpoints, or with raw, expected"):format(i)
    end
  end
end

--- Forgets what happened: codes, tokens, counters; the settings stay.
function methods:reset()
  self.accepted, self.tokens, self.devices, self.poll = data.set(self.settings.github_tokens), {}, {}, 1
  self.counts = { device_codes = 0, polls = 0, exchanges = 0, tokens = 0, users = 0, lists = 0 }
  self.chats = {}
end

--- A server's Copilot with its default settings.
function copilot.new()
  local self = setmetatable({ settings = {} }, Copilot)
  for name, value in pairs(DEFAULTS) do
    self.settings[name] = value
  end
  self:reset()
  return self
end

--- Takes checked settings over the ones there are; `expire`: the tokens issued so far are invalid from then on.
function methods:configure(settings)
  for name, value in pairs(settings) do
    if name ~= "expire" then
      self.settings[name] = value
    end
  end
  if settings.github_tokens then
    self.accepted = data.set(settings.github_tokens)
  end
  if settings.device_flow then
    self.poll = 1
  end
  if settings.expire then
    self.tokens = {}
  end
end

--- The counts and the chats seen, for GET /__koine/copilot.
function methods:counters()
  local counters, chats = {}, json.array {}
  for name, count in pairs(self.counts) do
    counters[name] = count
  end
  for i, seen in ipairs(self.chats) do
    local headers = seen.record.headers
    chats[i] = { path = seen.record.path, status = seen.record.status, model = seen.model, stream = seen.stream,
      initiator = headers["x-initiator"], vision = headers["copilot-vision-request"], image = seen.image,
      editor_version = headers["editor-version"], integration_id = headers["copilot-integration-id"] }
  end
  counters.chats = chats
  return counters
end

-- GitHub -----------------------------------------------------------------------------------------------------------

--- The fields of a form, or nil and the refusal.
local function form(request, record)
  if not (request.headers["content-type"] or ""):find("^application/x%-www%-form%-urlencoded") then
    return nil, refuse(record, "content-type: application/x-www-form-urlencoded expected")
  elseif not accepts(request, "application/json") then
    return nil, refuse(record, "accept: application/json expected: the answer would be a form without")
  end
  return http_server.parse_query(request.body)
end

local function device_error(word, interval)
  return reply(200, { error = word, error_description = data.device_errors[word], interval = interval,
                      error_uri = "https://docs.github.com/developers/apps/authorizing-oauth-apps" })
end

local function wrong_client(self, fields)
  local wanted = self.settings.client_id
  return (fields.client_id or "") == "" or wanted and fields.client_id ~= wanted
end

local GITHUB = {}

GITHUB["POST /login/device/code"] = function(self, request, record)
  local fields, refusal = form(request, record)
  if not fields then
    return refusal
  elseif wrong_client(self, fields) then
    record.problems[#record.problems + 1] = "client_id: a known one expected"
    return reply(404, { error = "Not Found" })
  end
  local code = script.digest("device:" .. self.counts.device_codes)
  self.devices[code] = fields.client_id
  return reply(200, { device_code = code, user_code = ("KOIN-%04d"):format(self.counts.device_codes),
    verification_uri = self.url .. "/login/device", expires_in = self.settings.expires_in,
    interval = self.settings.interval })
end

--- The scripted reply to this poll; the last one stays. Without a script the first GitHub token is handed out.
local function next_poll(self)
  local flow = self.settings.device_flow or {}
  local said = flow[self.poll] or flow[#flow] or { access_token = self.settings.github_tokens[1] }
  self.poll = self.poll + 1
  return type(said) == "string" and { error = said } or said
end

GITHUB["POST /login/oauth/access_token"] = function(self, request, record)
  local fields, refusal = form(request, record)
  if not fields then
    return refusal
  end
  local wrong = fields.grant_type ~= GRANT and "unsupported_grant_type"
    or self.devices[fields.device_code or ""] == nil and "incorrect_device_code"
    or self.devices[fields.device_code] ~= fields.client_id and "incorrect_client_credentials"
  if wrong then
    record.problems[#record.problems + 1] = wrong
    return device_error(wrong)
  end
  local said = next_poll(self)
  if said.status or said.body then
    local body = said.body or ""
    return (type(body) == "table" and reply or prose)(said.status or 200, body), said.fault
  elseif said.access_token then
    self.accepted[said.access_token] = true
    return reply(200, { access_token = said.access_token, token_type = "bearer", scope = "" }), said.fault
  end
  local slower = said.error == "slow_down" and self.settings.interval + 5 or nil
  return device_error(said.error, said.interval or slower), said.fault
end

--- The GitHub token of a request, or nil and the refusal.
local function github_token(self, request)
  local token = (request.headers["authorization"] or ""):match("^%a+ (%S+)$")
  if not token or not self.accepted[token] then
    return nil, reply(401, { message = "Bad credentials", documentation_url = "https://docs.github.com/rest",
                             status = "401" })
  end
  return token
end

--- A fresh token for the chat host.
local function issue(self)
  local settings = self.settings
  self.counts.tokens = self.counts.tokens + 1
  local expires = os.time() + settings.token_lifetime
  local proxy = settings.proxy_ep or ("proxy.%s.githubcopilot.com"):format(settings.plan)
  local token = ("tid=%s;exp=%d;sku=%s%s;st=dotcom;chat=1:%s"):format(script.digest("tid:" .. self.counts.tokens),
    expires, settings.sku, proxy ~= "" and ";proxy-ep=" .. proxy or "",
    script.digest(("token:%d:%d"):format(self.counts.tokens, expires)))
  self.tokens[token] = expires
  return token, expires
end

GITHUB["GET /copilot_internal/v2/token"] = function(self, request, record)
  local settings, how = self.settings, (request.headers["authorization"] or ""):match("^(%a+) ")
  local token, refusal = github_token(self, request)
  if not token then
    return refusal
  elseif how:lower() ~= "token" and how ~= "Bearer" then
    return refuse(record, "authorization: token or Bearer expected")
  elseif not accepts(request, "application/json") then
    return refuse(record, "accept: application/json expected")
  elseif token:find("^gho_") then
    return reply(404, { message = "Not Found", status = "404" })
  elseif token:find("^github_pat_") then
    return reply(403, { message = "Resource not accessible by personal access token", status = "403" })
  end
  local issued, expires = issue(self)
  return reply(200, { token = issued, expires_at = expires, chat_enabled = settings.chat_enabled,
    refresh_in = settings.refresh_in or math.max(settings.token_lifetime - 300, 0), annotations_enabled = true,
    individual = settings.plan == "individual" or settings.plan == "free", sku = settings.sku,
    endpoints = settings.endpoints and { api = self.url, proxy = self.url, telemetry = self.url,
                                         ["origin-tracker"] = self.url } or nil })
end

local function snapshot(id, quota)
  local whole, left = quota.entitlement or 0, quota.remaining or 0
  return { quota_id = id, entitlement = whole, remaining = left, quota_remaining = left, unlimited = quota.unlimited
    or false, percent_remaining = quota.unlimited and 100.0 or whole > 0 and left / whole * 100 or 0.0,
    overage_permitted = quota.overage_permitted or false, overage_count = quota.overage_count or 0 }
end

GITHUB["GET /copilot_internal/user"] = function(self, request)
  local settings = self.settings
  local token, refusal = github_token(self, request)
  if not token then
    return refusal
  end
  local user = { login = "koine", copilot_plan = settings.plan, access_type_sku = settings.sku,
                 chat_enabled = settings.chat_enabled, endpoints = { api = self.url } }
  if settings.plan == "free" then
    user.monthly_quotas, user.limited_user_quotas = {}, {}
    user.limited_user_reset_date = settings.reset_date
    for _, id in ipairs { "chat", "completions" } do
      user.monthly_quotas[id] = (settings.quota[id] or {}).entitlement or 0
      user.limited_user_quotas[id] = (settings.quota[id] or {}).remaining or 0
    end
    return reply(200, user)
  end
  user.quota_reset_date, user.quota_snapshots = settings.reset_date, {}
  for id, quota in pairs(settings.quota) do
    user.quota_snapshots[id] = snapshot(id, quota)
  end
  return reply(200, user)
end

-- The chat host ----------------------------------------------------------------------------------------------------

local COUNTED = {
  ["POST /login/device/code"] = "device_codes", ["POST /login/oauth/access_token"] = "polls",
  ["GET /copilot_internal/v2/token"] = "exchanges", ["GET /copilot_internal/user"] = "users", ["GET /models"] = "lists",
}
local WIRES = { ["/chat/completions"] = chat, ["/responses"] = responses }

--- The endpoint that serves a request to the chat host, or nil.
function methods:endpoint(request)
  local endpoint = request.method == "POST" and WIRES[request.path]
  return endpoint and host.endpoint(self, request.path, endpoint)
end

--- True when a request carries a token for the chat host, which serves no other paths than its own.
function copilot.holds(request)
  return (request.headers["authorization"] or ""):find("^Bearer tid=") ~= nil
end

--- Counts a request, before it is answered.
function methods:count(request)
  local name = COUNTED[request.method .. " " .. request.path]
  if name then
    self.counts[name] = self.counts[name] + 1
  end
end

--- The answer to a request to GitHub or for the list of models, and its fault; nil when the path is none of these.
function methods:answer(request, record)
  local action = request.method .. " " .. request.path
  if GITHUB[action] then
    return GITHUB[action](self, request, record)
  elseif action == "GET /models" then
    return host.models(self, request, record)
  end
end

return copilot
