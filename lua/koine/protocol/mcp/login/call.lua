--- One question of a login to a server, with a JSON object as its answer. No redirect is followed, and no question is
-- put twice. An answer may have 1 MiB.

local core = require "koine.core"
local errors = require "koine.data.errors"
local http = require "koine.net.http"
local percent = require("koine.data.text").percent
local version = require "koine.data.version"

local call = {}

local CONNECT, TOTAL = 10, 30 -- seconds
local ANSWER_MAX = 1 << 20    -- bytes

--- An error of a login; `code` and `status` may be nil.
function call.failure(kind, message, code, status)
  return errors.new { kind = kind, message = "login: " .. message, code = code, status_code = status,
    retryable = false }
end

--- The fields as an HTML form, in the order of their names.
function call.form(fields)
  local parts = {}
  for name, value in next, fields do parts[#parts + 1] = percent(name) .. "=" .. percent(value) end
  table.sort(parts, core.before)
  return table.concat(parts, "&")
end

--- Whether a value is a JSON object.
function call.is_object(value) return type(value) == "table" and getmetatable(value) ~= core.array_mt end

--- Asks: {status, object (nil where the body is none)}; or nil, err: of kind connect or timeout. `request`: method,
-- url, body (nil: none), headers (nil: none), secrets (strings that no error shows). `options`: proxy, ca_file,
-- transport.
function call.send(options, request)
  local headers = { accept = "application/json", ["user-agent"] = "koine/" .. version }
  for name, value in next, request.headers or {} do headers[name] = value end
  local answer, err = http.send { method = request.method, url = request.url, body = request.body, headers = headers,
    timeouts = { connect = CONNECT, total = TOTAL }, limits = { body = ANSWER_MAX, decoded = ANSWER_MAX },
    proxy = options.proxy, ca_file = options.ca_file, secrets = request.secrets,
    transport = options.transport }
  if not answer then
    err.message = "login: " .. err.message
    return nil, err
  end
  local value = answer.body:find "^%s*{" and core.decode(answer.body)
  return { status = answer.status, object = call.is_object(value) and value or nil }
end

return call
