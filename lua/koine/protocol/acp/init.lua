--- The Agent Client Protocol (https://agentclientprotocol.com), version 1: editors and the agents that they start, over
-- JSON-RPC on standard input and output. Koine is either side.
--
--   local agent <close> = assert(koine.acp.connect { command = "gemini", args = { "--acp" } })   -- client/init.lua
--   koine.acp.serve { agent = agent }     -- a program that editors start: serve/init.lua

local client = require "koine.protocol.acp.client"

--- connect(opts), check(opts): see client/init.lua; presets: see presets.lua.
return {
  connect = client.connect, check = client.check, presets = require "koine.protocol.acp.presets",
  serve = require "koine.protocol.acp.serve",
}
