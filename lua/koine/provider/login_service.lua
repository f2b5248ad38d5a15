--- Calls to the service that a login module gets its tokens from. One JSON answer each; no retries here.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local http = require "koine.net.http"
local percent = require("koine.data.text").percent
local shown_path = require("koine.data.text").shown_path
local version = require "koine.data.version"
local wait = require "koine.task.wait"

local login_service = {}

local TOTAL = 30           -- seconds for a call
local ANSWER_MAX = 1 << 20 -- bytes
local SECRET_MIN = 8       -- bytes, as in the core: shorter ones turn up by themselves
local SECRETS_MAX = 16     -- in one call, as in the core

local json = require("cjson").new()
json.decode_invalid_numbers(false)

--- An error of this provider: `fields` with the title before the message.
function login_service.failure(row, fields)
  fields.provider, fields.message = row.name, row.title .. ": " .. fields.message
  return errors.new(fields)
end

--- An AuthenticationError.
function login_service.refusal(row, message, code)
  return login_service.failure(row, { kind = "auth", code = code, message = message })
end

--- The AuthenticationError of a file that the core could not use: `path` as the option or variable `name` says it,
-- `err` the core's. It shows no path that may be a credential in the wrong place, but the name.
function login_service.file_refusal(row, name, path, err)
  if shown_path(path) then return login_service.refusal(row, err.message) end
  local reason = err.message:sub(1, #path) == path and err.message:sub(#path + 1)
  return login_service.refusal(row, name .. (reason or ": names no file that can be used"))
end

--- The seconds until a deadline (a time of wait.now, nil = none), at most `most`, and never 0, which would be no limit.
function login_service.within(deadline, most)
  return deadline and math.max(math.min(deadline - wait.now(), most), 0.001) or most
end

--- The JSON object or array in a text; nil when it is not one.
function login_service.object(text)
  local ok, value = pcall(json.decode, text)
  if not ok and check.is_memory(value) then error(value, 0) end
  return ok and type(value) == "table" and value or nil
end

--- Asks for `url`: the status, the JSON object in the answer (nil when it is not one) and the answer; nil, err when
-- none came, until the deadline (nil = none) at the latest. `call` is {method, url, headers, body, secrets}.
function login_service.call(state, call, deadline)
  local settings = state.settings
  call.headers["user-agent"] = "koine/" .. version
  call.headers.accept = call.headers.accept or "application/json"
  call.timeouts = { connect = settings.timeout.connect, total = login_service.within(deadline, TOTAL) }
  call.limits = { body = ANSWER_MAX, decoded = ANSWER_MAX }
  call.proxy, call.ca_file, call.transport = settings.proxy, settings.ca_file, settings.transport
  local answer, err = http.send(call)
  if not answer then
    err.provider = state.row.name
    return nil, err
  end
  return answer.status, login_service.object(answer.body), answer
end

--- Lists, for core.redact, the secrets that no error of an answer may show: `secrets` (an array, nil for none) and what
-- the answer names as a code or a token, in JSON or in a form: a login's answers hold such. 16 at most.
function login_service.secrets_of(answer, secrets)
  local list = table.move(secrets or {}, 1, #(secrets or {}), 1, {})
  local function add(value)
    if type(value) ~= "string" or #value < SECRET_MIN or #list == SECRETS_MAX then return end
    list[#list + 1] = value
  end
  for name, member in pairs(login_service.object(answer.body) or {}) do
    if type(name) == "string" and (name:find "code" or name:find "token") then add(member) end
  end
  for _, word in ipairs { "code", "token" } do
    for found in answer.body:gmatch(word .. "[\"']?%s*[=:]%s*[\"']?([^%s\"'&,}]+)") do
      if #list == SECRETS_MAX then break end
      add(found)
    end
  end
  return list
end

--- The error that an answer outside 200–299 stands for, without what it names as a code or a token.
function login_service.answer_error(row, answer, secrets)
  return errors.from_answer(row.name, answer, login_service.secrets_of(answer, secrets), row.id_header)
end

--- The same with the title before the message.
function login_service.from_answer(state, answer, secrets)
  local err = login_service.answer_error(state.row, answer, secrets)
  err.message = state.row.title .. ": " .. err.message
  return err
end

--- The fields as an HTML form.
function login_service.form(fields)
  local parts = {}
  for name, value in pairs(fields) do
    parts[#parts + 1] = name .. "=" .. percent(value)
  end
  table.sort(parts, core.before)
  return table.concat(parts, "&")
end

return login_service
