--- What a session is given: every input is checked before any work.
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
--   ignore_unknown_tools   boolean, false: names in allowed_tools that nobody knows are skipped
--   max_context_bytes      integer: of each context file, 262144
--   blocked_phrases  true, false, or an array of phrases: whether such words in the last output block the session;
--                    false

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local fields = require "koine.agent.fields"
local records = require "koine.data.records"
local types = require "koine.session.types"
local verdict = require "koine.session.outcome"

local ROUNDS, CONTEXT_BYTES = 50, 256 << 10

local input = {}

-- Checks: function(value, field) → value to keep; raises an ArgumentError -------------------------------------------

local function of_type(name)
  return function(value, field)
    if type(value) ~= name then errors.argument(field, name, value) end
    return value
  end
end

local function text(value, field)
  if type(value) ~= "string" or not value:find "%S" then errors.argument(field, "non-empty string", value) end
  return value
end

local function path(value, field)
  if type(value) ~= "string" or value == "" or value:find("\0", 1, true) then errors.argument(field, "path", value) end
  return value
end

-- A check of arrays whose members pass `member_check`; it keeps a copy.
local function list_of(member_check)
  return function(value, field)
    if type(value) ~= "table" then errors.argument(field, "array", value) end
    if not records.is_list(value) then core.raise_argument(field, "array", "a table with other keys") end
    local kept = {}
    for i, member in ipairs(value) do kept[i] = member_check(member, ("%s[%d]"):format(field, i)) end
    return kept
  end
end

local function count(value, field)
  local whole = math.type(value) and math.tointeger(value)
  if not whole or whole < 1 then errors.argument(field, "integer, 1 or more", value) end
  return whole
end

local function seconds(value, field)
  if type(value) ~= "number" or value < 0 or value ~= value then errors.argument(field, "seconds, 0 or more", value) end
  return value
end

local function callback(value, field)
  local mt = type(value) == "table" and getmetatable(value)
  if type(value) ~= "function" and not (mt and mt.__call) then errors.argument(field, "function", value) end
  return value
end

local function word(words)
  return function(value, field)
    types.check_word(field, value, words)
    return value
  end
end

local function executor(value, field)
  local object = type(value) == "table" or type(value) == "userdata"
  if object and (type(value.run) == "function"
    or type(value.tools) == "function" and type(value.names) == "table") then return value end
  errors.argument(field, "executor (a table with a function run, or with names and a method tools)", value)
end

local function system(value, field)
  if type(value) ~= "string" and type(value) ~= "table" then
    errors.argument(field, "string or array of text blocks", value)
  end
  return value
end

local function call_options(value, field) return fields.check("options", value, field) end

local PHRASES = list_of(text)

-- The array of phrases, in lower case.
local function phrases(value, field)
  if type(value) == "boolean" then return value and verdict.PHRASES or {} end
  if type(value) ~= "table" then errors.argument(field, "true, false or an array of phrases", value) end
  local kept = PHRASES(value, field)
  for i, phrase in ipairs(kept) do kept[i] = phrase:lower() end
  return kept
end

local BOOLEAN = of_type "boolean"

local REQUIRED = { "workdir", "role", "model", "allowed_tools", "prompt", "context_files" }
local FIELDS = {
  workdir = path, role = word(types.ROLE), model = text, allowed_tools = list_of(text), prompt = text,
  context_files = list_of(path),
  executor = executor, system = system, options = call_options, on_event = callback, on_delta = callback,
  max_rounds = count, max_tokens_total = count, deadline_seconds = seconds, require_git = BOOLEAN,
  relative_to = word { "root", "workdir" }, ignore_unknown_tools = BOOLEAN, max_context_bytes = count,
  blocked_phrases = phrases,
}
local DEFAULTS = { max_rounds = ROUNDS, require_git = true, ignore_unknown_tools = false,
  max_context_bytes = CONTEXT_BYTES }

-- True for a directory that can be entered.
local function is_directory(name)
  local file <close> = io.open(name .. "/.", "rb")
  return file ~= nil
end

--- Checks the inputs and returns a table of them with the defaults filled in; the caller's is not changed. Raises an
-- ArgumentError naming the first field that is missing, unknown or bad.
function input.check(given)
  if type(given) ~= "table" then check.refuse("session", "table of inputs", given) end
  local kept = {}
  for name in next, given do
    if not FIELDS[name] then check.unknown("option", name, FIELDS) end
  end
  for _, name in ipairs(REQUIRED) do kept[name] = FIELDS[name](given[name], name) end
  for name, field_check in next, FIELDS do
    if given[name] ~= nil and kept[name] == nil then kept[name] = field_check(given[name], name) end
  end
  for name, default in next, DEFAULTS do
    if kept[name] == nil then kept[name] = default end
  end
  if not is_directory(kept.workdir) then errors.argument("workdir", "directory", kept.workdir) end
  return kept
end

return input
