-- mcp_server.lua: a small MCP server on its standard input and output, for the page docs/mcp.md and for trying things
-- out. It needs lua-cjson only, and speaks both eras of the protocol: with a session, and with versions in requests.
local json = require "cjson.safe"

local INFO = { name = "notes", version = "1.0.0" }
local CAPABILITIES = { tools = { listChanged = true }, resources = {}, prompts = {} }
local NOTES = { ["note://welcome"] = "Koine is Greek for the common tongue." }

local TOOLS = { { name = "add", description = "Adds two numbers.", annotations = { readOnlyHint = true },
  inputSchema = { type = "object", required = { "a", "b" },
    properties = { a = { type = "number" }, b = { type = "number" } } } } }

local function text(words) return { { type = "text", text = words } } end

local methods = {}

methods["server/discover"] = function()
  return { supportedVersions = { "2026-07-28" }, capabilities = CAPABILITIES, instructions = "Numbers and notes.",
    ttlMs = 0, cacheScope = "private" }
end

function methods.initialize(params)
  return { protocolVersion = params.protocolVersion, capabilities = CAPABILITIES, serverInfo = INFO,
    instructions = "Numbers and notes." }
end

methods["tools/list"] = function() return { tools = TOOLS, ttlMs = 60000, cacheScope = "public" } end

methods["tools/call"] = function(params)
  local given = params.arguments or {}
  if params.name ~= "add" then return nil, -32602, "unknown tool: " .. tostring(params.name) end
  if type(given.a) ~= "number" or type(given.b) ~= "number" then
    return { content = text "a and b have to be numbers", isError = true }
  end
  return { content = text(("%g"):format(given.a + given.b)) }
end

methods["resources/list"] = function()
  return { resources = { { uri = "note://welcome", name = "welcome", mimeType = "text/plain" } },
    ttlMs = 0, cacheScope = "public" }
end

methods["resources/read"] = function(params)
  local note = NOTES[params.uri]
  if not note then return nil, -32602, "no such note" end
  return { contents = { { uri = params.uri, mimeType = "text/plain", text = note } }, ttlMs = 0, cacheScope = "public" }
end

methods["prompts/list"] = function()
  return { prompts = { { name = "greet", arguments = { { name = "who", required = true } } } },
    ttlMs = 0, cacheScope = "public" }
end

methods["prompts/get"] = function(params)
  local who = params.arguments and params.arguments.who or "everybody"
  return { messages = { { role = "user", content = text("Greet " .. who .. ".")[1] } } }
end

function methods.ping() return {} end

local function is_modern(params)
  local meta = type(params._meta) == "table" and params._meta or {}
  return meta["io.modelcontextprotocol/protocolVersion"] ~= nil
end

io.stdout:setvbuf "line"
for line in io.lines() do
  local request = json.decode(line)
  if type(request) == "table" and request.id ~= nil and request.method then
    local params = type(request.params) == "table" and request.params or {}
    local answer, method = { jsonrpc = "2.0", id = request.id }, methods[request.method]
    local result, code, words
    if method then result, code, words = method(params) else code, words = -32601, "Method not found" end
    if result and is_modern(params) then
      result.resultType, result._meta = "complete", { ["io.modelcontextprotocol/serverInfo"] = INFO }
    end
    answer.result, answer.error = result, not result and { code = code, message = words } or nil
    print(json.encode(answer))
  end
end
