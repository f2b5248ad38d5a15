--- One HTTP request of a transport, with its credentials: again with others after a 401, and later where the server
-- wants that. No redirect is followed.

local challenge = require "koine.protocol.mcp.transport.http.challenge"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.mcp.transport.http.failure"
local headers = require "koine.protocol.mcp.transport.http.headers"
local retry = require "koine.net.retry"
local streamed = require "koine.net.streamed"

local RETRY = { max = 2, max_delay = 60, on_ambiguous = false }
local LATER = { [429] = true, [503] = true } -- statuses that say: not now

-- The value of the header Authorization, nil for none; or false, err. `asked` is the challenge of a 401, or nil.
local function authorization(transport, asked)
  local token, err = transport.options.token, nil
  if type(token) == "function" then token, err = token(asked) end
  if token == nil and err == nil then return nil end
  if type(token) ~= "string" then
    if errors.is_error(err) then return false, err end
    return false, failure.new("auth", err and errors.words(err) or ("the function token returned %s"):format(
      errors.describe(token)))
  end
  transport:hide(token)
  return "Bearer " .. token
end

-- Sends once: an answer, or nil, err.
local function send(transport, request, asked)
  local value, err = authorization(transport, asked)
  if value == false then return nil, err end
  transport.authorization = value
  local options = transport.options
  return streamed.open { method = request.method, url = options.url, body = request.item and request.item.text,
    headers = headers.of(transport, request, value), timeouts = request.timeouts,
    limits = options.limits, proxy = options.proxy, ca_file = options.ca_file, http2 = options.http2,
    secrets = transport.secrets }
end

--- Sends a request: an answer of koine.net.streamed whose status is from 200 to 299; or nil, err, with the answer's
-- status_code where there was one. `request`: method, accept, timeouts, item (the message, or nil: no body), last_id
-- (of a stream that goes on, or nil).
return function(transport, request)
  local ledger = retry.new(RETRY)
  local asked
  while true do
    local session = request.item and transport.session -- what a GET is refused says nothing of the session
    local answer, err = send(transport, request, asked)
    if not answer then return nil, err end
    local status = answer.status
    if status >= 200 and status < 300 then return answer end
    local www = answer.headers["www-authenticate"]
    err = failure.of_answer(transport, answer, session)
    if status == 401 and not asked and type(transport.options.token) == "function" then
      asked = challenge(www)
    elseif LATER[status] then
      local again
      again, err = ledger:again(err)
      if not again then return nil, err end
    else
      return nil, err
    end
  end
end
