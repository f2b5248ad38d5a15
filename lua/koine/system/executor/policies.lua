--- Policies: functions that look at a call before a tool runs: policy(name, input, ctx) → nil to let it pass, or the
-- reason why not, which the model is told. ctx.workdir is the working directory's absolute path without links,
-- ctx.workdir_given the one that the executor was given, where that was absolute.
-- They judge words. A command can say the same thing in more ways than any pattern knows: a policy is advice to a
-- model, not a boundary.

local paths = require "koine.system.executor.paths"

local policies = {}

-- The commands of a line, told apart by what may stand between two: for command in commands(line) do … end
local function commands(line) return (line .. "\n"):gmatch "(.-)[;&|\n(){}`]" end

-- True when the words name a .env file that is no .env.example.
local function names_env(words)
  words = words:lower()
  local from = 1
  while true do
    local _, stop = words:find(".env", from, true)
    if not stop then return false end
    local named = not words:find("^%w", stop + 1) and not words:find("^%.example", stop + 1)
    if named or words:find("^rc", stop + 1) then return true end
    from = stop + 1
  end
end

-- True when the words name the folder of workflows, whatever number of slashes they use.
local function names_workflows(words)
  return words:lower():gsub("/[./]*/", "/"):find(".github/workflows", 1, true) ~= nil
end

-- Why these words, a command or a path, are refused: they name a .env file (not .env.example) or the folder
-- .github/workflows. nil when they may.
local function forbidden(words)
  if names_env(words) then return "the file .env" end
  if names_workflows(words) then return "the folder .github/workflows" end
end

-- The components of a path below the working directory, by either of its names; nil when it leads outside.
local function below(path, ctx)
  return paths.below(path, ctx.workdir) or ctx.workdir_given and paths.below(path, ctx.workdir_given)
end

-- True when rm may not have this argument.
local function leaves(argument, ctx)
  return argument:find "^[~$]" ~= nil or not below(argument, ctx)
end

-- Why a single command without ; & | may not run: rm of something outside.
local function check_rm(command, ctx)
  local removes = false
  for part in command:gsub("%f[%d>]%d*>+%s*%S+", ""):gmatch "%S+" do
    local word = part:gsub("[\"'\\]", "")
    if removes and not word:find "^%-" and leaves(word, ctx) then
      return "rm outside of the working directory"
    end
    if word == "rm" or word:find "/rm$" then removes = true end
  end
end

local function check_command(command, ctx)
  local reason = forbidden(command)
  if reason then return reason end
  for part in commands(command) do
    reason = check_rm(part, ctx)
    if reason then return reason end
  end
end

--- The policy of an executor that is given none: refuses .env files (not .env.example), .github/workflows, rm of what
-- is outside of the working directory, and file operations outside of it.
function policies.cautious(name, input, ctx)
  if name == "bash" then return input.command and check_command(input.command, ctx) end
  local parts = below(input.path or ".", ctx)
  if not parts then return "the path is outside of the working directory" end
  for _, words in ipairs { table.concat(parts, "/"), input.pattern or "", input.glob or "" } do
    local reason = forbidden(words)
    if reason then return reason end
  end
end

return policies
