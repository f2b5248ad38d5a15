--- How adapters of AWS's services authenticate: with a bearer key, or by a signature (Signature Version 4) that is made
-- of each attempt and its time. The row says the service (`service`); {region} in its addresses is the region's name.
-- Credentials are looked for in this order: the option key (a bearer key), the option credentials, the row's
-- variables for a bearer key, AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. The option
-- credentials is a table {access_key, secret_key, session_token, expires_at = Unix seconds}, or a function that
-- returns one (or nil and why), which is called for each attempt: it can read
-- profiles, SSO and roles of machines. Where the provider refuses a signature for its time, the difference to the
-- provider's clock is learnt from the answer, once for the adapter, and the attempt is made again.

local core = require "koine.core"
local check = require "koine.data.check"
local key_source = require "koine.provider.key_source"
local errors = require "koine.data.errors"
local getenv = require "koine.data.host.getenv"
local percent = require("koine.data.text").percent

local sigv4 = {}

local ALGORITHM = "AWS4-HMAC-SHA256"
local REGIONS = { "AWS_REGION", "AWS_DEFAULT_REGION" }
local ACCESS_KEY, SECRET_KEY, TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
local SKEW_MAX = 86400 -- seconds that a provider's clock may differ from ours and be believed
local REGION = 'name of an AWS region, as in "eu-central-1"'

local CREDENTIALS = check.secret(check.record({ access_key = check.required(check.key),
  secret_key = check.required(check.key), session_token = check.key,
  expires_at = check.secret(check.number(nil, nil, "Unix seconds, a number")) },
  "table of access_key, secret_key, session_token, expires_at"))

-- A variable's value; nil where it is not set or empty.
local function variable(name)
  local value = getenv(name)
  return value ~= "" and value or nil
end

local function refusal(row, message, ...)
  return key_source.refusal(row, message:format(...))
end

-- Region and addresses -----------------------------------------------------------------------------------------------

local function region_of(settings)
  local region = settings.region or variable(REGIONS[1]) or variable(REGIONS[2])
  if region and not region:find "^[%w-]+$" then errors.argument("region", REGION, region) end
  return region
end

local function with_region(url, region)
  if not url or not url:find("{region}", 1, true) then return url end
  if not region then core.raise_argument("region", REGION .. ", here or in " .. REGIONS[1], "nothing") end
  return (url:gsub("{region}", region))
end

-- Refuses an address whose path libcurl or AWS change before it is compared with what was signed.
local function check_path(url)
  local path = url:match "^%a+://[^/?#]*([^?#]*)"
  local plain = (path or ""):gsub("%%2[eE]", ".") .. "/"
  if plain:find "[\128-\255]" or plain:find "/%.%.?/" or plain:find "//+[^/]" then
    core.raise_argument("base_url", 'URL whose path is ASCII without ".", ".." and "//", which a signature needs',
      "another one")
  end
end

--- Checks the constructor's options; puts the region into the state, and into its addresses. Raises an ArgumentError
-- where an address needs a region and none is known.
function sigv4.setup(state)
  local settings, row = state.settings, state.row
  local given = settings.credentials
  if type(given) == "table" then settings.credentials = CREDENTIALS(given, "credentials") end
  if settings.base_url and not settings.key then check_path(settings.base_url) end
  state.region = region_of(settings)
  state.base_url = with_region(state.base_url, state.region)
  state.list_base_url = not settings.base_url and with_region(row.list_base_url, state.region) or nil
end

-- Credentials --------------------------------------------------------------------------------------------------------

-- The bearer key for this attempt, nil where there is none, or nil, err.
local function bearer(row, settings)
  local key, err = key_source.given(row, settings)
  if key or err or settings.credentials then return key, err end
  return key_source.from_environment(row)
end

-- Reads the keys from the environment; nil, err where that fails.
local function from_environment(row)
  local found = { access_key = variable(ACCESS_KEY), secret_key = variable(SECRET_KEY),
    session_token = variable(TOKEN) }
  local access, secret = found.access_key, found.secret_key
  if not access and not secret then
    return refusal(row, "no credentials: set %s, or %s and %s, or give the option key or credentials",
      table.concat(row.env, " or "), ACCESS_KEY, SECRET_KEY)
  elseif not access or not secret then
    return refusal(row, "%s is set without %s", access and ACCESS_KEY or SECRET_KEY,
      access and SECRET_KEY or ACCESS_KEY)
  end
  for name, value in pairs { [ACCESS_KEY] = access, [SECRET_KEY] = secret, [TOKEN] = found.session_token } do
    local problem = check.key_problem(value)
    if problem then return refusal(row, "the credential in %s is %s", name, problem) end
  end
  return found
