-- mcp_server.lua -y PACKAGE …: what the two servers of examples/mcp_agent.lua say, as far as it asks them.

local cjson = require "cjson"

local function tool(name, argument)
  return { name = name, description = "Does " .. name .. ".", inputSchema = { type = "object",
    properties = { [argument] = argument == "entities" and { type = "array" } or { type = "string" } } } }
end

local SERVERS = {
  ["@modelcontextprotocol/server-filesystem"] = {
    tools = { tool("read_text_file", "path"), tool("write_file", "path"), tool("list_directory", "path") },
    list_directory = function(arguments) return "[FILE] " .. arguments.path .. "/poem.txt" end,
    read_text_file = function(arguments) return "What is in " .. arguments.path end,
  },
  ["@modelcontextprotocol/server-memory"] = {
    tools = { tool("create_entities", "entities"), tool("search_nodes", "query") },
    search_nodes = function() return '{"entities":[]}' end,
    create_entities = function(arguments) return #arguments.entities .. " remembered" end,
  },
}

local server = assert(SERVERS[arg[2]], arg[2])

local methods = {}

function methods.initialize(params)
  return { protocolVersion = params.protocolVersion, capabilities = { tools = { listChanged = true } },
    serverInfo = { name = arg[2], version = "1" } }
end

methods["tools/list"] = function() return { tools = server.tools } end

methods["tools/call"] = function(params)
  return { content = { { type = "text", text = server[params.name](params.arguments) } } }
end

io.stderr:write "running on stdio\n"
io.stdout:setvbuf "line"
for line in io.lines() do
  local request = cjson.decode(line)
  local method = methods[request.method]
  if request.id then
    print(cjson.encode { jsonrpc = "2.0", id = request.id, result = method and method(request.params),
      error = not method and { code = -32601, message = "Method not found" } or nil })
  end
end
