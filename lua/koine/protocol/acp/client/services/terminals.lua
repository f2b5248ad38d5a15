--- Terminals of the client: commands that the agent has run through the executor, and whose output it reads.
-- A terminal lives until the agent releases it, its session ends, or the link does. It keeps the end of its output, of
-- as many bytes as the agent asked for, and never more than a mebibyte.

local core = require "koine.core"
local errors = require "koine.data.errors"
local read = require "koine.protocol.acp.client.read"
local text = require "koine.system.executor.text"
local wait = require "koine.task.wait"

local terminals = {}

local INVALID, INTERNAL, NOT_FOUND = -32602, -32603, -32002
local OUTPUT_MAX = 1 << 20 -- bytes
local TERMINALS_MAX = 100  -- of a link
local SLACK = 64 << 10     -- bytes that are kept beyond a limit, so that not every line copies all
local PARTS_MAX = 10000    -- texts that these are in; an empty line costs sixteen bytes

local LEFT_OUT = "[output was left out]\n"

-- Signals by number, as answers name them.
local SIGNALS = { [1] = "SIGHUP", [2] = "SIGINT", [3] = "SIGQUIT", [6] = "SIGABRT", [9] = "SIGKILL", [11] = "SIGSEGV",
  [13] = "SIGPIPE", [15] = "SIGTERM" }

-- The end of a text, of at most `max` bytes, which begins with a character.
local function tail(whole, max)
  if #whole <= max then return whole end
  local from = #whole - max + 1
  while from <= #whole and whole:byte(from) & 0xC0 == 0x80 do from = from + 1 end
  return whole:sub(from)
end

-- Adds a line to what is kept.
local function add(terminal, line)
  local parts = terminal.parts
  parts[#parts + 1] = line .. "\n"
  terminal.size = terminal.size + #parts[#parts]
  if terminal.size <= terminal.max + SLACK and #parts < PARTS_MAX then return end
  local kept = tail(table.concat(parts), terminal.max)
  terminal.truncated = terminal.truncated or #kept < terminal.size
  terminal.parts, terminal.size = { kept }, #kept
end

-- Reads all that the program says: the body of a task. Output that is lost, as that of a line beyond the limits, which
-- ends the program, is said in its place.
local function follow(terminal)
  local program = terminal.program
  local ok, line, err
  repeat
    ok, line, err = pcall(program.line, program)
    if not ok then line, err = nil, line end
    if line then add(terminal, text.repair(line)) end
  until not line
  if err then
    add(terminal, ("[%s]"):format(errors.words(err)))
    terminal.truncated = true
  end
  local result = program:result()
  terminal.status = { exitCode = result and result.code or core.null,
    signal = result and result.signal and (SIGNALS[result.signal] or "SIG" .. result.signal) or core.null }
  wait.wake(terminal)
end

local function environment(list)
  local env = {}
  for _, one in ipairs(read.list(list)) do
    local name, value = read.text(read.at(one, "name")), read.text(read.at(one, "value"))
    if name and value and name:find "^[^=%z]+$" and not value:find("\0", 1, true) then env[name] = value end
  end
  return env
end

-- The argument vector of a request, or nil.
local function argv_of(params)
  local argv = { read.text(params.command) }
  for _, argument in ipairs(read.list(params.args)) do argv[#argv + 1] = read.text(argument) or "" end
  for _, word in ipairs(argv) do
    if word:find("\0", 1, true) then return nil end
  end
  return argv[1] and argv[1] ~= "" and core.array(argv) or nil
end

local function limit(params)
  local given = math.type(params.outputByteLimit) and math.tointeger(params.outputByteLimit)
  return given and math.max(0, math.min(given, OUTPUT_MAX)) or OUTPUT_MAX
end

local function create(link, params)
  local argv = argv_of(params)
  if not argv then return nil, { code = INVALID, message = "command: name of a program expected" } end
  if link.terminal_count >= TERMINALS_MAX then
    return nil, { code = INTERNAL, message = ("at most %d terminals at once"):format(TERMINALS_MAX) }
  end
  link.terminal_count = link.terminal_count + 1
  local program, err = link.options.executor:open(argv, { cwd = read.text(params.cwd), env = environment(params.env) })
  if not program then
    link.terminal_count = link.terminal_count - 1
    return nil, { code = INTERNAL, message = errors.words(err) }
  end
  wait.disown(program)
  link.terminal_last, link.programs[program] = link.terminal_last + 1, true
  local terminal = { id = "term_" .. link.terminal_last, session = params.sessionId, program = program, parts = {},
    size = 0, max = limit(params), truncated = false, status = false }
  link.terminals[terminal.id] = terminal
  link.peer:spawn(follow, terminal)
  return { terminalId = terminal.id }
end

-- What is kept of a terminal's output.
local function output(terminal)
  local whole = table.concat(terminal.parts)
  local kept = tail(whole, terminal.max)
  return kept, terminal.truncated or #kept < #whole
end

local handlers = {}

function handlers.output(_, terminal)
  local kept, truncated = output(terminal)
  return { output = kept, truncated = truncated, exitStatus = terminal.status or nil }
end

function handlers.wait_for_exit(_, terminal)
  while not terminal.status do
    local _, err = wait.park(terminal)
    if err then return nil, { code = INTERNAL, message = errors.words(err) } end
  end
  return terminal.status
end

function handlers.kill(_, terminal)
  terminal.program:stop()
  return {}
end

-- Ends a terminal; a task of its own waits for the end, until which it counts.
local function release(link, terminal)
  if not link.terminals[terminal.id] then return end
  link.terminals[terminal.id] = nil
  terminal.program:stop()
  if not link.peer:is_open() then return end
  link.peer:spawn(function()
    terminal.program:close()
    link.programs[terminal.program] = nil
    link.terminal_count = link.terminal_count - 1
  end)
end

function handlers.release(link, terminal)
  release(link, terminal)
  return {}
end

--- The handlers of a link, by the part of a method behind "terminal/".
function terminals.handlers(link)
  link.terminals, link.programs, link.terminal_count, link.terminal_last = {}, {}, 0, 0
  local made = { create = function(params) return create(link, read.object(params) or {}) end }
  for name, handler in next, handlers do
    made[name] = function(params)
      local terminal = link.terminals[read.at(params, "terminalId")]
      if not terminal or terminal.session ~= params.sessionId then
        return nil, { code = NOT_FOUND, message = "unknown terminal" }
      end
      return handler(link, terminal)
    end
  end
  return made
end

--- The output of a terminal by its id, for a tool call that shows it, which says where its beginning is missing; nil
-- for none.
function terminals.text(link, id)
  local terminal = link.terminals and link.terminals[id]
  if not terminal then return nil end
  local kept, truncated = output(terminal)
  return truncated and LEFT_OUT .. kept or kept
end

--- Ends the terminals of a session (its id; nil: of every one).
function terminals.leave(link, id)
  local leaving = {}
  for _, terminal in next, link.terminals or {} do
    if id == nil or terminal.session == id then leaving[#leaving + 1] = terminal end
  end
  for _, terminal in ipairs(leaving) do release(link, terminal) end
  if id ~= nil then return end
  local program = next(link.programs or {})
  while program do -- also those that are on their way
    link.programs[program] = nil
    program:close()
    program = next(link.programs)
  end
end

return terminals
