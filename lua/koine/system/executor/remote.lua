--- An executor on another machine, or in a container: every call is one HTTP request to a service (service.lua).
--
--   POST URL/v1/NAME            NAME: the tool's name with "-" for "_", as in /v1/bash and /v1/text-editor
--   authorization: Bearer TOKEN
--   {"input": {…}}              the tool's decoded arguments
--
-- A status of 200 has {"output": text} and where there is more to say is_error, blocked (boolean), reason (text) and
-- exit_code (integer). A model's mistakes and denied calls are such answers. Every other answer is trouble of
-- the machine: an error of kind "executor". No call is tried again, and every connection closes with its answer:
-- libcurl repeats a request when a connection that it kept turns out to be dead, and a command must not run twice.

local core = require "koine.core"
local check = require "koine.data.check"
local credentials = require "koine.provider.credentials"
local errors = require "koine.data.errors"
local getenv = require "koine.data.host.getenv"
local http = require "koine.net.http"

local remote = {}

local TIMEOUT = 310          -- seconds: longer than commands may take
local CONNECT = 30           -- seconds
local ANSWER_MAX = 64 << 20  -- bytes

-- A member that comes from the environment where it is absent.
local function from_environment(c, variable)
  return check.default(c, function()
    local value = getenv(variable)
    return value ~= "" and value or nil
  end)
end

local URL = check.secret(check.that("http:// or https:// URL, here or in KOINE_EXECUTOR_URL", function(value)
  if type(value) ~= "string" or not value:find "^https?://[^/?#%s%c][^?#%s%c]*$" then return nil end
  return (value:gsub("/+$", ""))
end))

--- The checker of a token, given or of the environment; nil when there is none. Its errors do not show it.
remote.token = from_environment(function(value, path) return value ~= nil and check.key(value, path) or nil end,
  "KOINE_EXECUTOR_TOKEN")

local OPTIONS = check.options { url = from_environment(URL, "KOINE_EXECUTOR_URL"), token = remote.token,
  timeout = check.default(check.time_limit, TIMEOUT) }

-- Calls -------------------------------------------------------------------------------------------------------------

-- The error of a call that failed because of the machine.
local function trouble(message, fields)
  fields = fields or {}
  fields.kind, fields.message = "executor", "executor: " .. message
  return nil, errors.new(fields)
end

-- Sends a call: the answer, whatever its status, or nil, err.
local function send(service, name, input)
  local answer, err = http.send { method = "POST", url = service.url .. "/v1/" .. name:gsub("_", "-"),
    headers = service.headers, body = core.encode { input = input }, secrets = service.secrets,
    timeouts = { connect = CONNECT, total = service.timeout }, limits = { body = ANSWER_MAX, decoded = ANSWER_MAX } }
  if answer or err.kind == "cancelled" then return answer, err end
  return trouble(err.message, { code = err.kind })
end

-- The info that an answer has beside its text, or nil.
local function info_of(reply)
  local info = { is_error = reply.is_error == true or nil, blocked = reply.blocked == true or nil,
    reason = type(reply.reason) == "string" and reply.reason or nil,
    exit_code = math.type(reply.exit_code) == "integer" and reply.exit_code or nil }
  return next(info) and info or nil
end

-- The text and info of an answer, or nil, err.
local function read(service, answer)
  if answer.status ~= 200 then
    local why = errors.from_answer("executor", answer, service.secrets)
    return trouble(why.message, { status_code = answer.status, code = why.kind })
  end
  local reply = core.decode(answer.body)
  if type(reply) ~= "table" then return trouble "the answer is no JSON object" end
  if type(reply.output) ~= "string" then return trouble "the answer has no text in output" end
  return reply.output, info_of(reply)
end

local function call(service, name, input)
  check.string(name, "name")
  if input ~= nil then check.table(input, "input") end
  if not name:find "^[%w_]+$" then return "Unknown tool: " .. name, { is_error = true } end
  local answer, err = send(service, name, input or {})
  if not answer then return nil, err end
  return read(service, answer)
end

--- The function run(name, input, ctx) of an executor behind a service; `opts` is what koine.executor.remote takes.
-- `ctx` stays here.
function remote.run(opts)
  local service = OPTIONS(opts)
  if not service.token then core.raise_argument("token", "string, here or in KOINE_EXECUTOR_TOKEN", "nothing") end
  service.headers = { authorization = "Bearer " .. service.token, ["content-type"] = "application/json",
    accept = "application/json", connection = "close" }
  service.secrets = credentials.secrets(service.headers, service.url)
  return function(name, input) return call(service, name, input) end
end

return remote
