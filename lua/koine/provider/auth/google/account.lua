--- Accounts: the identity in a credentials file, and the access token that Google gave for it. Adapters whose files say
-- the same share an account, so that a process asks once, however many adapters and coroutines it has. Secrets are kept
-- in closures: no key, field or name of a table shows one.

local core = require "koine.core"
local assertion = require "koine.provider.auth.google.assertion"
local calendar = require "koine.data.calendar"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local getenv = require "koine.data.host.getenv"
local login_tokens = require "koine.provider.login_tokens"
local service = require "koine.provider.login_service"
local texts = require "koine.data.text"

local account = {}

local VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
local TOKEN_URL = "https://oauth2.googleapis.com/token"
local JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"

local FILE_MAX = 1 << 16    -- bytes of a credentials file
local LIFETIME = 3600       -- seconds, where the answer does not say
local LIFETIME_MAX = 86400  -- seconds, whatever it says
local SKEW = 60             -- seconds that clocks may differ before an error tells

--- Returns the Unix seconds that tokens expire in; specs put their own function here.
account.clock = core.wall

-- Accounts, {path, kind, is_user, quota_project, fields = function → the file's fields, token_url, token = nil or
-- {value = function → token, expires}}, by the SHA-256 of their file's text, as long as somebody holds them.
local known = setmetatable({}, { __mode = "v" }) -- luacheck: ignore 241
local tokens = login_tokens.new(function() return account.clock() end)

local function hidden(value) return function() return value end end

-- Kinds of files: the fields they must have, the form that asks for a token (or nil and why there is none) with what no
-- error may show, and what a refusal may come from.
local KINDS = {
  service_account = {
    fields = { "client_email", "private_key" },
    form = function(fields, token_url)
      local signed, why = assertion(fields, token_url, account.clock())
      if not signed then return nil, why end
      return { grant_type = JWT_GRANT, assertion = signed }, { signed }
    end,
    hint = "the key was deleted or disabled, or this machine's clock is wrong",
  },
  authorized_user = {
    fields = { "client_id", "client_secret", "refresh_token" },
    form = function(fields)
      return { grant_type = "refresh_token", client_id = fields.client_id, client_secret = fields.client_secret,
        refresh_token = fields.refresh_token }, { fields.client_secret, fields.refresh_token }
    end,
    hint = "the login has ended or was taken back: log in again (gcloud auth application-default login)",
  },
}

-- Files -------------------------------------------------------------------------------------------------------------

-- The path of the credentials file and what says it, the option or the variable; nil where neither does.
local function path_of(settings)
  if settings.credentials_file then return settings.credentials_file, "credentials_file" end
  local path = getenv(VARIABLE)
  if path ~= "" then return path, VARIABLE end
end

-- Where a token may be asked for: over https, or on this machine.
local function is_fit(url)
  if url:find "[%c%s]" then return false end
  return url:find "^https://[%w.-]+[/:]" or url:find "^http://127%.0%.0%.1[/:]" or url:find "^http://localhost[/:]"
end

-- Reads the text of a credentials file: {kind, fields, token_url}, or nil and what is wrong.
local function read(text)
  local value = service.object(text)
  if not value then return nil, "no JSON object" end
  local kind = type(value.type) == "string" and KINDS[value.type]
  if not kind then
    return nil, ('type: "service_account" or "authorized_user" expected, got %s; for other credentials give the option '
      .. "token = function, which returns an access token")
      :format(type(value.type) == "string" and errors.describe(value.type) or "none")
  end
  for _, name in ipairs(kind.fields) do
    local field = value[name]
    if type(field) ~= "string" or not field:find "%S" then return nil, name .. ": non-empty string expected" end
  end
  local url, id = value.token_uri, value.private_key_id
  if type(url) ~= "string" or url == "" then url = TOKEN_URL end
  if not is_fit(url) then return nil, "token_uri: https URL expected" end
  if type(id) ~= "string" then value.private_key_id = nil end
  return { kind = kind, fields = value, token_url = url }
end

-- The quota project that a file names.
local function quota_project(fields)
  local name = fields.quota_project_id
  return type(name) == "string" and not check.key_problem(name) and name or nil
end

