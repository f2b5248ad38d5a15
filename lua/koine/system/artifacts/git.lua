--- Runs git for artifacts: argument vectors only, in an environment of its own, every failure an error.
-- The environment holds what git needs to find itself and its configuration, and nothing that would lead it to another
-- repository: no GIT_DIR, GIT_WORK_TREE, GIT_INDEX_FILE, whatever the host has set. No hook of the repository is run,
-- no monitor that its configuration names, and nothing is written into it; filters for file contents that it names are
-- run, as in every git status.

local core = require "koine.core"
local errors = require "koine.data.errors"
local process = require "koine.system.process"

local git = {}

local TIMEOUT = 60            -- seconds for one command
local OUTPUT_MAX = 64 << 20   -- bytes: lists of names

local INHERITED = { "PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "USER", "LOGNAME", "GIT_CONFIG_GLOBAL",
  "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM" }

local ALWAYS = { "git", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
  "-c", "core.splitIndex=false" }

-- The environment of one command; `index` is a file to use in the place of the repository's index, or nil.
local function environment(index)
  local env = { GIT_OPTIONAL_LOCKS = "0", GIT_INDEX_FILE = index, LC_ALL = "C" }
  for _, name in ipairs(INHERITED) do env[name] = os.getenv(name) end
  return env
end

-- The words of stderr that say why a command failed: its first line without "fatal: ".
local function why(done)
  if done.timed_out then return "took too long" end
  if done.signal then return "ended by signal " .. done.signal end
  local line = done.stderr:match "[^\n]+" or "exit code " .. tostring(done.code)
  return (line:gsub("^fatal: ", ""):gsub("^error: ", ""))
end

local function failure(command, done)
  local text = why(done)
  local outside = text:find("not a git repository", 1, true) or text:find("must be run in a work tree", 1, true)
  return nil, errors.new { kind = "other", code = outside and "not_a_repository" or "git",
    message = ("git %s: %s"):format(command, text) }
end

--- Runs `git ARGS…` in the directory: its standard output and its exit code, or nil, err. `opts`: timeout (seconds,
-- 60), stdin (bytes), index (path of another index file), code (a further exit code that is no failure). The error is
-- of kind other with code "absent" where there is no git, none where the directory cannot be entered,
-- "not_a_repository" where it belongs to none, "git" for whatever else git refuses; CancelledError when the caller was
-- cancelled.
function git.run(directory, args, opts)
  local argv = table.move(ALWAYS, 1, #ALWAYS, 1, {})
  table.move(args, 1, #args, #argv + 1, argv)
  local done, err = process.run(argv, { cwd = directory, env = environment(opts.index), stdin = opts.stdin,
    timeout = opts.timeout or TIMEOUT, output_max = OUTPUT_MAX })
  if not done then return nil, err end
  if done.timed_out or (done.code ~= 0 and (not done.code or done.code ~= opts.code)) then
    return failure(args[1], done)
  end
  if done.dropped.stdout > 0 then
    return nil, errors.new { kind = "other", code = "git", message = ("git %s: too much output"):format(args[1]) }
  end
  return done.stdout, done.code
end

--- A directory of one's own for an index file: {index = path}, to be closed, which removes it; or nil, err.
function git.scratch()
  local made, base = pcall(os.tmpname)
  if not made then return nil, errors.new { kind = "other", code = "git", message = tostring(base) } end
  local directory = base .. ".d"
  local ok, err = core.file_directory(directory)
  local scratch = setmetatable({ index = directory .. "/index" }, { __close = function(self)
    for _, path in ipairs { self.index, self.index .. ".lock", directory, base } do os.remove(path) end
  end })
  if ok then return scratch end
  os.remove(base)
  return nil, err
end

return git
