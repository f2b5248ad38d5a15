--- An executor: the boundary behind which tools touch the machine.
--
--   local ex = assert(koine.executor { workdir = "repo" })
--   local text, info = ex.run("read_file", { path = "README.md" })
--   local agent = koine.agent { adapter = claude, tools = ex:tools { "bash", "read_file", "edit_file" } }
--
-- File tools cannot leave the working directory, whatever path or link a model makes up. bash can do all that the user
-- can: who does not trust what it runs puts the whole program into a container.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local records = require "koine.data.records"
local schema = require "koine.data.schema"
local tool = require "koine.agent.tool"

local bash = require "koine.system.executor.bash"
local editor = require "koine.system.executor.editor"
local files = require "koine.system.executor.files"
local glob = require "koine.system.executor.glob"
local policies = require "koine.system.executor.policies"
local remote = require "koine.system.executor.remote"
local search = require "koine.system.executor.search"
local text = require "koine.system.executor.text"

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
local ENV = { "PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL" }
local OPTIONS = { workdir = true, timeout = true, output_max = true, env = true, set_env = true, policy = true,
  allowed_tools = true, protect = true }
local LONGEST = { command = bash.COMMAND_MAX, path = files.PATH_MAX, pattern = glob.PATTERN_MAX,
  glob = glob.PATTERN_MAX } -- bytes
local CREDENTIALS = { "KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL" }

local function given(value, default)
  if value == nil then return default end
  return value
end

local function check_array(field, value, expected)
  if not records.is_list(value) then errors.argument(field, "array of " .. expected, value) end
end

local function check_tool(field, name)
  if type(name) ~= "string" or not known[name] then
    errors.argument(field, "one of " .. table.concat(executor.names, ", "), name)
  end
end

local function check_variable(field, name)
  if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
    errors.argument(field, "name of an environment variable", name)
  end
end

-- A variable whose name says that it holds a credential is not copied by mistake.
local function check_copied(field, name)
  check_variable(field, name)
  for _, word in ipairs(CREDENTIALS) do
    if name:upper():find(word, 1, true) then
      errors.argument(field, "no credential (set_env gives one to commands on purpose)", name)
    end
  end
end

-- The environment of commands: {NAME = value}.
local function environment(names, set)
  local env = {}
  check_array("env", names, "names")
  for i, name in ipairs(names) do
    check_copied(("env[%d]"):format(i), name)
    env[name] = os.getenv(name)
  end
  if type(set) ~= "table" then check.refuse("set_env", "table", set) end
  for name, value in next, set do
    check_variable("set_env", name)
    if type(value) ~= "string" or value:find("\0", 1, true) then
      check.refuse("set_env." .. name, "string without NUL", value)
    end
    env[name] = value
  end
  return env
end

