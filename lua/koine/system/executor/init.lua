--- An executor: the boundary behind which tools touch the machine.
--
--   local ex = assert(koine.executor { workdir = "repo" })
--   local text, info = ex.run("read_file", { path = "README.md" })
--   local agent = koine.agent { adapter = claude, tools = ex:tools { "bash", "read_file", "edit_file" } }
--
-- File tools cannot leave the working directory, whatever path or link a model makes up. bash can do all that the user
-- can: put the whole program into a container unless you trust the commands that it runs.

local core = require "koine.core"
local check = require "koine.data.check"
local environment = require "koine.system.environment"
local errors = require "koine.data.errors"
local judge = require "koine.data.schema.judge"
local tool = require "koine.agent.tool"

local access = require "koine.system.executor.access"
local bash = require "koine.system.executor.bash"
local editor = require "koine.system.executor.editor"
local files = require "koine.system.executor.files"
local glob = require "koine.system.executor.glob"
local policies = require "koine.system.executor.policies"
local remote = require "koine.system.executor.remote"
local search = require "koine.system.executor.search"
local shown = require "koine.system.executor.shown"
local text = require "koine.system.executor.text"
local through = require "koine.system.executor.through"

local executor = { policies = policies }

-- The tools by name: the same tool may have two.
local known = {}

--- Array of the names of all tools.
executor.names = {}

