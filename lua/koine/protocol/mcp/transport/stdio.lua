--- A server that is a program of ours: one JSON-RPC message a line, on its standard input and output. The transport
-- owns the program and the peer on it; both outlive the task that opened them, and end by close, or by the collector
-- where the transport is forgotten.
--
-- Every transport has these methods: request, notify, set_version, is_alive, close, tail. Errors are those of
-- protocol/rpc, with kind, code and data.

local check = require "koine.data.check"
local environment = require "koine.system.environment"
local process = require "koine.system.process"
local programs = require "koine.system.transport"
local rpc = require "koine.protocol.rpc"
local text = require "koine.data.text"
local unhurried = require "koine.protocol.mcp.transport.unhurried"
local wait = require "koine.task.wait"

local transport = {}

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.stdio", __close = function(self) self:close() end }

local OPTIONS = check.options { command = check.required(check.text), args = check.list(check.text),
  env = check.map(check.text), cwd = check.text, grace = check.seconds, protect = check.boolean,
  line_max = check.integer(1), transport = programs.option }

--- What the progress messages of MCP name: the id of the call, which its progressToken says.
local function progress(method, params)
  if method == "notifications/progress" and type(params) == "table" then return params.progressToken end
end

-- Requests whose answer settles the era: the server may not be asked to forget them.
local UNCANCELLED = { initialize = true, ["server/discover"] = true }

local function cancel(id, method)
  if UNCANCELLED[method] then return nil end
  return "notifications/cancelled", { requestId = id, reason = "the client no longer waits" }
end

--- Asks, and waits for the answer: what rpc's request returns. `params` as that takes them, a function(id) among them;
-- of `opts` timeout and idle (seconds, or nil) and on_progress(params) are heeded.
function methods:request(method, params, opts)
  return self.peer:request(method, params, { timeout = opts.timeout, idle = opts.idle, on_progress = opts.on_progress })
end

--- Tells, and waits until that is written, for at most `seconds`: true, or nil, err.
function methods:notify(method, params, seconds)
  return self.peer:notify(method, params, { timeout = seconds })
end

--- Ends the work on a request of the server's, by its id. Does not wait; returns nothing.
function methods:abort(id) self.peer:abort(id) end

--- Hears and answers the server until the connection ends: true, or nil, err.
function methods:serve() return self.peer:serve() end

--- Which era was agreed on; nothing here depends on it.
function methods:set_version(era, version) self.era, self.version = era, version end

--- Whether the program can be asked, as far as it is known by now. Does not wait.
function methods:is_alive() return not self.closed and self.peer:poll() end

--- The last line of standard error that is no part of a stack trace, or nil.
function methods:tail() return self.last end

--- How the program ended, in words ("exit code 1"); nil where that is not known.
function methods:ending()
  local result = self.closed and self.program.ended and self.program.ended.result
  if not result then return nil end
  return result.code and "exit code " .. result.code or "signal " .. result.signal
end

--- Ends the program, and waits until it is gone, as a program's close does. `has_ended` true: it ended by itself, which
-- is what calls that are pending fail with; else they are cancelled. Returns nothing; any number of times.
function methods:close(has_ended)
  self.closed = true
  if has_ended then self.peer:fail("connect", "the other side ended the connection", "closed") end
  self.peer:close()
  self.program:close()
end

-- A line of standard error.
local function tell(self, on_log, line)
  line = text.redact(line, self.secrets)
  if text.is_word(line) then self.last = line end
  if on_log then on_log(line) end
end

--- Starts the program: a transport, or nil, err as koine.process.open has it. Options: command, args (array), env
-- ({NAME = value}, over the few variables that programs for others inherit), cwd, grace, protect, line_max as
-- koine.process.open has them; transport, which may stand in the program's place (koine.system.transport). `handlers`:
--   requests, notifications   as rpc takes them; while a request but ping is handled, our calls do not count as idle
--   on_log(line)              called with each line of standard error
--   secrets                   array of strings that no error and no line shows
-- Raises an ArgumentError.
function transport.open(options, handlers)
  local kept = OPTIONS(options)
  local self = setmetatable({ kind = "stdio", closed = false, last = nil, secrets = handlers.secrets or {} }, metatable)
  local on_log = handlers.on_log
  local argv = { kept.command, table.unpack(kept.args or {}) }
  local call = { argv = argv, secrets = self.secrets, on_stderr = function(line) tell(self, on_log, line) end }
  local program, err = programs.open(kept.transport, call, function(on_stderr)
    local started, problem = process.open(argv, { cwd = kept.cwd, grace = kept.grace, protect = kept.protect,
      env = environment.of(environment.names, kept.env or {}), line_max = kept.line_max, on_stderr = on_stderr })
    if started then wait.disown(started) end
    return started, problem
  end)
  if not program then return nil, err end
  self.program = program
  self.peer = rpc.new(program, { requests = unhurried(self, handlers.requests), notifications = handlers.notifications,
    progress = progress, cancel = cancel, batches = true, secrets = self.secrets })
  return self
end

return transport
