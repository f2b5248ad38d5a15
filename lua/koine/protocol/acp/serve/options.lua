--- What koine.acp.serve takes:
--   agent      required: a koine.agent, or function(session) → one, or nil, err. The function is called for each new
--              session, and again before the next turn when its mode or options changed
--   tools      array of koine.tool that every session has besides
--   executor   nil: none; "client": files and commands through the editor where it offers that, else here; "local":
--              here; or a table of koine.executor's options with the field client = true or false: for each session one
--              in its directory, whose tools the agent has
--   approval   which calls wait for the user's approval, besides those of tools with needs_approval: true (all),
--              false (none), or function(name, args, session) → boolean; absent: tools of the executor that edit or run
--   always     false: "always allow" is not offered; else a session remembers it per tool until it is closed
--   name, title, version   of the agent, as editors show it
--   sessions   a koine.store: sessions are kept, and can be listed and taken up again
--   modes      array of {id, name, description}; the first one is the mode of new sessions
--   options    array of {id, name, description, category, value, choices = array of {value, name, description}}, or
--              with a boolean `value` and no choices
--   login      array of {id, name, description, run = function() → true, or nil, err}: ways to log in
--   logout     function() → true, or nil, err
--   mcp        false: servers of the editor's are not connected
--   wire       an object with line() and write(bytes), in place of standard input and output

local check = require "koine.data.check"
local core = require "koine.core"
local tool = require "koine.agent.tool"
local version = require "koine.data.version"

local AGENT = check.either("koine.agent, or a function that returns one", check.func, check.method("start", "agent"))

local TEXT = { name = check.required(check.nonempty), description = check.string }

local function named(fields)
  for field, c in next, TEXT do fields[field] = c end
  return check.record(fields)
end

local ID = check.required(check.nonempty)
local MODES = check.list(named { id = ID }, "array of {id, name, description}")
local LOGIN = check.list(named { id = ID, run = check.required(check.func) }, "array of {id, name, run}")
local CHOICES = check.list(named { value = ID }, "array of {value, name, description}")
local OPTION = named { id = ID, category = check.nonempty, choices = CHOICES,
  value = check.required(check.either("string, true or false", check.string, check.boolean)) }

-- Raises unless the ids of a list are different.
local function check_unique(list, path, taken)
  for i, one in ipairs(list) do
    if taken[one.id] then core.raise_argument(("%s[%d].id"):format(path, i), "an id of its own", one.id) end
    taken[one.id] = true
  end
  return list
end

local function unique(c)
  return function(value, path) return check_unique(c(value, path), path, {}) end
end

local function has_choice(option)
  for _, choice in ipairs(option.choices) do
    if choice.value == option.value then return true end
  end
  return false
end

-- An option has either choices, of which its value is one, or a boolean value.
local function check_option(option, path)
  if type(option.value) == "boolean" then
    if option.choices then core.raise_argument(path .. ".choices", "none beside true or false", "some") end
  elseif not option.choices then
    core.raise_argument(path .. ".choices", "array of {value, name, description}", "nil")
  elseif not has_choice(option) then
    core.raise_argument(path .. ".value", "the value of one of the choices", option.value)
  end
end

local LIST = check.list(OPTION, "array of options")
local function SETTINGS(value, path)
  local kept = check_unique(LIST(value, path), path, { mode = true })
  for i, option in ipairs(kept) do check_option(option, ("%s[%d]"):format(path, i)) end
  return kept
end

-- The options of koine.executor are checked when it is made.
local function EXECUTOR(value, path)
  if value == "local" then return {} end
  if value == "client" then return { client = true } end
  if type(value) ~= "table" then check.refuse(path, '"client", "local" or a table', value) end
  local copy = {}
  for name, one in next, value do copy[name] = one end
  for _, name in ipairs { "workdir", "through" } do
    if copy[name] ~= nil then core.raise_argument(path .. "." .. name, "nothing: it is the session's", "a value") end
  end
  return copy
end

local OPTIONS = check.options { agent = check.required(AGENT), tools = tool.list, executor = EXECUTOR,
  approval = check.either("true, false or a function", check.boolean, check.func),
  always = check.default(check.boolean, true), name = check.default(check.nonempty, "koine"), title = check.nonempty,
  version = check.default(check.nonempty, version), sessions = check.method("lease", "store"), modes = unique(MODES),
  options = SETTINGS, login = unique(LOGIN), logout = check.func, mcp = check.default(check.boolean, true),
  wire = check.method("line", "wire") }

--- The options, checked: a new table. Raises an ArgumentError.
return function(given)
  local kept = OPTIONS(given)
  kept.tools = kept.tools or {}
  for _, name in ipairs { "modes", "options" } do
    kept[name] = kept[name] or {}
    if #kept[name] > 0 and type(kept.agent) ~= "function" then
      core.raise_argument("agent", ("a function, which looks at the session's %s"):format(name), "an agent")
    end
  end
  return kept
end
