-- provider_types.lua: the editor types of the providers' constructors (types/koine/providers.lua), made of their rows,
-- so that a new row has its type. tools/generate.lua writes the file.

-- The options of single constructors: their type, and what an editor says of them.
local OPTIONS = {
  api = { nil, "the wire format" }, -- its type: the row's choices
  name = { "string", 'the name in errors and replayed blocks; `"compatible"`' },
  auth = { "koine.AuthScheme", "how the key is sent" },
  resource = { "string", "default: a variable" },
  region = { "string", "default: a variable" },
  credentials = { "koine.AwsCredentials|(fun(): koine.AwsCredentials?, any)", "what signs; default: variables" },
  project = { "string", "default: `GOOGLE_CLOUD_PROJECT`" },
  location = { "string", '`"global"`, `"us"`, `"eu"` or a region; default: `GOOGLE_CLOUD_LOCATION`' },
  token = { "string|(fun(): string?, any)", "an access token" },
  credentials_file = { "string", "path; default: `GOOGLE_APPLICATION_CREDENTIALS`" },
  github_token = { "string", "default: variables, and the token file" },
  token_path = { "string", "path of the token file" },
  github_host = { "string", '`"NAME.ghe.com"` of an enterprise, or its https URL; `"github.com"`' },
  api_base = { "string", "URL of the chat host; default: what the token names" },
  client_id = { "string", "the app of the login" },
  integration_id = { "string", '`"vscode-chat"`' },
  editor_version = { "string", '`"Koine/VERSION"`' },
  on_device_code = { "fun(login: koine.DeviceCode)", "shows the code of a login; default: prints it" },
  min_request_interval = { "number", "seconds between two requests, 0 for none; 3" },
  rate_limit = { "{ requests: integer, period: number }", "so many in so many seconds" },
  rate_limit_path = { "string", "the limiter's file; default: beside the token file" },
}

local HEAD = [[
---@meta _
-- Providers: a constructor for each. It takes one table, and raises an ArgumentError for a bad option.
-- `make generate` writes this file.

---@class koine
local koine = {}

---@alias koine.AuthScheme "bearer"|"x-api-key"|"api-key"|"x-goog-api-key"|"none"

---Keys that sign requests for AWS.
---@class koine.AwsCredentials
---@field access_key string
---@field secret_key string
---@field session_token? string
---@field expires_at? number Unix seconds

---What a person needs for a login: the page to open and the code to enter there.
---@class koine.DeviceCode
---@field verification_uri string
---@field user_code string
---@field expires_in number seconds
---@field interval? number seconds between two questions whether it was entered
]]

local CONSTRUCTOR = [[

---%s
---@param options %s
---@return koine.Adapter adapter
function koine.%s(options) end
]]

-- bedrock_claude → BedrockClaude
local function class_of(name)
  return "koine." .. (name:gsub("^%l", string.upper):gsub("_(%l)", string.upper)) .. "Options"
end

-- The names of a row's own options, sorted.
local function options_of(row)
  local names = {}
  for key, value in pairs(row.options or {}) do names[#names + 1] = type(key) == "string" and key or value end
  table.sort(names)
  return names
end

-- The row's choices of `api`, the default first, as a union.
local function api_type(row)
  local words = {}
  for api in pairs(row.apis or { chat = true, responses = true }) do words[#words + 1] = ("%q"):format(api) end
  table.sort(words, function(a, b)
    local first = ("%q"):format(row.api or "chat")
    if (a == first) ~= (b == first) then return a == first end
    return a < b
  end)
  return table.concat(words, "|")
end

-- The class of a row's options: nil where the usual ones are all.
local function class_text(row)
  local lines = {}
  if not row.default_model then lines[1] = "---@field model string the model's id" end
  if not ((row.apis or {})[row.api] or row).base_url and not row.base_url then
    lines[#lines + 1] = "---@field base_url string http or https URL"
  end
  for _, name in ipairs(options_of(row)) do
    local known = OPTIONS[name] or error(("tools/provider_types.lua: what is the option %s of %s?")
      :format(name, row.name), 0)
    lines[#lines + 1] = ("---@field %s? %s %s"):format(name, known[1] or api_type(row), known[2])
  end
  if not lines[1] then return nil end
  return ("\n---Options of koine.%s.\n---@class %s: koine.AdapterOptions\n%s\n"):format(row.name, class_of(row.name),
    table.concat(lines, "\n"))
end

-- The title, the default model, where the key comes from. A row with a login has a page of its name.
local function about(row)
  local parts = { row.title .. "." }
  if row.default_model then parts[2] = ("Model by default: `%s`."):format(row.default_model) end
  if row.login then parts[#parts + 1] = ("A login: docs/%s.md."):format(row.name)
  elseif row.env then
    local need = row.key_optional and ", not needed" or ""
    parts[#parts + 1] = ("Key: `%s`%s."):format(table.concat(row.env, "` or `"), need)
  end
  if row.chat == false then parts[#parts + 1] = "Embeddings only." end
  return table.concat(parts, " ")
end

--- The text of the file; `rows` is an array of rows in the order of the pages.
return function(rows)
  local parts = { HEAD }
  for _, row in ipairs(rows) do
    local class = class_text(row)
    parts[#parts + 1] = class
    parts[#parts + 1] = CONSTRUCTOR:format(about(row), class and class_of(row.name) or "koine.AdapterOptions", row.name)
  end
  return table.concat(parts)
end