for _, group in ipairs { { bash.tool }, files.tools, search, editor } do
  for _, one in ipairs(group) do
    known[one.name] = one
    executor.names[#executor.names + 1] = one.name
  end
end

local SECOND_NAMES = { str_replace_based_edit_tool = true } -- not offered unless asked for

-- Options -----------------------------------------------------------------------------------------------------------

local TIMEOUT = 300          -- seconds
local OUTPUT_MAX = 64 << 10  -- bytes
local LONGEST = { command = bash.COMMAND_MAX, path = files.PATH_MAX, pattern = glob.PATTERN_MAX,
  glob = glob.PATTERN_MAX } -- bytes
local CREDENTIALS = { "KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL" }

local TOOL = check.one_of(executor.names)
local TOOLS = check.list(TOOL, "array of names")

local VARIABLE = check.that("name of an environment variable", function(value)
  if type(value) == "string" and value:find "^[%a_][%w_]*$" then return value end
end)
local VALUES = check.secret(check.map(check.secret(check.text), "table of strings by name"))

-- Refuses variables whose names say that they hold a credential, so that none is copied by mistake.
local function COPIED(name, path)
  local upper = VARIABLE(name, path):upper()
  for _, word in ipairs(CREDENTIALS) do
    if upper:find(word, 1, true) then
      errors.argument(path, "no credential (set_env gives one to commands on purpose)", name)
    end
  end
  return name
end

local function SET_ENV(set, path)
  local kept = VALUES(set, path)
  for _, name in ipairs(check.names(kept)) do VARIABLE(name, path) end
  return kept
end

local ROLE = check.one_of { "orchestrator", "implementor" }

local HOOKS = check.list(check.func, "function or array of functions")
local function POLICY(value, path) return type(value) == "function" and { value } or HOOKS(value, path) end

local THROUGH = check.record { read = check.func, write = check.func, run = check.func }

local OPTIONS = check.options {
  workdir = check.required(check.text), timeout = check.default(check.time_limit, TIMEOUT),
  output_max = check.default(check.integer(1), OUTPUT_MAX), protect = check.default(check.boolean, true),
  env = check.default(check.list(COPIED, "array of names"), environment.names), set_env = check.default(SET_ENV, {}),
  policy = check.default(POLICY, { policies.cautious }), allowed_tools = check.default(TOOLS, executor.names),
  through = check.default(THROUGH, {}),
}

-- The names as keys.
local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

-- Calls -------------------------------------------------------------------------------------------------------------

-- A model's arguments without nulls, which stand for what was left out.
local function without_nulls(input)
  local copy = {}
  for name, value in next, input do
    if value ~= core.null then copy[name] = value end
  end
  return copy
end

-- The result of a denied call: text, info.
local function denial(reason)
  return "Permission denied: " .. reason, { is_error = true, blocked = true, reason = reason }
end

-- The reason for which the policy denies the call, or nil.
local function denied(machine, name, input, ctx)
  local seen = setmetatable({ workdir = machine.workdir, workdir_given = machine.workdir_given }, { __index = ctx })
  for _, hook in ipairs(machine.hooks) do
    local reason = hook(name, input, seen)
    if reason then return type(reason) == "string" and reason or "refused" end
  end
end

-- A result as a model may be told it: legal, and no longer than the cap, to which `capped` tools keep by themselves.
local function finish(machine, capped, said, info)
  if not said then return nil, info end
  said = text.repair(said)
  return capped and said or text.capped(said, machine.output_max), info
end

-- Names an argument that is too long for its use, before any other check; nil when none is.
local function too_long(input)
  for field, max in next, LONGEST do
    if type(input[field]) == "string" and #input[field] > max then
      local advice = field == "command" and bash.ADVICE or ""
      return ("%s: at most %d bytes expected, got %d%s"):format(field, max, #input[field], advice)
    end
  end
end

local function call(machine, name, input, ctx)
  check.string(name, "name")
  if input ~= nil then check.table(input, "input") end
  if ctx ~= nil then check.table(ctx, "ctx") end
  local one = known[name]
  if not one then return finish(machine, false, "Unknown tool: " .. name, { is_error = true }) end
  if not machine.allowed[name] then return denial "tool not allowed" end
  input = without_nulls(input or {})
  local fits, why = judge.validate(one.parameters, one.parameters, input, "input")
  if not fits then return finish(machine, false, text.mistake(why)) end
  local long = too_long(input)
  if long then return text.mistake(long) end
  local reason = denied(machine, name, input, ctx)
  if reason then return denial(reason) end
  return finish(machine, one.capped, one.run(machine, input, ctx))
end

-- Objects -----------------------------------------------------------------------------------------------------------

local methods = {}
local metatable = { __index = methods, __name = "koine.executor" }

-- The state of an executor: {files, command, workdir, workdir_given, allowed, hooks, timeout, output_max, env, set_env,
-- protect, denied};
-- of a remote one {allowed}. Not in the object, which a program may print.
local machines = setmetatable({}, { __mode = "k" })

--- The tools of these names (array; nil: all that are allowed) as an array of koine.tool, for an agent. Raises an
-- ArgumentError for a name that is unknown or not allowed.
function methods:tools(names)
  if names == nil then
    names = {}
    for _, name in ipairs(self.names) do
      if not SECOND_NAMES[name] then names[#names + 1] = name end
    end
  end
  local made = {}
  for i, name in ipairs(TOOLS(names, "names")) do
    if not machines[self].allowed[name] then errors.argument(("names[%d]"):format(i), "tool that is allowed", name) end
    local given = shown.fields(name, machines[self])
    given.name, given.description, given.parameters = name, known[name].description, known[name].parameters
    given.run = function(input, ctx) return self.run(name, input, ctx) end
    made[i] = tool(given)
  end
  return made
end

local LINE, COMMAND = check.integer(1), check.list(check.text, "array of strings")
local COMMAND_OPTIONS = check.options { cwd = check.path, env = VALUES }

--- The text of a file, as it is: from line opts.line (from 1) on, at most opts.limit lines (nil: all); or nil, err of
-- kind "executor" (code "denied" where the executor may not). For programs that work for somebody else; models have
-- read_file. Raises an ArgumentError.
function methods:read_text(path, opts)
  opts = opts or {}
  return access.read(machines[self], check.path(path, "path"), opts.line and LINE(opts.line, "opts.line"),
    opts.limit and LINE(opts.limit, "opts.limit"))
end

--- Replaces a file by a text, or makes it: true, or nil, err as read_text. Raises an ArgumentError.
function methods:write_text(path, content)
  return access.write(machines[self], check.path(path, "path"), check.string(content, "content"))
end

--- Starts a command, whose errors are in its output: a live program (see koine.process.open), or nil, err as read_text.
-- `argv` is an array: a program and its arguments, or one line for the shell. opts.cwd is a directory below the working
-- directory, opts.env {NAME = value} further variables. Raises an ArgumentError.
function methods:open(argv, opts)
  return access.open(machines[self], COMMAND(argv, "argv"), COMMAND_OPTIONS(opts or {}))
end

--- Gives the working directory's descriptor back; any number of times. Calls then raise an ArgumentError. A remote
-- executor holds nothing.
function methods:close()
  local opened = machines[self].files
  if opened then opened:close() end
end

metatable.__close = methods.close

-- The object of a machine whose tools `run` calls.
local function object(machine, run, names)
  local made = setmetatable({ run = run, names = names, workdir = machine.workdir }, metatable)
  machines[made] = machine
  return made
end

--- koine.executor(opts): an executor, or nil, err when the working directory cannot be opened. Options:
--   workdir        path of the working directory (string, required)
--   timeout        seconds that a command may take, 300
--   output_max     bytes of each of a command's two streams that are kept, and of a result, 65536
--   env            array of names of environment variables that commands inherit: PATH, HOME, LANG, LC_ALL, TERM,
--                  TMPDIR, TZ, USER, LOGNAME, SHELL. A name with KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL in it is
--                  refused
--   set_env        {NAME = value} that commands have besides: strings
--   policy         function(name, input, ctx) → nil, or the reason why not; or an array of such; `{}` for none.
--                  Default: koine.executor.policies.cautious
--   allowed_tools  array of names; nil = all
--   through        who reads and writes files and runs commands in its place, after all checks; each may be missing:
--                  {read = function(path) → bytes or nil, err; write = function(path, bytes) → true or nil, err;
--                  run = function(argv, opts, ctx) → what koine.process.run returns}. Paths are absolute
--   protect        false: commands may read this process's environment and memory; else it is closed to them from now
--                  on, as far as the system lets it: docs/security.md
-- Fields: run, names (what is allowed), workdir (absolute, without links). Raises an ArgumentError naming a bad option.
local function new(_, opts)
  local kept = OPTIONS(opts)
  local workdir = kept.workdir
  local machine = { allowed = set_of(kept.allowed_tools), hooks = kept.policy, timeout = kept.timeout,
    output_max = kept.output_max, env = environment.of(kept.env, kept.set_env), set_env = kept.set_env,
    protect = kept.protect }
  local opened, err = core.workdir(workdir)
  if not opened then return nil, err end
  machine.files, machine.workdir = through.files(opened, kept.through), opened:path()
  machine.command = kept.through.run
  if machine.protect then core.protect() end
  machine.workdir_given = workdir:sub(1, 1) == "/" and workdir or nil
  machine.denied = function(name, input, ctx) return denied(machine, name, input, ctx) end

  --- run(name, input, ctx): runs a tool: the text for the model and a table {is_error, blocked, reason} or nil; or nil,
  -- err for trouble of the executor itself (kind "executor") and for a wait that was cancelled. `input` is the call's
  -- decoded arguments, `ctx` a table that policies see, nil for none.
  local function run(name, input, ctx) return call(machine, name, input, ctx) end

  return object(machine, run, kept.allowed_tools)
end

--- An executor on another machine, reached over HTTP (remote.lua). Options:
--   url      of the service, as in "http://box:8090"; else the environment's KOINE_EXECUTOR_URL
--   token    the service's; else the environment's KOINE_EXECUTOR_TOKEN. No error shows it
--   timeout  seconds that a call may take, 310
-- It has run, names (all: what is allowed the service decides), tools and close like any executor, and no workdir. A
-- service that cannot be reached, refuses the token, takes too long or sends an answer that cannot be read is nil, err
-- of kind "executor". Raises an ArgumentError naming a bad option.
function executor.remote(opts)
  local run = remote.run(opts)
  return object({ allowed = set_of(executor.names) }, run, TOOLS(executor.names, "names"))
end

--- Serves an executor to koine.executor.remote over HTTP (service.lua), until the process gets SIGTERM or
-- SIGINT: true; nil, err when it cannot listen. Blocks; for a program of its own. Needs luv. Writes "listening at
-- ADDRESS:PORT" to the standard output. Options:
--   executor  what runs the tools: a koine.executor, or a table with a function run
--   token     what callers have to know; else the environment's KOINE_EXECUTOR_TOKEN. Without one every call is refused
--   port      0 for any that is free
--   address   of this machine, "127.0.0.1"
-- Raises an ArgumentError naming a bad option.
function executor.serve(opts) return require("koine.system.executor.service").serve(opts) end

--- Whether a call of the tool of that name, with these arguments, may change anything.
function executor.changes(name, input)
  local one = known[name]
  return one ~= nil and one.mutates == true and input.command ~= "view"
end

--- The names of the tools that fit a role: those that change nothing for "orchestrator", all for "implementor".
-- Raises an ArgumentError for any other word.
function executor.role_tools(role)
  ROLE(role, "role")
  local names = {}
  for _, name in ipairs(executor.names) do
    local fits = role == "implementor" or not known[name].mutates
    if fits and not SECOND_NAMES[name] then names[#names + 1] = name end
  end
  return names
end

return setmetatable(executor, { __call = new })
