--- Errors of answers: what a status, and the body behind it, means. None shows a secret.

local challenge = require "koine.protocol.mcp.transport.http.challenge"
local core = require "koine.core"
local errors = require "koine.data.errors"
local rpc_failure = require "koine.protocol.rpc.failure"
local text = require "koine.data.text"

local failure = {}

--- The code of the error for a session that the server has forgotten, and of that for a server of the old transport.
failure.SESSION_GONE, failure.OLD_TRANSPORT = "session_gone", "http_sse"

local BODY_SECONDS = 30 -- that the body of a refusal may take

local METHOD_NOT_FOUND, NO_SESSION = -32601, -32000

-- Statuses whose meaning is HTTP's, whatever the body says.
local OF_HTTP = { [401] = true, [403] = true, [429] = true, [503] = true }

--- An error of ours: kind, message and code (nil: none).
function failure.new(kind, message, code, status)
  return errors.new { kind = kind, message = message, code = code, status_code = status, retryable = false }
end

--- The error of a call in a session that the server has forgotten.
function failure.session_gone(status)
  return failure.new("connect", "the server has forgotten the session", failure.SESSION_GONE, status)
end

--- The error of a server that speaks HTTP+SSE, the transport of 2024-11-05.
function failure.old_transport()
  return failure.new("protocol", "the server speaks HTTP+SSE, the transport of MCP 2024-11-05; Koine does not",
    failure.OLD_TRANSPORT)
end

-- The error object of a body that is an error of JSON-RPC, and what it stands in; nil for others.
local function said_in(body)
  local value = body:find "^%s*{" and core.decode(body)
  local said = type(value) == "table" and value.error
  if type(said) ~= "table" or math.type(said.code) == nil then return nil end
  return said, value
end

-- Whether an answer means that the server has forgotten our session. Some say so by 400.
local function is_forgotten(status, said)
  if status == 404 then return not said or said.code ~= METHOD_NOT_FOUND end
  if status == 410 then return true end
  return status == 400 and said ~= nil and said.code == NO_SESSION and type(said.message) == "string"
    and said.message:lower():find("session", 1, true) ~= nil
end

-- The error that the status stands for.
local function of_http(transport, answer, body)
  local status = answer.status
  if status >= 300 and status < 400 then
    return failure.new("protocol", ("the server answered %d, a redirect, which is not followed"):format(status), nil,
      status)
  end
  local secrets = transport.peer:secrets()
  local err = core.answer_error("mcp", { status = status, headers = answer.headers,
    body = text.redact(body, secrets) }, text.first_secrets(secrets))
  err.message = text.redact(err.message, secrets) -- which may be the decoded form of what the body has
  err.provider = nil
  if status == 401 or status == 403 then
    local asked = challenge(answer.headers["www-authenticate"])
    err.challenge, err.resource_metadata, err.scope = asked, asked.resource_metadata, asked.scope
  end
  return err
end

--- The error of an answer outside 200–299, whose body it reads; the answer is of no use after that. `session` is the
-- one that the request was for, or nil: where the server has forgotten it, that is noted in the transport. Waits.
function failure.of_answer(transport, answer, session)
  local status = answer.status
  local body = answer:body(BODY_SECONDS) or ""
  answer:release()
  local said, value = said_in(body)
  if session and is_forgotten(status, said) then
    transport:forget_session()
    return failure.session_gone(status)
  end
  if not said or OF_HTTP[status] then return of_http(transport, answer, body) end
  local err = rpc_failure.of_answer(value, transport.peer:secrets())
  err.status_code = status
  return err
end

return failure
