--- Programs: runs one from an argument vector, and ends all that it started before the call returns; or opens one, to
-- talk to it while it runs.
--
--   local r = assert(process.run({ "git", "status", "--porcelain" }, { cwd = dir, timeout = 10 }))
--   if r.code == 0 then print(r.stdout) end
--   local p <close> = assert(process.open { "bc" })
--   assert(p:write "6 * 7\n")
--   print(p:line())
--
-- No shell is involved. The program runs in a session of its own without a terminal, so that nothing can ask a person
-- for a password. When it ends, its time is over, it is closed or the caller is cancelled, everything it started is
-- ended too: SIGTERM, and after `grace` seconds SIGKILL. That holds also when this program dies meanwhile, by whatever
-- signal. On Linux this also ends processes in sessions of their own and those of double forks; elsewhere it ends the
-- program's process group. For what a program can still do against it see docs/process.md.

local core = require "koine.core"
local check = require "koine.data.check"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local program = require "koine.system.program"
local wait = require "koine.task.wait"

local process = {}

local GRACE = 2            -- seconds
local CANCEL_GRACE = 0.1   -- seconds that a cancelled call may hold up all other tasks
local OUTPUT_MAX = 1 << 20 -- bytes

local function check_argv(argv)
  if type(argv) ~= "table" then errors.argument("argv", "array of strings", argv) end
  local n = 0 -- # of a table with holes may be any of its borders
  for key in next, argv do n = n + (type(key) == "number" and 1 or 0) end
  if n == 0 then errors.argument("argv", "program's name", nil) end
  for i = 1, n do check.text(argv[i], ("argv[%d]"):format(i)) end
  return argv
end

local VALUES = check.secret(check.map(check.secret(check.text), "table of strings by name"))

-- {NAME = value} as a sorted array of "NAME=value".
local function ENV(env, path)
  local list, kept = {}, VALUES(env, path)
  for i, name in ipairs(check.names(kept)) do
    if name == "" or name:find "[=\0]" then check.refuse(path, "names without = and NUL", name) end
    list[i] = name .. "=" .. kept[name]
  end
  return list
end

local CWD = check.called(check.text, "path of a directory")

local OPTIONS = check.options { cwd = CWD, env = ENV,
  stdin = check.string, merge = check.boolean, timeout = check.default(check.seconds, 0),
  grace = check.default(check.seconds, GRACE),
  output_max = check.default(check.integer(0), OUTPUT_MAX), protect = check.default(check.boolean, true) }

local OPEN_OPTIONS = check.options { cwd = CWD, env = ENV, grace = check.default(check.seconds, GRACE),
  stderr_max = check.integer(1), on_stderr = check.func, line_max = check.integer(1), high_water = check.integer(1),
  protect = check.default(check.boolean, true) }

-- Builds the table that core.process takes.
local function spec_of(argv, opts)
  if opts == nil then opts = {} end
  local spec = OPTIONS(opts)
  spec.argv, spec.input, spec.stdin = check_argv(argv), spec.stdin, nil
  return spec
end

-- Ends what is still running and waits for that: the caller must not go on beside remains of a call that is over. This
-- blocks the thread, so what ignores SIGTERM is killed soon; at once where something is raised meanwhile.
local function finish(running)
  local latest = wait.now() + CANCEL_GRACE
  running:stop()
  while running:poll() == false and wait.now() < latest do wait.block(running, latest - wait.now()) end
end

--- Runs a program: {code | signal, stdout, stderr, timed_out, dropped = {stdout = n, stderr = n}} once it and all that
-- it started are gone. `code` is its exit code; where a signal ended it, `signal` is that signal's number instead.
-- `argv` is {name, arguments…}; a name without a slash is looked for in PATH. Options:
--   cwd         the directory it starts in; else this program's
--   env         {NAME = value}, its whole environment; else this program's
--   stdin       bytes it reads on its standard input, as a file; else nothing
--   timeout     seconds until it is ended, with timed_out = true; else, and 0: no limit
--   grace       seconds between SIGTERM and SIGKILL, default 2
--   output_max  bytes kept of stdout and of stderr, default 1 MiB; what comes after is counted in `dropped`
--   merge       true: stderr goes into stdout, in the order it was written
--   protect     false: the program may read this one's environment and memory, as any program of the same user may;
--               else this process is closed to it from now on, as far as the system lets it: docs/security.md
-- A result's `left`, where it is there, counts descendants that could not be killed: another user's; -1 means that
-- there are some that could not be found. nil, err when the program could not be started (code "absent": there is
-- none of that name; "too_large": arguments and environment are longer than the system takes), when its supervisor was
-- killed (what it had started may live on), and when a host cancelled the caller. Cancelling ends the program first;
-- what ignores SIGTERM is killed a tenth of a second later. Raises an ArgumentError naming the bad field. Yields under
-- koine.run and in a host, blocks elsewhere.
function process.run(argv, opts)
  local running <close>, err = core.process(spec_of(argv, opts))
  if not running then return nil, err end
  local ending <close> = defer(function() finish(running) end)
  while true do
    local result, failure = running:poll()
    if result ~= false then
      ending:cancel()
      return result, failure
    end
    local _, cancelled = wait.park(running)
    if cancelled then return nil, cancelled end
  end
end

--- Starts a program to talk to: a live program (see program.lua) once it runs. `argv` is as run has it. Options:
--   cwd, env, protect  as run has them
--   grace       seconds between the end of its input and SIGTERM, and between that and SIGKILL, default 2
--   stderr_max  bytes kept of the end of its standard error, default 64 KiB
--   on_stderr   a function that is called with each line of it, by the method that waits. A line that comes while no
--               method waits is told by the next one, if it is still among the last stderr_max bytes
--   line_max    bytes of a line of its output, default 32 MiB
--   high_water  bytes that write queues without waiting, default 256 KiB
-- nil, err when it could not be started, as run has it, and when a host cancelled the caller. A task that is cancelled
-- ends the programs that it opened; a program that is forgotten is ended by the collector. Raises an ArgumentError.
function process.open(argv, opts)
  local spec = OPEN_OPTIONS(opts == nil and {} or opts)
  spec.argv, spec.error_lines = check_argv(argv), spec.on_stderr ~= nil
  local running, err = core.program(spec)
  if not running then return nil, err end
  return program.begin(running, spec.on_stderr)
end

return process