end

-- The keys to sign with, or nil, err.
local function keys_of(row, settings)
  local found, err = settings.credentials, nil
  if found == nil then return from_environment(row) end
  if type(found) == "function" then
    found, err = key_source.from_function(row, "credentials", found, CREDENTIALS)
  end
  if found and found.expires_at and found.expires_at <= core.wall() then
    return refusal(row, "the option credentials gave credentials that have expired: fresh ones are needed "
      .. "(expires_at is in Unix seconds)")
  end
  return found, err
end

local function by_hand(settings) return settings.headers and settings.headers.authorization ~= nil end

--- The credentials of an attempt: {key, headers} of a bearer key, {keys = what to sign with}, or nil, err. `request` is
-- nil for lists, which have an address of their own.
function sigv4.prepare(adapter, request)
  local state = core.state(adapter)
  local row, settings = state.row, state.settings
  local base_url = not request and state.list_base_url or nil
  if by_hand(settings) then return { base_url = base_url } end
  local key, err = bearer(row, settings)
  if err then return nil, err end
  if not key then
    local keys
    keys, err = keys_of(row, settings)
    if keys and not state.region then
      return refusal(row, "no region to sign for: set %s, or give the option region", REGIONS[1])
    end
    return keys and { keys = keys, base_url = base_url }, err
  end
  local applied = state.credentials
  if not applied or applied.key ~= key or applied.base_url ~= base_url then
    applied = { key = key, headers = { authorization = "Bearer " .. key }, base_url = base_url }
    state.credentials = applied
  end
  return applied
end

--- Makes sure that there are credentials: true, or nil, err.
function sigv4.authenticate(adapter)
  local applied, err = sigv4.prepare(adapter)
  if not applied then return nil, err end
  return true
end

--- True when there are credentials; calls no function of the user's.
function sigv4.authenticated(adapter)
  local state = core.state(adapter)
  local settings = state.settings
  if settings.key ~= nil or settings.credentials ~= nil or by_hand(settings) then return true end
  return bearer(state.row, settings) ~= nil or (variable(ACCESS_KEY) and variable(SECRET_KEY)) ~= nil
end

-- Signatures ---------------------------------------------------------------------------------------------------------

local function hex(bytes) return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

-- Host, as libcurl sends it, path and query of a URL.
local function parts_of(url)
  local scheme, authority, rest = url:match "^(%a+)://([^/?#]*)([^#]*)"
  local host = authority:match "([^@]*)$"
  host = host:gsub(scheme:lower() == "https" and ":443$" or ":80$", "")
  local path, query = rest:match "^([^?]*)%??(.*)$"
  return host, path == "" and "/" or path, query
end

-- The one spelling of a name or a value in a query.
local function normal(text)
  local bytes = text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end)
  return percent(bytes)
end

