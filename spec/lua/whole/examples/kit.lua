-- The code that makes a program of examples/ speak to the loopback provider in the place of a row's.

local cjson = require "cjson"
local paths = require "koine.testing.loopback.paths"
local rows = require "koine.provider"

local kit = {}

--- The interpreter; and what stands before a program that speaks to the provider at the URL of the format's %s.
kit.LUA = os.getenv "KOINE_LUA" or "lua5.4"
kit.WITH_KEYS = "env KOINE_BASE_URL=%s ANTHROPIC_API_KEY=test-key-1 OPENAI_API_KEY=test-key-2 "

--- The examples that output_spec.lua runs, and not examples_spec.lua; those that agents_spec.lua runs.
kit.AGENTS = { chat_bridge_acp = true }
kit.OUTPUT = { extract = true, form = true, observe = true, semantic_search = true }

--- Returns the output of `command`, its errors too, and whether it succeeded.
function kit.output_of(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read "a"
  return text, pipe:close() == true
end

-- Wires that only a row's option api chooses, which the examples do not have.
local BY_CHOICE = { bedrock_invoke = true }

--- The path that a provider's base URL has: what the loopback provider has to be spoken to at.
function kit.path_of(row)
  local fields = row.apis and row.apis[row.api] or row
  local url = fields.base_url or (fields.base_urls or {})[1] or row.base_url or (row.base_urls or {})[1]
  return url and url:match "^https?://[^/]+(.*)$" or ""
end

--- The wire that the loopback provider plays for a row: the codec's, but where Vertex AI has it.
function kit.wire_of(row)
  local vertex = row.quirks and row.quirks.route == "raw_predict"
  return rows.chosen(row, {}).codec .. (vertex and "_vertex" or "")
end

--- The wires that the loopback provider plays, sorted, but for those that are keys of `wires`.
function kit.missing(wires)
  local missing = {}
  for wire in pairs(paths.endpoints) do
    if not wires[wire] and not BY_CHOICE[wire] then missing[#missing + 1] = wire end
  end
  table.sort(missing)
  return missing
end

-- A file of Google's with a user's login, for which the loopback provider gives tokens.
local function google_login(server)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(cjson.encode { type = "authorized_user", client_id = "id",
    client_secret = "secret-1", refresh_token = "refresh-1", token_uri = server.url .. "/token" }))
  assert(os.execute("chmod 600 " .. path))
  return path
end

--- Returns the environment of a row's program, with this key, at a server of koine.testing; and a function that
-- removes the file in it.
function kit.environment(server, row, key)
  local login = row.auth == "google" and google_login(server)
  return row.env and row.env[1] .. "=" .. (login or key) or "", function() return login and os.remove(login) end
end

return kit
