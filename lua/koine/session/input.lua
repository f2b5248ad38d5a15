--- The inputs of a session: every one is checked before any work.
--
--   workdir          path of the working directory (string); like all paths, a relative one begins at the directory of
--                    this process
--   role             "orchestrator" or "implementor"
--   model            model id (string)
--   allowed_tools    array of names: all that the model may call; empty: no tools
--   prompt           the task (string)
--   context_files    array of paths of files that belong to the task, put behind the prompt
-- are required. The others:
--   executor         what runs the tools: a koine.executor, or a table with a function run(name, input, ctx) → text,
--                    info | nil, err, or one with names (array) and a method tools(names) → array of tools that run
--                    themselves; by default koine.executor { workdir = workdir }
--   system           string or array of text blocks: the system prompt
--   options          table: options of every model call (max_tokens, thinking, timeout, …)
--   on_event         function(event), as soon as an event is complete
--   on_delta         function(delta): the live text of the model
--   max_rounds       integer: model calls, 50
--   max_tokens_total integer: tokens of all model calls together; nil = no limit
--   deadline_seconds number: no further round is begun after so many seconds; nil = no limit
--   require_git      boolean, true: the working directory has to belong to a git repository
--   relative_to      "root" or "workdir": what the paths of artifacts begin at; "root"
--   ignore_unknown_tools   boolean, false: skips unknown names in allowed_tools
--   max_context_bytes      integer: of each context file, 262144
--   blocked_phrases  true, false, or an array of phrases: whether such words in the last output block the session;
--                    false
--   observer         function of one record, or object with a method record: is told of the session and all its parts
--   parent           context or traceparent: what the session is a part of for observers

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local fields = require "koine.agent.fields"
local observer = require "koine.data.observer"
local types = require "koine.session.types"
local outcomes = require "koine.session.outcome"

local ROUNDS, CONTEXT_BYTES = 50, 256 << 10

local input = {}

local ROLES = { types.ROLE.ORCHESTRATOR, types.ROLE.IMPLEMENTOR }

-- Checks that a value can be called: a function, or an object that acts as one.
local CALLBACK = check.that("function", function(value)
  local mt = type(value) == "table" and getmetatable(value)
  if type(value) == "function" or mt and mt.__call then return value end
end)

local EXECUTOR = check.that("executor (a table with a function run, or with names and a method tools)", function(value)
  local object = type(value) == "table" or type(value) == "userdata"
  if object and (type(value.run) == "function"
    or type(value.tools) == "function" and type(value.names) == "table") then return value end
end)

local function OPTIONS(value, path) return fields.check("options", value, path) end

local PHRASES = check.list(check.name, "true, false or an array of phrases")

-- The array of phrases, in lower case.
local function phrases(value, path)
  if type(value) == "boolean" then return value and outcomes.PHRASES or {} end
  local kept = PHRASES(value, path)
  for i, phrase in ipairs(kept) do kept[i] = phrase:lower() end
  return kept
end

local COUNT = check.integer(1)

local INPUT = check.options({
  workdir = check.required(check.path), role = check.required(check.one_of(ROLES)),
  model = check.required(check.name), allowed_tools = check.required(check.list(check.name, "array of names")),
  prompt = check.required(check.name), context_files = check.required(check.list(check.path, "array of paths")),
  executor = EXECUTOR, system = check.either("string or array of text blocks", check.string, check.table),
  options = OPTIONS, on_event = CALLBACK, on_delta = CALLBACK,
  max_rounds = check.default(COUNT, ROUNDS), max_tokens_total = COUNT,
  deadline_seconds = check.number(0, nil, "number of seconds, 0 or more"),
  require_git = check.default(check.boolean, true), relative_to = check.one_of { "root", "workdir" },
  ignore_unknown_tools = check.default(check.boolean, false),
  max_context_bytes = check.default(COUNT, CONTEXT_BYTES), blocked_phrases = phrases,
  observer = observer.option, parent = observer.parent,
}, { path = "session", expected = "table of inputs",
  first = { "workdir", "role", "model", "allowed_tools", "prompt", "context_files" } })

-- True for a directory that can be entered.
local function is_directory(name)
  local file <close> = io.open(name .. "/.", "rb")
  return file ~= nil
end

--- Checks the inputs and returns a table of them with the defaults filled in; the caller's is not changed. Raises an
-- ArgumentError naming the first field that is missing, unknown or bad.
function input.check(given)
  local kept = INPUT(given)
  if not is_directory(kept.workdir) then errors.argument("workdir", "directory", kept.workdir) end
  return kept
end

return input
