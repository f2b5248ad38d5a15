--- Questions of the agent to its user: forms, and pages to open. A function of the host's answers them.

local errors = require "koine.data.errors"
local read = require "koine.protocol.acp.client.read"

local elicitation = {}

local INVALID, INTERNAL = -32602, -32603
local ACTIONS = { accept = true, decline = true, cancel = true }

-- The question as the host's function gets it.
local function question(link, params)
  return { mode = params.mode, message = read.text(params.message) or "", schema = read.any(params.requestedSchema),
    url = read.text(params.url), id = read.text(params.elicitationId),
    session = link.sessions[read.text(params.sessionId) or false] }
end

-- Asks the host: its answer, a table. Raises what its function raises, and an ArgumentError for an answer that is none.
local function ask(on_elicit, asked)
  local answer = on_elicit(asked)
  if type(answer) == "string" or answer == nil then answer = { action = answer or "cancel" } end
  if type(answer) == "table" and ACTIONS[answer.action] then return answer end
  errors.argument("on_elicit", 'function that returns {action = "accept", content}, "decline" or "cancel"', answer)
end

--- The handler of elicitation/create: on_elicit(question) → {action = "accept", content = table} or "decline" or
-- "cancel"; nil: cancel. What it raises, the host gets at the next call.
function elicitation.handler(link)
  return function(params)
    local mode = read.at(params, "mode")
    if mode ~= "form" and mode ~= "url" then return nil, { code = INVALID, message = "mode: form or url expected" } end
    local ok, answer = link.host(ask, link.options.on_elicit, question(link, params))
    if not ok then return nil, { code = INTERNAL, message = "the user cannot be asked" } end
    return { action = answer.action, content = answer.action == "accept" and mode == "form" and answer.content or nil }
  end
end

return elicitation