local function hooks_of(policy)
  if policy == nil then return { policies.cautious } end
  if type(policy) == "function" then return { policy } end
  if not records.is_list(policy) then errors.argument("policy", "function or array of functions", policy) end
  for i, hook in ipairs(policy) do
    if type(hook) ~= "function" then errors.argument(("policy[%d]"):format(i), "function", hook) end
  end
  return table.move(policy, 1, #policy, 1, {})
end

-- The names that may be used, in order, and as keys.
local function allowed_of(names)
  if names == nil then names = executor.names end
  check_array("allowed_tools", names, "names")
  local list, set = {}, {}
  for i, name in ipairs(names) do
    check_tool(("allowed_tools[%d]"):format(i), name)
    list[i], set[name] = name, true
  end
  return list, set
end

local function seconds_of(value)
  if type(value) == "number" and value > 0 and value < math.huge then return value end
  errors.argument("timeout", "seconds, more than 0", value)
end

local function bytes_of(value)
  local whole = math.type(value) and math.tointeger(value)
  if whole and whole > 0 then return whole end
  errors.argument("output_max", "integer, more than 0", value)
end

local function protect_of(value)
  if value == nil or type(value) == "boolean" then return value ~= false end
  errors.argument("protect", "boolean", value)
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

-- What a call is denied with.
local function denial(reason)
  return "Permission denied: " .. reason, { is_error = true, blocked = true, reason = reason }
end

-- Why the policy does not let the call pass, or nil.
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

-- What is wrong with arguments that are too long for what they are meant for, before anybody looks at them; nil when
-- they are not.
local function too_long(input)
  for field, max in next, LONGEST do
    if type(input[field]) == "string" and #input[field] > max then
      local advice = field == "command" and bash.ADVICE or ""
      return ("%s: at most %d bytes expected, got %d%s"):format(field, max, #input[field], advice)
    end
  end
end

local function call(machine, name, input, ctx)
  if type(name) ~= "string" then errors.argument("name", "string", name) end
  if input ~= nil and type(input) ~= "table" then errors.argument("input", "table", input) end
  if ctx ~= nil and type(ctx) ~= "table" then errors.argument("ctx", "table", ctx) end
  local one = known[name]
  if not one then return finish(machine, false, "Unknown tool: " .. name, { is_error = true }) end
  if not machine.allowed[name] then return denial "tool not allowed" end
  input = without_nulls(input or {})
  local fits, why = schema.validate(one.parameters, input, "input")
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

-- What an executor works with: {tree, workdir, workdir_given, allowed, hooks, timeout, output_max, env, protect,
-- denied}; of a remote one {allowed}. Not in the object, which somebody may print.
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
  check_array("names", names, "names")
  local made = {}
  for i, name in ipairs(names) do
    check_tool(("names[%d]"):format(i), name)
    if not machines[self].allowed[name] then errors.argument(("names[%d]"):format(i), "tool that is allowed", name) end
    made[i] = tool { name = name, description = known[name].description, parameters = known[name].parameters,
      run = function(input, ctx) return self.run(name, input, ctx) end }
  end
  return made
end

--- Gives the working directory's descriptor back; any number of times. Calls then raise an ArgumentError. A remote
-- executor holds nothing.
function methods:close()
  local tree = machines[self].tree
  if tree then tree:close() end
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
--   protect        false: commands may read this process's environment and memory; else it is closed to them from now
--                  on, as far as the system lets it: docs/security.md
-- Fields: run, names (what is allowed), workdir (absolute, without links). Raises an ArgumentError naming a bad option.
local function new(_, opts)
  if type(opts) ~= "table" then check.refuse("options", "table", opts) end
  for name in next, opts do
    if not OPTIONS[name] then check.unknown("option", name, OPTIONS) end
  end
  local workdir = opts.workdir
  if type(workdir) ~= "string" or workdir:find("\0", 1, true) then
    errors.argument("workdir", "string without NUL", workdir)
  end
  local names, allowed = allowed_of(opts.allowed_tools)
  local machine = { allowed = allowed, hooks = hooks_of(opts.policy),
    timeout = seconds_of(given(opts.timeout, TIMEOUT)), output_max = bytes_of(given(opts.output_max, OUTPUT_MAX)),
    env = environment(given(opts.env, ENV), given(opts.set_env, {})), protect = protect_of(opts.protect) }
  local tree, err = core.tree(workdir)
  if not tree then return nil, err end
  machine.tree, machine.workdir = tree, tree:path()
  if machine.protect then core.protect() end
  machine.workdir_given = workdir:sub(1, 1) == "/" and workdir or nil
  machine.denied = function(name, input, ctx) return denied(machine, name, input, ctx) end

  --- run(name, input, ctx): runs a tool: the text for the model and a table {is_error, blocked, reason} or nil; or nil,
  -- err for trouble of the executor itself (kind "executor") and for a wait that was cancelled. `input` is the call's
  -- decoded arguments, `ctx` a table that policies see, nil for none.
  local function run(name, input, ctx) return call(machine, name, input, ctx) end

  return object(machine, run, names)
end

--- An executor on another machine, reached over HTTP (remote.lua). Options:
--   url      of the service, as in "http://box:8090"; else the environment's KOINE_EXECUTOR_URL
--   token    the service's; else the environment's KOINE_EXECUTOR_TOKEN. No error shows it
--   timeout  seconds that a call may take, 310
-- It has run, names (all: what is allowed the service decides), tools and close like any executor, and no workdir. A
-- service that cannot be reached, refuses the token, takes too long or answers what nobody understands is nil, err of
-- kind "executor". Raises an ArgumentError naming a bad option.
function executor.remote(opts)
  local run = remote.run(opts)
  local names, allowed = allowed_of(nil)
  return object({ allowed = allowed }, run, names)
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

--- The names of the tools that fit a role: those that change nothing for "orchestrator", all for "implementor".
-- Raises an ArgumentError for any other word.
function executor.role_tools(role)
  if role ~= "orchestrator" and role ~= "implementor" then
    errors.argument("role", '"orchestrator" or "implementor"', role)
  end
  local names = {}
  for _, name in ipairs(executor.names) do
    local fits = role == "implementor" or not known[name].mutates
    if fits and not SECOND_NAMES[name] then names[#names + 1] = name end
  end
  return names
end

return setmetatable(executor, { __call = new })
