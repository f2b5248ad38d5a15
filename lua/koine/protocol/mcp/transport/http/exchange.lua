--- One HTTP request of a transport, with its credentials: again with others after a 401 or where the server finds their
-- scope too small, and later where the server wants that. No redirect is followed.

local challenge = require "koine.protocol.mcp.transport.http.challenge"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.mcp.transport.http.failure"
local headers = require "koine.protocol.mcp.transport.http.headers"
local retry = require "koine.net.retry"
local streamed = require "koine.net.streamed"
local text = require "koine.data.text"

local RETRY = { max = 2, max_delay = 60, on_ambiguous = false }
local LATER = { [429] = true, [503] = true } -- statuses that say: not now

local STEPS = 2                              -- times that a request asks for a token of more scope

-- Calls the function token; while it works, perhaps with a person, calls do not count as idle.
local function ask(transport, token, ...)
  local calls = transport.peer.calls
  local done <close> = defer(function() calls:resume() end) -- luacheck: ignore done
  calls:rest()
  return token(...)
end

-- The value of the header Authorization, nil for none; or false, err. `asked` is the challenge of a refusal, or nil,
-- `refused` the token that was sent then, or nil.
local function authorization(transport, asked, refused)
  local token, err = transport.options.token, nil
  if type(token) == "function" then token, err = ask(transport, token, asked, refused) end
  if token == nil and err == nil then return nil end
  if type(token) ~= "string" then
    if errors.is_error(err) then return false, err end
    return false, failure.new("auth", err and errors.words(err) or ("the function token returned %s"):format(
      errors.describe(token)))
  end
  transport:hide(token)
  return "Bearer " .. token, nil, token
end

-- Sends once: an answer, and the token that went with it (nil: none); or nil, err.
local function send(transport, request, asked, refused)
  local value, err, token = authorization(transport, asked, refused)
  if value == false then return nil, err end
  transport.authorization = value
  local options = transport.options
  local answer
  answer, err = streamed.open { method = request.method, url = options.url, body = request.item and request.item.text,
    headers = headers.of(transport, request, value), timeouts = request.timeouts,
    limits = options.limits, proxy = options.proxy, ca_file = options.ca_file, http2 = options.http2,
    transport = options.transport,
    secrets = text.first_secrets(transport.peer:secrets()) }
  return answer, answer and token or err
end

-- The challenge of a refusal after which a request is sent once more, with another token; nil for others. `counts` are
-- those of the request so far.
local function challenge_of(transport, answer, counts)
  if type(transport.options.token) ~= "function" then return nil end
  local status = answer.status
  if status == 401 and counts.logins == 0 then
    counts.logins = 1
    return challenge(answer.headers["www-authenticate"])
  elseif status == 403 and counts.steps < STEPS then
    local asked = challenge(answer.headers["www-authenticate"])
    if asked.error ~= "insufficient_scope" then return nil end
    counts.steps = counts.steps + 1
    return asked
  end
end

--- Sends a request: an answer of koine.net.streamed whose status is from 200 to 299; or nil, err, with the answer's
-- status_code where there was one. `request`: method, accept, timeouts, item (the message, or nil: no body), last_id
-- (of a stream that goes on, or nil).
return function(transport, request)
  local ledger, counts = retry.new(RETRY), { logins = 0, steps = 0 }
  local asked, refused
  while true do
    local session = request.item and transport.session -- what a GET is refused says nothing of the session
    local answer, token = send(transport, request, asked, refused)
    if not answer then return nil, token end
    local status = answer.status
    if status >= 200 and status < 300 then return answer end
    local said = challenge_of(transport, answer, counts)
    local err = failure.of_answer(transport, answer, session)
    if said then
      asked, refused = said, token
    elseif LATER[status] then
      local again
      again, err = ledger:again(err)
      if not again then return nil, err end
      asked = nil
    else
      return nil, err
    end
  end
end