-- A query as it is signed: sorted by name, then value; each name with a value.
local function canonical_query(query)
  local list = {}
  for part in query:gmatch "[^&]+" do
    local name, value = part:match "^([^=]*)=?(.*)$"
    list[#list + 1] = { normal(name), normal(value) }
  end
  table.sort(list, function(a, b)
    if a[1] ~= b[1] then return core.before(a[1], b[1]) end
    return core.before(a[2], b[2])
  end)
  for i, pair in ipairs(list) do list[i] = table.concat(pair, "=") end
  return table.concat(list, "&")
end

-- The headers that are signed, each "name:value" and a line's end, and their names.
local function canonical_headers(headers)
  local lines, names = {}, {}
  for _, name in ipairs { "content-type", "host", "x-amz-date", "x-amz-security-token" } do
    local value = headers[name]
    if value then
      names[#names + 1] = name
      lines[#lines + 1] = ("%s:%s\n"):format(name, value:gsub("^%s+", ""):gsub("%s+$", ""):gsub("%s+", " "))
    end
  end
  return table.concat(lines), table.concat(names, ";")
end

--- The headers that sign a request, by name, and the signature. what: {method, url, headers (lower-case names), body,
-- keys = {access_key, secret_key, session_token}, region, service, time = Unix seconds}. Everything but the services of
-- S3 takes the path, as it is sent, encoded once more.
function sigv4.signed(what)
  local keys, date = what.keys, os.date("!%Y%m%dT%H%M%SZ", math.floor(what.time))
  local host, path, query = parts_of(what.url)
  local headers, names = canonical_headers { ["content-type"] = what.headers["content-type"],
    host = what.headers.host or host,
    ["x-amz-date"] = date, ["x-amz-security-token"] = keys.session_token }
  local twice = percent(path, "/")
  local request = table.concat({ what.method, twice, canonical_query(query), headers, names,
    hex(core.sha256(what.body)) }, "\n")
  local day = date:sub(1, 8)
  local scope = table.concat({ day, what.region, what.service, "aws4_request" }, "/")
  local key = "AWS4" .. keys.secret_key
  for _, word in ipairs { day, what.region, what.service, "aws4_request" } do key = core.hmac_sha256(key, word) end
  local text = table.concat({ ALGORITHM, date, scope, hex(core.sha256(request)) }, "\n")
  local signature = hex(core.hmac_sha256(key, text))
  return { ["x-amz-date"] = date, ["x-amz-security-token"] = keys.session_token,
    authorization = ("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s"):format(ALGORITHM, keys.access_key, scope,
      names, signature) }, signature
end

--- The headers that sign an attempt, none where it has a bearer key, and what no error may show.
function sigv4.sign(adapter, attempt)
  local keys, state = attempt.credentials.keys, core.state(adapter)
  if not keys or attempt.headers.authorization then return {} end
  local headers, signature = sigv4.signed { method = attempt.method, url = attempt.url, headers = attempt.headers,
    body = attempt.body, keys = keys, region = state.region, service = state.row.service,
    time = core.wall() + (state.clock_skew or 0) }
  return headers, { keys.access_key, keys.secret_key, keys.session_token or signature, signature }
end

-- True when the error's message has one of the phrases, whatever their case.
local function says(err, phrases)
  local message = err.message:lower()
  for _, words in ipairs(phrases) do
    if message:find(words, 1, true) then return true end
  end
  return false
end

-- Phrases of refusals: for the time of a signature; for credentials that are over; for a region that the signature
-- names and the address is not in; for keys that do not exist; for a signature that is another one.
local LATE = { "signature expired", "not yet current", "too skewed", "request time" }
local OVER = { "expired" }
local ELSEWHERE = { "scoped to a valid region" }
local UNKNOWN = { "security token included in the request is invalid" }
local DIFFERENT = { "does not match the signature" }
-- For good credentials that may not do what is asked: IAM's words, and Bedrock's for a model.
local NOT_ALLOWED = { "not authorized", "access to the model" }

local function is_about_time(err)
  return err.code == "RequestTimeTooSkewed" or err.code == "RequestExpired" or says(err, LATE)
end

--- True when a signature was refused for its time, and the provider's clock says another one than ours: from then on
-- signatures have that time. One that differs by more than a day is not believed.
function sigv4.rejected(adapter, err, applied)
  local state = core.state(adapter)
  if not applied.keys or not err.server_time or not is_about_time(err) then return false end
  local skew = err.server_time - core.wall()
  if math.abs(skew) > SKEW_MAX or math.abs(skew - (state.clock_skew or 0)) < 1 then return false end
  state.clock_skew = skew
  return true
end

-- Where what an attempt was signed with comes from, in words.
local function source(settings)
  local given = settings.credentials
  if not given then return ("%s, %s and %s"):format(ACCESS_KEY, SECRET_KEY, TOKEN) end
  return type(given) == "function" and "what the function credentials returns" or "the option credentials"
end

--- Advice, in words, on a refusal of credentials that the call ends with; nil where there is none. Forgets a difference
-- of clocks that did not help.
function sigv4.advise(adapter, err, applied)
  if err.class ~= "AuthenticationError" then return nil end
  local state = core.state(adapter)
  if err.kind == "permission" then
    return says(err, NOT_ALLOWED) and "the credentials are good, but may not do this: check their IAM policies, and "
      .. "that the account has access to the model" or "the provider does not say which: check the credentials, their "
      .. "IAM policies and the account's access to the model"
  elseif not applied.keys then
    if not applied.key then return nil end
    return says(err, OVER) and "make a new bearer key: one that is made of a login holds 12 hours at most"
      or "check the bearer key: the option key, or AWS_BEARER_TOKEN_BEDROCK"
  elseif is_about_time(err) then
    state.clock_skew = nil -- what was learnt did not help
    return "the clock of this machine differs from the provider's: set it"
  elseif says(err, OVER) then
    return ("get new credentials: %s"):format(source(state.settings))
  elseif says(err, ELSEWHERE) then
    return ("it was signed for %s: the option region and the address have to fit"):format(state.region)
  elseif says(err, UNKNOWN) then
    return ("check the access key and the session token: %s"):format(source(state.settings))
  elseif says(err, DIFFERENT) then
    return "check the secret key; a proxy that changes the path or the body breaks signatures"
  end
end

return sigv4
