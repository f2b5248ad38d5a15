--- Elicitation: the server asks a person, by a form or by a page to open. We show nothing and open nothing: the user's
-- `on_elicit` does.

local check = require "koine.data.check"
local core = require "koine.core"
local failure = require "koine.protocol.mcp.inputs.failure"
local form = require "koine.protocol.mcp.inputs.form"

local METHOD = "elicitation/create"
local ACTIONS = { accept = true, decline = true, cancel = true }
local EXPECTED = '"accept", "decline" or "cancel"'

local function present(value)
  if value ~= core.null then return value end
end

-- The request as on_elicit gets it, and the form that was asked for (nil: none); or nil, and what is wrong.
local function read(params, server)
  local mode = present(params.mode) or "form"
  local message = present(params.message)
  if type(message) ~= "string" then return nil, "message: string expected" end
  local request = { server = server, mode = mode, message = message }
  if mode == "form" then
    local made, problem = form.read(params.requestedSchema)
    if not made then return nil, problem end
    request.schema = params.requestedSchema
    return request, made
  elseif mode ~= "url" then
    return nil, 'mode: "form" or "url" expected'
  end
  local url = params.url
  if type(url) ~= "string" or not url:lower():find "^https?://[^/%s%c][^%s%c]*$" then
    return nil, "url: http:// or https:// URL expected"
  end
  request.url, request.id = url, present(params.elicitationId)
  return request
end

--- Answers a server's `elicitation/create`: {action, content}; or nil, the error, and what the server is told.
-- `on_elicit` is the user's function; `server` the server's name. What on_elicit does not answer (nil) is cancelled.
return function(params, on_elicit, server)
  if type(params) ~= "table" then return failure.invalid(METHOD, "params: object expected") end
  local request, made = read(params, server)
  if not request then return failure.invalid(METHOD, made) end
  local ok, answer = pcall(on_elicit, request)
  if not ok then
    if check.is_memory(answer) then error(answer, 0) end
    return failure.raised("on_elicit", answer)
  end
  if answer == nil then return { action = "cancel" } end
  if type(answer) ~= "table" then return failure.unfit("on_elicit", "answer", "table with action", answer) end
  if not ACTIONS[answer.action] then return failure.unfit("on_elicit", "action", EXPECTED, answer.action) end
  if answer.action ~= "accept" or not made then return { action = answer.action } end
  local content, field, expected, words = form.fill(made, answer.content)
  if not content then return failure.unfit("on_elicit", field, expected, nil, words) end
  return { action = "accept", content = content }
end
