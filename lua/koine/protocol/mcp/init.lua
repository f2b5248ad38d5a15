--- MCP, the Model Context Protocol, as a client: tools, resources and prompts of servers that others wrote.
--
--   local fs <close> = assert(koine.mcp.connect { name = "fs", command = "npx", args = { … } })
--   local r = assert(fs:call("read_file", { path = "a.txt" }))

local client = require "koine.protocol.mcp.client"
local servers = require "koine.protocol.mcp.servers"

local mcp = {}

--- Connects to one server: see client/init.lua.
mcp.connect = client.connect

--- Reads a configuration of many servers: see servers/init.lua.
mcp.load = servers.load

return mcp
