--- Logging in with a code: the user types it in on GitHub's page, we ask until that is done (RFC 8628).

local check = require "koine.data.check"
local core = require "koine.core"
local service = require "koine.provider.login_service"
local wait = require "koine.task.wait"

local device = {}

local SCOPE = "copilot"
local GRANT = "urn:ietf:params:oauth:grant-type:device_code"
local INTERVAL, LIFETIME = 5, 900 -- seconds, where GitHub does not say
local LIFETIME_MAX = 3600         -- seconds that a code is asked for, whatever GitHub says
local SLOWER = 5                  -- seconds added where it says slow_down
local FAILURES_MAX = 3            -- in a row that polling survives
local CODE_MAX = 64               -- bytes of GitHub's word for an error

local function text(value) return type(value) == "string" and value ~= "" and not value:find "%c" and value or nil end

-- Returns a value that a terminal may show, a text of printable ASCII; nil for any other.
local function plain(value) return text(value) and value:find "^[\32-\126]+$" and value or nil end

local function seconds(value, default)
  return type(value) == "number" and value > 0 and value < math.huge and value or default
end

-- A form sent to GitHub's own pages.
local function post(state, path, fields, deadline, secrets)
  return service.call(state, { method = "POST", url = state.login.host.login .. path, body = service.form(fields),
    headers = { ["content-type"] = "application/x-www-form-urlencoded" }, secrets = secrets }, deadline)
end

-- The error that GitHub words in a reply: an AuthenticationError.
local function refused(state, reply, answer, secrets)
  local unshown = service.secrets_of(answer, secrets)
  local word = core.redact(reply.error, unshown):gsub("[^\32-\126]", "?"):sub(1, CODE_MAX)
  local why = text(reply.error_description) or "the login was refused: " .. word
  return service.refusal(state.row, core.redact(why, unshown), word)
end

-- The error of an answer that is no reply.
local function unexpected(state, status, answer, secrets)
  if status < 200 or status > 299 then return service.from_answer(state, answer, secrets) end
  return service.failure(state.row, { kind = "protocol", status_code = status,
    message = "GitHub's answer to the login is invalid" })
end

-- A device code: {device_code, user_code, verification_uri, interval, expires_in}, or nil, err.
local function start(state, deadline)
  local status, reply, answer = post(state, "/login/device/code",
    { client_id = state.login.client_id, scope = SCOPE }, deadline)
  if not status then return nil, reply end
  reply = reply or {}
  if text(reply.error) then return nil, refused(state, reply, answer) end
  local code = { device_code = text(reply.device_code), user_code = plain(reply.user_code),
    verification_uri = plain(reply.verification_uri), interval = seconds(reply.interval, INTERVAL),
    expires_in = math.min(seconds(reply.expires_in, LIFETIME), LIFETIME_MAX) }
  if code.device_code and code.user_code and code.verification_uri then return code end
  return nil, unexpected(state, status, answer)
end

-- Shows the user what to do.
local function announce(state, code)
  local callback = state.settings.on_device_code
  if callback then
    callback { user_code = code.user_code, verification_uri = code.verification_uri, expires_in = code.expires_in,
      interval = code.interval }
  else
    io.stderr:write(("To log in to %s, open %s and enter the code %s\n"):format(state.row.title, code.verification_uri,
      code.user_code))
  end
end

-- One poll: the token; or nil and the new interval while it is not done; or nil, nil, err.
local function poll(state, code, interval, deadline)
  local secrets = { code.device_code }
  local status, reply, answer = post(state, "/login/oauth/access_token", { client_id = state.login.client_id,
    device_code = code.device_code, grant_type = GRANT }, deadline, secrets)
  if not status then return nil, nil, reply end
  reply = reply or {}
  local token, word = reply.access_token, text(reply.error)
  if type(token) == "string" and status == 200 then
    local problem = check.key_problem(token)
    if not problem then return token end
    return nil, nil, service.refusal(state.row, "GitHub's token is " .. problem)
  elseif word == "authorization_pending" then
    return nil, interval
  elseif word == "slow_down" then
    return nil, math.max(seconds(reply.interval, 0), interval + SLOWER)
  elseif word then
    return nil, nil, refused(state, reply, answer, secrets)
  end
  return nil, nil, unexpected(state, status, answer, secrets)
end

--- Logs the user in: the GitHub token, or nil, err. Tells `on_device_code` (else the standard error output) the page
-- and the code, then asks until the user is done (an AuthenticationError when the code expires or the user declines;
-- its code is GitHub's word). Three failures in a row to reach GitHub are borne. A TimeoutError at the deadline (a time
-- of wait.now, nil = none).
function device.login(state, deadline)
  local code, err = start(state, deadline)
  if not code then return nil, err end
  announce(state, code)
  local interval, expiry, failures = code.interval, wait.now() + code.expires_in, 0
  while true do
    local slept, interrupted = wait.sleep(math.min(interval, expiry - wait.now(), service.within(deadline, math.huge)))
    if not slept then return nil, interrupted end
    if wait.now() >= expiry then
      return nil, service.refusal(state.row, "the code was not entered in time; log in again", "expired_token")
    elseif deadline and wait.now() >= deadline then
      return nil, service.failure(state.row, { kind = "timeout", code = "total", retryable = false,
        message = "the code was not entered within the call's time; authenticate() has no such limit" })
    end
    local token, slower, problem = poll(state, code, interval, deadline)
    if token then return token end
    failures = problem and failures + 1 or 0
    if problem and (not problem.retryable or failures > FAILURES_MAX) then return nil, problem end
    interval = slower or interval
  end
end

return device
