--- The Agent Client Protocol, koine.acp: Koine as the client of agents (client/).

local client = require "koine.protocol.acp.client"

--- connect(opts): see client/init.lua.
return { connect = client.connect }
