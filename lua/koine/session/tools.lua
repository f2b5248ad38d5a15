--- The tools of a session: what the model is offered, and what it is refused.
-- A name is offered when allowed_tools has it, the executor knows it, and the role may use it: an orchestrator gets
-- nothing of Koine's own executor that changes files. Whatever else the model calls is refused when it is called.

local core = require "koine.core"
local errors = require "koine.data.errors"
local executors = require "koine.system.executor"
local tool = require "koine.agent.tool"

local tools = {}

local REPORT = "report_blocked"
local NOT_ALLOWED = "tool not allowed"

local function set_of(list)
  local set = {}
  for _, name in ipairs(list) do set[name] = true end
  return set
end

-- Trouble of the machine behind the tools: it ends the session.
local function trouble(name, what)
  if errors.is_error(what) then
    if what.kind == "executor" or what.kind == "cancelled" then return what end
    what = what.message
  end
  return errors.new { kind = "executor", message = ("executor: %s: %s"):format(name, tostring(what)) }
end

-- The function of a tool that the executor brought: the tool's own, whose failures are told to the model.
local function calling(run, work)
  return function(arguments, ctx)
    ctx.workdir = work.input.workdir
    work.started[ctx.call.id] = true
    return run(arguments, ctx)
  end
end

-- The function of a tool that hands its calls to the executor.
local function through(executor, name, work)
  return function(arguments, ctx)
    ctx.workdir = work.input.workdir
    work.started[ctx.call.id] = true
    local ok, text, info = pcall(executor.run, name, arguments, ctx)
    if not ok then return nil, trouble(name, text) end
    if type(text) == "string" then return text, type(info) == "table" and info or nil end
    return nil, trouble(name, text == nil and info or "text expected, got " .. errors.describe(text))
  end
end

local function refuse()
  return "Permission denied: " .. NOT_ALLOWED, { is_error = true, blocked = true, reason = NOT_ALLOWED }
end

local function refusing(name)
  return tool { name = name, description = "", parameters = { type = "object" }, hidden = true, run = refuse }
end

local function report_tool(work)
  return tool {
    name = REPORT,
    description = "Ends the session because it cannot go on without a decision or an action of a human. Say what is "
      .. "needed. Call it instead of asking in prose.",
    example = { reason = "what the human has to decide or do" },
    run = function(arguments)
      work.blocked = work.blocked or arguments.reason
      return "The session ends here."
    end,
  }
end

-- True when the executor says itself which tools it has.
local function has_tools(executor)
  return executor ~= nil and type(executor.tools) == "function" and type(executor.names) == "table"
end

-- True when a tool of the executor does the work itself; else the executor's `run` does, as for all of Koine's own.
local function runs_itself(executor, one)
  local mt = getmetatable(executor)
  local koines = type(mt) == "table" and mt.__name == "koine.executor"
  return has_tools(executor) and not koines and type(one.run) == "function"
end

-- An executor of Koine's own, which has to be closed.
local function own_executor(workdir)
  local own, err = executors { workdir = workdir }
  if not own then core.raise_argument("workdir", "directory that can be opened", err.message) end
  return own
end

-- The definitions of tools by their names: the executor's, or for one that has only `run`, those of Koine's own.
local function definitions(executor, names, workdir)
  if has_tools(executor) then return executor:tools(names) end
  local catalogue <close> = own_executor(workdir)
  return catalogue:tools(names)
end

-- The fields of a tool for the session, which calls `run` in place of the tool's own.
local function with(one, run)
  local made = { run = run }
  for field, value in next, one do
    if field ~= "run" then made[field] = value end
  end
  return made
end

-- The tools of these names (but report_blocked), by name: each does the work itself, or hands its calls over.
local function handing_over(executor, names, work)
  local own, made = {}, {}
  for _, name in ipairs(names) do
    if name ~= REPORT then own[#own + 1] = name end
  end
  for _, one in ipairs(definitions(executor, own, work.input.workdir)) do
    local run = runs_itself(executor, one) and calling(one.run, work) or through(executor, one.name, work)
    made[one.name] = tool(with(one, run))
  end
  return made
end

-- The names in allowed_tools that are known, as a list, and those that are not. Raises for an unknown one unless such
-- are to be skipped.
local function known_of(input, known)
  local names, skipped, seen = {}, core.array {}, {}
  for i, name in ipairs(input.allowed_tools) do
    if not known[name] and not input.ignore_unknown_tools then
      errors.argument(("allowed_tools[%d]"):format(i), "name of a tool that the executor knows", name)
    end
    local list = known[name] and names or skipped
    if not seen[name] then list[#list + 1] = name end
    seen[name] = true
  end
  return names, skipped
end

-- The names that fit; the others are skipped too.
local function keep(names, skipped, fits)
  local kept = {}
  for _, name in ipairs(names) do
    local list = fits(name) and kept or skipped
    list[#list + 1] = name
  end
  return kept
end

-- Whether a role may use the tool of a name, as a function.
local function fitting(role)
  local own, fits = set_of(executors.names), set_of(executors.role_tools(role))
  return function(name) return role == "implementor" or fits[name] or not own[name] end
end

-- The executor of a session: the user's, or one of its own, which the work has to close.
local function executor_of(work)
  if work.input.executor then return work.input.executor end
  work.executor = own_executor(work.input.workdir)
  return work.executor
end

--- Makes the tools of a session: an array of koine.tool, those that the model is offered and, hidden from it, those
-- that refuse; and the names in allowed_tools that are not offered. `work` has the session's `input`; it gets
-- `executor` when one was made for it, `started`, the ids of the calls that reached the executor, and `blocked` (text)
-- once the model calls report_blocked. Raises an ArgumentError for unknown names.
function tools.make(work)
  local input = work.input
  work.started = {}
  local known = set_of(has_tools(input.executor) and input.executor.names or executors.names)
  known[REPORT] = true
  local allowed, skipped = known_of(input, known)
  allowed = keep(allowed, skipped, fitting(input.role))
  local made = #allowed > 0 and handing_over(executor_of(work), allowed, work) or {}
  made[REPORT] = report_tool(work)
  allowed = keep(allowed, skipped, function(name) return made[name] end)
  local all, others, seen = {}, {}, set_of(allowed)
  for i, name in ipairs(allowed) do all[i] = made[name] end
  for name in next, known do
    if not seen[name] then others[#others + 1] = name end
  end
  table.sort(others, core.before)
  for _, name in ipairs(others) do all[#all + 1] = refusing(name) end
  return all, skipped
end

return tools
