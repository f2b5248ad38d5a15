-- A server of koine.testing that gives tokens as Google's service does, with a chat behind it; credentials files for
-- it; adapters that log in with them. No credential of this machine is seen: the variables are those of `variables`.

local account = require "koine.provider.auth.google.account"
local adapter = require "koine.call.adapter"
local core = require "koine.core"
local deep = require "spec.support.deep"
local environment = require "spec.support.environment"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local koine = require "koine"
local pkey = require "openssl.pkey"

local kit = { KEY = pkey.new { type = "RSA", bits = 2048 }, SECRET = "client-secret-of-the-test",
  REFRESH = "1//refresh-token-of-the-test", VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS" }

local ROW = { name = "vertex", title = "Vertex AI", codec = "chat", base_url = "https://unused/v1", auth = "google",
  list = false, options = { token = "key", credentials_file = "path", project = "name", location = "name" } }

local clock = account.clock

kit.count = 0 -- files so far: the number stands in each

--- For setup and teardown.
function kit.open()
  kit.server = assert(koine.testing.start())
  kit.directory = folder.new()
  return kit.server, kit.directory
end
function kit.close()
  kit.server:stop()
  folder.remove(kit.directory)
end

--- For before_each: the variables that there are. For after_each.
function kit.begin()
  assert(kit.server:reset())
  return environment.replace({}, "^GOOGLE_")
end
function kit.finish()
  environment.restore()
  account.clock = clock
end

--- The path of a new credentials file with these fields; `mode`: octal digits.
function kit.file(fields, mode)
  local path = ("%s/%d.json"):format(kit.directory, math.random(1 << 40))
  files.write(path, type(fields) == "string" and fields or core.encode(fields), mode)
  return path
end

local function merged(fields, more)
  for name, value in pairs(more or {}) do fields[name] = value end
  return fields
end

--- Files that are each an account of its own: its number stands in it.
function kit.service_account(more)
  kit.count = kit.count + 1
  return kit.file(merged({ type = "service_account", project_id = "p", private_key_id = "kid" .. kit.count,
    private_key = kit.KEY:toPEM "private", client_email = "me@p.iam.gserviceaccount.com",
    token_uri = kit.server.url .. "/token" }, more))
end

function kit.user(more, mode)
  kit.count = kit.count + 1
  return kit.file(merged({ type = "authorized_user", client_id = "id" .. kit.count, client_secret = kit.SECRET,
    refresh_token = kit.REFRESH, token_uri = kit.server.url .. "/token" }, more), mode)
end

function kit.vertex(options)
  return adapter.new(ROW, merged({ model = "m", base_url = kit.server.url .. "/v1", retry = false }, options))
end

--- A step of a script: the service gives this token.
function kit.gives(token, seconds)
  return { path = "/token", reply = { body = { access_token = token, expires_in = seconds or 3600,
    token_type = "Bearer" } } }
end

--- Returns the requests to a path: an array of requests.
function kit.sent(path)
  local list = {}
  for _, request in ipairs(assert(kit.server:requests())) do
    if request.path == path then list[#list + 1] = request end
  end
  return list
end

--- The header authorization of each chat.
function kit.bearers()
  local list = {}
  for i, request in ipairs(kit.sent "/v1/chat/completions") do list[i] = request.headers.authorization end
  return list
end

--- The fields of a form.
function kit.form(text)
  local fields = {}
  for name, value in text:gmatch "([^&=]+)=([^&]*)" do
    fields[name] = value:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
  end
  return fields
end

--- Fails where an error shows a credential of a file, or one of these.
function kit.shows_none(err, ...)
  for _, secret in ipairs { kit.SECRET, kit.REFRESH, ... } do assert(not deep.shows(err, secret), "a secret shows") end
  assert(not deep.shows(err, "PRIVATE KEY"), "a key shows")
end

return kit
