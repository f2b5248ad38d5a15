--- The agent's side of ACP: an agent of koine.agent as a program that an editor starts and talks to on standard input
-- and output.
--
--   koine.acp.serve { agent = koine.agent { adapter = claude }, executor = "client", sessions = store }
--
-- A server is {options, peer, sessions (by id), saved (the store of sessions, or nil), client (what the editor said of
-- itself, false before it did), capabilities (the editor's)}.

local methods = require "koine.protocol.acp.serve.methods"
local options = require "koine.protocol.acp.serve.options"
local rpc = require "koine.protocol.rpc"
local saved = require "koine.protocol.acp.serve.saved"
local scheduler = require "koine.task.scheduler"
local standard = require "koine.system.standard"
local wait = require "koine.task.wait"

local SETTLE = 5 -- seconds at the end for cancelled turns to be answered
local FLUSH = 2  -- and for what was answered to be read

-- Ends all turns, then all sessions; the first makes answers, which are written while somebody reads them.
local function finish(server)
  for _, session in next, server.sessions do session:cancel() end
  server.peer:settle(SETTLE)
  local id, session = next(server.sessions)
  while id do
    session:close()
    id, session = next(server.sessions)
  end
end

-- Serves until the editor ends, or reads no more: true, or nil, err. Of an editor that is gone both pipes are closed,
-- and it counts as one that ended.
local function serve(peer)
  local ended, err = peer:serve(function() return peer:write_error() ~= nil end)
  local broken = ended and peer:write_error()
  if broken and peer:poll() then return nil, broken end
  return ended, err
end

local function run(given)
  local wire, failure = given.wire, nil
  if not wire then wire, failure = standard.open() end
  if not wire then return nil, failure end
  local close_wire <close> = not given.wire and wire or nil -- luacheck: ignore close_wire
  local server = { options = given, sessions = {}, client = false, capabilities = {},
    saved = given.sessions and saved.new(given.sessions, given.name) }
  local peer <close> = rpc.new(wire, methods.handlers(server))
  server.peer = peer
  local ended, err = serve(peer)
  finish(server)
  if wire.flush then wire:flush(FLUSH) end
  return ended, err
end

--- koine.acp.serve(opts): serves until the editor closes standard input: true; nil, err where that, or standard
-- output, is closed at the start or breaks. Then every turn is cancelled, and what its tools started is ended.
-- Meanwhile `print` and io.write go to standard error. Runs in plain Lua, in koine.run and in a host. Options:
-- see protocol/acp/serve/options.lua and docs/acp-agent.md. Raises an ArgumentError.
return function(opts)
  local given = options(opts)
  if wait.alone() then return scheduler.run(run, given) end
  return run(given)
end
