--- MCP, the Model Context Protocol, as a client: tools, resources and prompts of servers that others wrote.
--
--   local fs <close> = assert(koine.mcp.connect { name = "fs", command = "npx", args = { … } })
--   local r = assert(fs:call("read_file", { path = "a.txt" }))

local client = require "koine.protocol.mcp.client"
local login = require "koine.protocol.mcp.login"
local servers = require "koine.protocol.mcp.servers"

local mcp = {}

--- Connects to one server: see client/init.lua.
mcp.connect = client.connect

--- Makes a source of tokens for a server at a URL: see login/init.lua.
mcp.login = login.new

--- Reads a configuration of many servers: see servers/init.lua.
mcp.load = servers.load

return mcp
