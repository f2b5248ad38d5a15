--- Calls to GitHub itself: logging in, exchanging, asking for quotas. One JSON answer each; no retries here.

local errors = require "koine.data.errors"
local exchange = require "koine.net.http"
local version = require "koine.data.version"

local github = {}

local TOTAL = 30           -- seconds for a call
local ANSWER_MAX = 1 << 20 -- bytes
local SECRET_MIN = 8       -- bytes, as in the core

local json = require("cjson").new()
json.decode_invalid_numbers(false)

--- An error of this provider: `fields` with the title before the message.
function github.failure(row, fields)
  fields.provider, fields.message = row.name, row.title .. ": " .. fields.message
  return errors.new(fields)
end

--- An AuthenticationError.
function github.refusal(row, message, code)
  return github.failure(row, { kind = "auth", code = code, message = message })
end

--- Asks for `url`: the status, the JSON object in the answer (nil when it is none) and the answer; nil, err when none
-- came. `call` is {method, url, headers, body, secrets}.
function github.call(state, call)
  local settings = state.settings
  call.headers["user-agent"] = "koine/" .. version
  call.headers.accept = call.headers.accept or "application/json"
  call.timeouts = { connect = settings.timeout.connect, total = TOTAL }
  call.limits = { body = ANSWER_MAX, decoded = ANSWER_MAX }
  call.proxy, call.ca_file = settings.proxy, settings.ca_file
  local answer, err = exchange.send(call)
  if not answer then
    err.provider = state.row.name
    return nil, err
  end
  local ok, value = pcall(json.decode, answer.body)
  return answer.status, ok and type(value) == "table" and value or nil, answer
end

--- The error that an answer outside 200–299 stands for.
function github.from_answer(state, answer, secrets)
  local err = errors.from_answer(state.row.name, answer, secrets)
  err.message = state.row.title .. ": " .. err.message
  return err
end

--- The text without the secrets in it; those under 8 bytes turn up by themselves.
function github.redact(text, secrets)
  for _, secret in ipairs(secrets) do
    if #secret >= SECRET_MIN then text = text:gsub(secret:gsub("%W", "%%%0"), "[redacted]") end
  end
  return text
end

--- The fields as an HTML form.
function github.form(fields)
  local parts = {}
  for name, value in pairs(fields) do
    parts[#parts + 1] = name .. "=" .. value:gsub("[^%w%-._~]", function(c) return ("%%%02X"):format(c:byte()) end)
  end
  table.sort(parts)
  return table.concat(parts, "&")
end

return github
