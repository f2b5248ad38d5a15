--- MCP, the Model Context Protocol, as a client: tools, resources and prompts of servers that others wrote.
--
--   local fs <close> = assert(koine.mcp.connect { name = "fs", command = "npx", args = { … } })
--   local r = assert(fs:call("read_file", { path = "a.txt" }))

local client = require "koine.protocol.mcp.client"

local mcp = {}

--- Connects to one server: see client/init.lua.
mcp.connect = client.connect

return mcp
