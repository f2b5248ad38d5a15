--- Runs git for artifacts such that nothing it reads starts a program or a transfer, and nothing is written into the
-- repository. An author of a repository's files can name programs in its configuration: filters, monitors, hooks,
-- external diffs, what fetches a missing object. So git does not get to see that configuration. Koine reads it twice:
--
-- 1. Where is the repository, and how is it set? `rev-parse` and `config --list` answer that. Both read configuration
--    and neither opens an object, compares a file or runs anything.
-- 2. All else runs with GIT_COMMON_DIR at a directory of our own. Its links lead to the repository's references and
--    excludes; its configuration holds what is on the list KEPT and nothing else. No home directory, no system
--    configuration, no variable of the host's.
--
-- Git then compares contents as the files have them: with line ends converted, without filters.

local core = require "koine.core"
local errors = require "koine.data.errors"
local process = require "koine.system.process"

local git = {}

local TIMEOUT = 60            -- seconds for one command
local OUTPUT_MAX = 256 << 20  -- bytes: lists of names, the index's the longest

-- The variables that git needs: to find its programs and, at the first look, its configuration and the repository.
local INHERITED = { "PATH", "TMPDIR" }
local FOR_FINDING = { "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
  "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM" }

local FIND = { "git", "--no-pager", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false", "-c",
  "core.hooksPath=/dev/null" }
local RUN = { "git", "--no-pager" }

-- The settings that change what git sees, and can start nothing: text, numbers, and paths of files with patterns.
local KEPT = { "core.repositoryformatversion", "core.filemode", "core.symlinks", "core.ignorecase",
  "core.precomposeunicode", "core.trustctime", "core.checkstat", "core.autocrlf", "core.eol", "core.bigfilethreshold",
  "core.checkroundtripencoding", "core.sparsecheckout", "core.sparsecheckoutcone", "core.excludesfile",
  "core.attributesfile", "extensions.objectformat", "extensions.compatobjectformat", "extensions.refstorage" }
local OURS = { ["core.bare"] = "false", ["core.quotepath"] = "false", ["core.fsmonitor"] = "false",
  ["core.hookspath"] = "/dev/null", ["core.splitindex"] = "false", ["core.untrackedcache"] = "false" }

-- The entries of the repository's common directory that ours links to.
local LINKED = { "refs", "packed-refs", "reftable", "info", "shallow" }

-- One command -------------------------------------------------------------------------------------------------------

local function copy_variables(names, env)
  for _, name in ipairs(names) do env[name] = os.getenv(name) end
  return env
end

-- The environment of every git: nothing is locked, asked, fetched or traced.
local function base_environment()
  return copy_variables(INHERITED, { LC_ALL = "C", GIT_OPTIONAL_LOCKS = "0", GIT_TERMINAL_PROMPT = "0",
    GIT_ALLOW_PROTOCOL = "none", GIT_NO_LAZY_FETCH = "1", GIT_TRACE2 = "0", GIT_TRACE2_PERF = "0",
    GIT_TRACE2_EVENT = "0" })
end

-- The words of stderr that say why a command failed: its first line without "fatal: ".
local function why(done)
  if done.timed_out then return "took too long" end
  if done.signal then return "ended by signal " .. done.signal end
  local line = done.stderr:match "[^\n]+" or "exit code " .. tostring(done.code)
  return (line:gsub("^fatal: ", ""):gsub("^error: ", ""))
end

local OUTSIDE = { "not a git repository", "must be run in a work tree", "cannot use bare repository" }

local function failure(command, done)
  local text, code = why(done), "git"
  for _, words in ipairs(OUTSIDE) do
    if text:find(words, 1, true) then code = "not_a_repository" end
  end
  return nil, errors.new { kind = "other", code = code, message = ("git %s: %s"):format(command, text) }
end

