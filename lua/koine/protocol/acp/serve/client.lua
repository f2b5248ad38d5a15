--- Files and commands through the editor, as far as it declared that: what koine.executor takes as `through`. So the
-- agent reads text that is not saved yet, and its commands run in terminals that the user sees.

local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"

local client = {}

local SECONDS = 60        -- for whatever needs no person and no program
local COULD_NOT_RUN = 126 -- the exit code that a shell has for that

local function request(session, method, params, seconds)
  params.sessionId = session.id
  return session.server.peer:request(method, params, { timeout = seconds or SECONDS })
end

-- The same where the answer has to be an object: a table, or nil, err.
local function ask(session, method, params, seconds)
  local answer, err = request(session, method, params, seconds)
  if err then return nil, err end
  if type(answer) == "table" and getmetatable(answer) ~= core.array_mt then return answer end
  return nil, errors.new { kind = "protocol", message = ("the editor's answer to %s is no object"):format(method) }
end

local function read(session, path)
  local answer, err = ask(session, "fs/read_text_file", { path = path })
  if not answer then return nil, err end
  if type(answer.content) == "string" then return answer.content end
  return nil, errors.new { kind = "protocol", message = "the editor gave no text" }
end

-- The answer is null or an object, by the version of the protocol.
local function write(session, path, bytes)
  local _, err = request(session, "fs/write_text_file", { path = path, content = bytes })
  if err then return nil, err end
  return true
end

-- Ends a terminal, and a command that still runs in it, without waiting.
local function release(session, id)
  local peer = session.server.peer
  if peer.shared.closed then return end
  peer.shared:spawn(function() request(session, "terminal/release", { terminalId = id }) end)
end

-- An integer of an answer, or nil.
local function integer(value) return type(value) == "number" and math.tointeger(value) or nil end

-- How a command in a terminal ended, and its output: as koine.process.run; or nil, err.
local function outcome(session, id, seconds)
  local ended, err = ask(session, "terminal/wait_for_exit", { terminalId = id }, seconds)
  local late = not ended and err.kind == "timeout"
  if not ended and not late then return nil, err end
  if late then request(session, "terminal/kill", { terminalId = id }) end
  local said
  said, err = ask(session, "terminal/output", { terminalId = id })
  if not said then return nil, err end
  ended = ended or {}
  local output = type(said.output) == "string" and said.output or ""
  if said.truncated == true then output = "[the beginning was left out]\n" .. output end
  local signal = type(ended.signal) == "string" and ended.signal or nil
  local code = integer(ended.exitCode)
  return { code = code or not signal and not late and 0 or nil, signal = signal, stdout = output, stderr = "",
    timed_out = late, dropped = { stdout = 0, stderr = 0 } }
end

local function environment(env)
  local list = core.array {}
  for name, value in next, env do list[#list + 1] = { name = name, value = value } end
  return list
end

-- As an error of a command, which the model is told; a turn that was cancelled ends.
local function failed(err)
  if err.kind == "cancelled" then return nil, err end
  return { code = COULD_NOT_RUN, stdout = "", stderr = "the editor could not run the command: " .. errors.words(err),
    timed_out = false, dropped = { stdout = 0, stderr = 0 } }
end

local function run(session, argv, opts, ctx)
  local answer, err = ask(session, "terminal/create", { command = argv[1],
    args = core.array { table.unpack(argv, 2) }, cwd = opts.cwd, env = environment(opts.env),
    outputByteLimit = opts.output_max })
  if not answer then return failed(err) end
  local id = answer.terminalId
  if type(id) ~= "string" then return failed(errors.new { kind = "protocol", message = "it named no terminal" }) end
  local gone <close> = defer(function() release(session, id) end) -- luacheck: ignore gone
  local turn = session.turn
  if turn and ctx and ctx.call then turn.calls:in_terminal(ctx.call.id, id) end
  local done
  done, err = outcome(session, id, opts.timeout)
  if done then return done end
  return failed(err)
end

--- The functions read, write and run of a session, those that the editor offers.
function client.through(session)
  local offered = session.server.capabilities
  local fs = type(offered.fs) == "table" and offered.fs or {}
  return { read = fs.readTextFile == true and function(path) return read(session, path) end or nil,
    write = fs.writeTextFile == true and function(path, bytes) return write(session, path, bytes) end or nil,
    run = offered.terminal == true and function(...) return run(session, ...) end or nil }
end

return client
