--- The Agent Client Protocol (https://agentclientprotocol.com), version 1: editors and the agents that they start, over
-- JSON-RPC on standard input and output. Koine is either side.
--
--   local agent <close> = assert(koine.acp.connect { command = "gemini", args = { "--acp" } })   -- client/init.lua
--   koine.acp.serve { agent = agent }     -- a program that editors start: serve/init.lua

return {
  connect = require("koine.protocol.acp.client").connect,
  serve = require "koine.protocol.acp.serve",
}