-- Runs a program's words and args in the directory: its standard output and its exit code, or nil, err.
local function run(words, args, directory, env, opts)
  local argv = table.move(words, 1, #words, 1, {})
  table.move(args, 1, #args, #argv + 1, argv)
  local done, err = process.run(argv, { cwd = directory, env = env, stdin = opts.stdin,
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

-- The first look ----------------------------------------------------------------------------------------------------

-- The answers of rev-parse, one to each of the options: array; or nil, err.
local function ask(directory, env, options, opts)
  local said, err = run(FIND, { "rev-parse", table.unpack(options) }, directory, env, opts)
  if not said then return nil, err end
  local lines = {}
  for line in said:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  if #lines == #options then return lines end
  for i, option in ipairs(options) do -- a path holds a line break: one by one
    lines[i], err = run(FIND, { "rev-parse", option }, directory, env, opts)
    if not lines[i] then return nil, err end
    lines[i] = lines[i]:gsub("\n$", "")
  end
  return lines
end

-- The settings that are kept: key → value, or nil, err.
local function settings_of(directory, env, opts)
  local listed, err = run(FIND, { "config", "--list", "-z" }, directory, env, opts)
  if not listed then return nil, err end
  local all, kept = {}, {}
  for key, value in listed:gmatch "([^\n\0]+)(\n?[^\0]*)\0" do all[key] = value ~= "" and value:sub(2) or "true" end
  for _, key in ipairs(KEPT) do kept[key] = all[key] end
  return kept
end

-- Makes paths of the home directory, which the later commands have not, whole: given ones and those git assumes.
local function name_files(settings)
  local home = os.getenv "HOME"
  local folder = os.getenv "XDG_CONFIG_HOME"
  if not folder or folder == "" then folder = home and home .. "/.config" end
  for key, name in pairs { ["core.excludesfile"] = "ignore", ["core.attributesfile"] = "attributes" } do
    local value = settings[key]
    if not value and folder then
      settings[key] = folder .. "/git/" .. name
    elseif value and home and value:find "^~/" then
      settings[key] = home .. value:sub(2)
    end
  end
end

-- Our directory -----------------------------------------------------------------------------------------------------

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n", ["\t"] = "\\t", ["\b"] = "\\b" }

-- The settings as a configuration file.
local function configuration(settings)
  local lines = {}
  for _, list in ipairs { settings, OURS } do
    for key, value in pairs(list) do
      local section, name = key:match "^(.-)%.(.*)$"
      lines[#lines + 1] = ('[%s]\n\t%s = "%s"\n'):format(section, name, value:gsub('[\\"\n\t\b]', ESCAPES))
    end
  end
  table.sort(lines)
  return table.concat(lines)
end

-- What is not there any more, or was not made, does not matter; nor does memory that is short.
local function remove_scratch(scratch)
  for i = #scratch, 1, -1 do pcall(os.remove, scratch[i]) end
end

-- Where an error ends the making of a scratch, the collector removes what there is of it.
local SCRATCH = { __gc = remove_scratch }

-- Writes a file of our directory: true, or nil, err.
local function write(path, text)
  local file <close>, reason = io.open(path, "wb")
  if file and file:write(text) and file:flush() then return true end
  return nil, errors.new { kind = "other", code = "git", message = tostring(reason or path .. ": cannot be written") }
end

-- The directory with this configuration and links into `common`: {path, all that is to be removed}; or nil, err.
local function make_scratch(settings, common)
  local scratch = setmetatable({ path = "", index = "", "", "", "", "", "" }, SCRATCH)
  local made, base = pcall(os.tmpname)
  if not made then return nil, errors.new { kind = "other", code = "git", message = tostring(base) } end
  scratch[1] = base
  local path = base .. ".d"
  scratch.path, scratch[2], scratch[3], scratch[5] = path, path, path .. "/config", path .. "/index.lock"
  scratch.index, scratch[4] = path .. "/index", path .. "/index"
  local ok, err = core.file_directory(path)
  if ok then ok, err = write(path .. "/config", configuration(settings)) end
  for _, name in ipairs(LINKED) do
    local link = path .. "/" .. name
    scratch[#scratch + 1] = link
    if ok then ok, err = core.file_link(common .. "/" .. name, link) end
  end
  if ok then return scratch end
  remove_scratch(scratch)
  return nil, err
end

-- Repositories ------------------------------------------------------------------------------------------------------

local methods = {}
local metatable = { __index = methods }

--- Opens the repository whose working tree holds a directory: an object to be closed, or nil, err. `opts`:
-- timeout (seconds for each command, 60). Its fields: root, the top of the working tree; prefix, the directory below it
-- ("" or "a/b/"). The error is of kind other with code "absent" where there is no git, none where the directory cannot
-- be entered, "not_a_repository" where it belongs to none or to a bare one, "git" for whatever else git refuses;
-- CancelledError when the caller was cancelled.
function git.open(directory, opts)
  local finding = copy_variables(FOR_FINDING, base_environment())
  local limits = { timeout = opts.timeout }
  local places, err = ask(directory, finding, { "--show-toplevel", "--show-prefix", "--absolute-git-dir",
    "--git-common-dir" }, limits)
  if not places then return nil, err end
  local root, prefix, own, common = table.unpack(places)
  if common:sub(1, 1) ~= "/" then common = ("%s/%s%s"):format(root, prefix, common) end
  local settings
  settings, err = settings_of(directory, finding, limits)
  if not settings then return nil, err end
  name_files(settings)
  local scratch
  scratch, err = make_scratch(settings, common)
  if not scratch then return nil, err end
  local env = base_environment()
  env.HOME, env.GIT_CONFIG_GLOBAL, env.GIT_CONFIG_NOSYSTEM = scratch.path, "/dev/null", "1"
  env.GIT_DIR, env.GIT_WORK_TREE, env.GIT_COMMON_DIR = own, root, scratch.path
  env.GIT_OBJECT_DIRECTORY = common .. "/objects"
  return setmetatable({ root = root, prefix = prefix, timeout = opts.timeout, scratch = scratch, env = env }, metatable)
end

--- Runs `git ARGS…` at the top of the working tree: its standard output and its exit code, or nil, err. `opts`: stdin
-- (bytes), own_index (true: an index of our own, empty at first, in the place of the repository's), code (a further
-- exit code that is no failure). Errors as those of git.open.
function methods:run(args, opts)
  opts = opts or {}
  self.env.GIT_INDEX_FILE = opts.own_index and self.scratch.index or nil
  return run(RUN, args, self.root, self.env, { timeout = self.timeout, stdin = opts.stdin, code = opts.code })
end

--- Forgets our own index.
function methods:clear_index() os.remove(self.scratch.index) end

--- Removes what was made for it.
function methods:close() remove_scratch(self.scratch) end

metatable.__close = methods.close

return git