--- The account of an adapter's credentials file: nil where none is named, or nil, err.
function account.of(state)
  local path, name = path_of(state.settings)
  if not path then return nil end
  if not texts.is_path(path) then
    return nil, service.refusal(state.row, name .. ": path of a credentials file expected, got text that is no path")
  end
  -- Koine neither writes the file nor chooses its mode: what mounts secrets gives links to files that others may read.
  local text, err = core.file_read_any(path, FILE_MAX)
  if not text then return nil, service.file_refusal(state.row, name, path, err) end
  tokens:sweep()
  local digest = core.sha256(text)
  local one = known[digest]
  if one then return one end
  local found, problem = read(text)
  path = texts.shown_path(path) or name
  if not found then return nil, service.refusal(state.row, ("%s: %s"):format(path, problem)) end
  one = { path = path, kind = found.kind, fields = hidden(found.fields), token_url = found.token_url,
    is_user = found.kind == KINDS.authorized_user, quota_project = quota_project(found.fields) }
  known[digest] = one
  return one
end

-- Tokens ------------------------------------------------------------------------------------------------------------

local MONTHS = {}
for i, name in ipairs { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" } do
  MONTHS[name] = i
end

-- How many seconds this machine's clock is ahead of that of the answer's server; nil where it did not say.
local function ahead(answer)
  local day, month, year, hour, minute, second = (answer.headers.date or "")
    :match "(%d%d) (%a%a%a) (%d%d%d%d) (%d%d):(%d%d):(%d%d) GMT$"
  if not MONTHS[month] then return nil end
  local days = calendar.days(math.tointeger(year), MONTHS[month], math.tointeger(day))
  return account.clock() - (days * 86400 + hour * 3600 + minute * 60 + second)
end

-- The cause of a refusal, in words; empty where it is not known.
local function hint_for(one, code, answer)
  local seconds = ahead(answer)
  if seconds and math.abs(seconds) >= SKEW then
    return ("; this machine's clock is %d seconds %s Google's"):format(math.abs(seconds) // 1,
      seconds > 0 and "ahead of" or "behind")
  end
  return code == "invalid_grant" and "; " .. one.kind.hint or ""
end

local function text(value) return type(value) == "string" and value ~= "" and value or nil end

-- The error of an answer outside 200–299: the server's fault or a limit as always, anything else a refusal.
local function refused(state, one, reply, answer, secrets)
  local err = service.answer_error(state.row, answer, secrets)
  local what = "Google gives no token now"
  if answer.status ~= 429 and answer.status < 500 then
    err.kind, err.class, err.retryable = "auth", core.error_class "auth", false
    what = "Google refuses the credentials in " .. one.path
  end
  local said, code = err.message, text(reply and reply.error)
  if code then
    said = core.redact(table.concat({ code, text(reply.error_description) }, ": "),
      service.secrets_of(answer, secrets))
    err.code = code:match "^[%w_]+$" and #code <= 40 and code or err.code
  end
  err.message = core.error_line(("%s: %s (HTTP %d): %s%s"):format(state.row.title, what, answer.status,
    said:sub(1, 200), hint_for(one, code, answer)))
  return err
end

-- The token in a reply, or nil, err.
local function token_of(state, status, reply)
  local problem = not reply and "gave no JSON object"
  local unfit = reply and check.key_problem(reply.access_token)
  if unfit then problem = "gave no token but " .. unfit end
  if problem then
    return nil, service.failure(state.row, { kind = "protocol", status_code = status,
      message = "the service for tokens " .. problem })
  end
  local seconds = tonumber(reply.expires_in) or LIFETIME
  return { value = hidden(reply.access_token), expires = account.clock() + math.min(seconds, LIFETIME_MAX) }
end

-- Asks for a token: a token, or nil, err.
local function fetch(state, one, deadline)
  local form, secrets = one.kind.form(one.fields(), one.token_url)
  if not form then return nil, service.refusal(state.row, ("%s: %s"):format(one.path, secrets)) end
  local status, reply, answer = service.call(state, { method = "POST", url = one.token_url, body = service.form(form),
    headers = { ["content-type"] = "application/x-www-form-urlencoded" }, secrets = secrets }, deadline)
  if not status then return nil, reply end
  if status < 200 or status > 299 then return nil, refused(state, one, reply, answer, secrets) end
  return token_of(state, status, reply)
end

--- The account's token, asked for when there is none or it is about to expire: {value = function → token, expires =
-- Unix seconds}, or nil, err. Ends at the deadline (a time of wait.now, nil = none).
function account.token(state, one, deadline)
  return tokens:get(one, function() return fetch(state, one, deadline) end, deadline)
end

--- Takes back a token that was refused; another one in its place stays.
function account.reject(one, token) tokens:reject(one, token) end

return account
