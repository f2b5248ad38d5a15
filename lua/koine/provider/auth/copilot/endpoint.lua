--- Which wire format a model is spoken to in: Chat Completions or Responses; and whether it takes an effort.

local service = require "koine.provider.login_service"
local api_token = require "koine.provider.auth.copilot.api_token"

local endpoint = {}

local REMEMBERED = 1800 -- seconds that the provider's list of models counts

-- The names of the formats in the list of models.
local PATHS = { chat = "/chat/completions", responses = "/responses" }
local OTHER = { chat = "responses", responses = "chat" }

-- The list's entry for the adapter's model, as long as that counts; else nil.
local function known_of(state)
  local one = state.login.account
  local entry = one and one.models[state.model]
  return entry and api_token.clock() < entry.expires and entry or nil
end

--- Remembers what an entry of the provider's list (a table with an id) says of its model: where it answers, and whether
-- it takes an effort. `one` is the account, nil for none.
function endpoint.remember(one, entry)
  if not one then return end
  local list, endpoints = entry.supported_endpoints, nil
  if type(list) == "table" then
    endpoints = {}
    for i, path in ipairs(list) do endpoints[i] = tostring(path) end
  end
  local capabilities = type(entry.capabilities) == "table" and entry.capabilities or {}
  local supports = type(capabilities.supports) == "table" and capabilities.supports or nil
  one.models[entry.id] = { endpoints = endpoints, no_effort = supports and type(supports.reasoning_effort) ~= "table",
    expires = api_token.clock() + REMEMBERED }
end

--- Whether the adapter's model takes no effort: what the list of models or a refusal said; nil when neither did.
function endpoint.has_no_effort(state)
  local entry = known_of(state)
  if entry and entry.no_effort ~= nil then return entry.no_effort end
  return state.login.no_effort
end

--- Whether an error is the refusal of an effort.
function endpoint.refuses_effort(err)
  return err.code == "invalid_reasoning_effort" or err.message:find("does not support reasoning effort", 1, true) ~= nil
end

-- The format that the list names for the model, or nil, err; nil when it is not known.
local function listed(state)
  local entry = known_of(state)
  if not entry or not entry.endpoints then return nil end
  for _, api in ipairs { "chat", "responses" } do
    for _, path in ipairs(entry.endpoints) do
      if path == PATHS[api] then return api end
    end
  end
  return nil, service.failure(state.row, { kind = "invalid_request", code = "unsupported_api_for_model",
    message = ("the model %s has only the endpoint %s, which Koine does not support"):format(state.model,
      table.concat(entry.endpoints, ", ")) })
end

local function by_name(state)
  for _, pattern in ipairs(state.row.login.responses_models) do
    if state.model:find(pattern) then return "responses" end
  end
  return "chat"
end

--- The format for the adapter's model, or nil, err: the option api, what a refusal taught, what the list
-- of models says, what the name suggests.
function endpoint.choose(state)
  local api = state.settings.api or state.login.api
  if not api then
    local err
    api, err = listed(state)
    if err then return nil, err end
    api = api or by_name(state)
  end
  return api
end

-- True when the answer says that the model is not spoken to in this format.
local function is_wrong(err)
  return err.code == "unsupported_api_for_model" or err.message:find("is not accessible via the /", 1, true)
    or (err.message:find("Function tools with reasoning_effort are not supported", 1, true)
      and err.message:find("/v1/responses", 1, true))
end

--- Changes to the other format when the error is a refusal of the one an attempt was made in: true when it is worth
-- another attempt. An adapter changes once.
function endpoint.switch(state, err, api)
  local login = state.login
  if state.settings.api or not api or not is_wrong(err) then return false end
  if not login.api then login.api = OTHER[api] end
  return login.api ~= api
end

return endpoint
