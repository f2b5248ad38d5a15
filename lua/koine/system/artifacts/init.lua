--- Artifacts: the files that changed while something was at work in a directory. Only git is asked.
--
--   local before = assert(koine.artifacts.snapshot "repo")
--   …
--   local paths, heads = assert(koine.artifacts.compare(before))
--
-- A path is an artifact when git would show it in another state than before, or with other content; or when it is part
-- of what commits have changed since. So what was dirty or untracked before and still is the same is none, nor is what
-- was changed and changed back; deleted files, both names of a renamed one, new files that are not ignored, files whose
-- mode alone changed and submodules that moved are. Everything is looked at from the top of the working tree, also
-- where the directory is below it, a linked worktree or a submodule.
--
-- Every call runs git (process.lua): it yields in a scheduler and blocks elsewhere.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local git = require "koine.system.artifacts.git"

local artifacts = {}

-- Where things are ---------------------------------------------------------------------------------------------------

-- The commit that HEAD stands for, nil where there is none yet; nil, err.
local function head_of(directory, opts)
  local hash, code = git.run(directory, { "rev-parse", "--verify", "--quiet", "HEAD^{commit}" },
    { timeout = opts.timeout, code = 1 })
  if not hash then return nil, code end
  return hash:match "^%x+"
end

-- The path of the directory below the top of its working tree: "" or "a/b/"; or nil, err.
local function prefix_of(directory, opts)
  local prefix, err = git.run(directory, { "rev-parse", "--show-prefix" }, opts)
  if not prefix then return nil, err end
  return (prefix:gsub("\n$", ""))
end

-- What the working tree holds -------------------------------------------------------------------------------------

-- One record of git status: path, state, the file's mode in the working tree (nil: untracked). The hash of the commit
-- is part of the state, the file's own content is not.
local function parse(record)
  local state, mode, path = record:match "^(1 %S+ %S+ %S+ %S+ (%S+) %S+ %S+) (.+)$"
  if not state then
    state, mode, path = record:match "^(u %S+ %S+ %S+ %S+ %S+ (%S+) %S+ %S+ %S+) (.+)$"
  end
  if state then return path, state, mode end
  return record:match "^%? (.+)$", "?", nil
end

local GONE, REPOSITORY = "000000", "160000" -- modes

local states

-- The state of a repository below this one, as text: its commit and the states in it; "" where there is none.
local function inner(directory, opts)
  local prefix, err = prefix_of(directory, opts)
  if not prefix then return nil, err end
  if prefix ~= "" then return "" end -- not set up: git found the repository around it
  local head, found
  head, err = head_of(directory, opts)
  if err then return nil, err end
  found, err = states(directory, opts)
  if not found then return nil, err end
  local lines = {}
  for path, state in next, found do lines[#lines + 1] = path .. "\0" .. state end
  table.sort(lines)
  return tostring(head) .. "\0" .. table.concat(lines, "\0")
end

-- Adds mode and content (as git hashes it) of each of the files to its state: an index of its own takes them in,
-- nothing is stored.
local function add_contents(directory, files, found, opts)
  if #files == 0 then return true end
  local scratch <close>, err = git.scratch()
  if not scratch then return nil, err end
  local with_index = { timeout = opts.timeout, index = scratch.index, stdin = table.concat(files, "\0") .. "\0" }
  local done, listed
  done, err = git.run(directory, { "update-index", "--add", "--remove", "--info-only", "-z", "--stdin" }, with_index)
  if not done then return nil, err end
  with_index.stdin = nil
  listed, err = git.run(directory, { "ls-files", "--stage", "-z" }, with_index)
  if not listed then return nil, err end
  for content, path in listed:gmatch "([^\t\0]*)\t([^\0]+)\0" do found[path] = found[path] .. " " .. content end
  return true
end

-- path → state of everything that differs from the last commit, or is untracked; or nil, err.
function states(directory, opts)
  local listed, err = git.run(directory, { "status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames",
    "--ignore-submodules=none" }, opts)
  if not listed then return nil, err end
  local found, files = {}, {}
  for record in listed:gmatch "([^\0]+)\0" do
    local path, state, mode = parse(record)
    if not path then
      return nil, errors.new { kind = "other", code = "git", message = "git status: unknown record " .. record }
    end
    if mode == REPOSITORY or path:sub(-1) == "/" then
      path = path:gsub("/$", "")
      local text
      text, err = inner(directory .. "/" .. path, opts)
      if not text then return nil, err end
      state = state .. " " .. text
    elseif mode ~= GONE then
      files[#files + 1] = path
    end
    found[path] = state
  end
  local done
  done, err = add_contents(directory, files, found, opts)
  if not done then return nil, err end
  return found
end

-- Commits -----------------------------------------------------------------------------------------------------------

-- Adds the paths in which two commits or trees differ to the set.
local function add_difference(set, root, from, to, opts)
  local listed, err = git.run(root, { "diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to }, opts)
  if not listed then return nil, err end
  for path in listed:gmatch "([^\0]+)\0" do set[path] = true end
  return true
end

-- What two HEADs have in common: the commit both build on; the old one where they share none; where one of them has no
-- commit, the empty tree.
local function base_of(root, before, after, opts)
  local args, stdin = { "merge-base", before, after }, nil
  if not (before and after) then args, stdin = { "hash-object", "-t", "tree", "--stdin" }, "" end
  local base, err = git.run(root, args, { timeout = opts.timeout, stdin = stdin, code = stdin == nil and 1 or nil })
  if not base then return nil, err end
  return base:match "^%x+" or before
end

-- Adds what the commits between two HEADs changed. Where the new one does not build on the old one (another branch, a
-- reset), both sides count: what left the working tree and what came.
local function add_commits(set, root, before, after, opts)
  if before == after then return true end
  local base, err = base_of(root, before, after, opts)
  if not base then return nil, err end
  for _, commit in next, { before, after } do
    local done
    done, err = add_difference(set, root, base, commit, opts)
    if not done then return nil, err end
  end
  return true
end

-- The two moments ---------------------------------------------------------------------------------------------------

local SNAPSHOT = { timeout = true }
local COMPARE = { timeout = true, relative_to = true }

local function check_options(opts, known)
  if opts == nil then return {} end
  if type(opts) ~= "table" then errors.argument("options", "table", opts) end
  for name in next, opts do
    if not known[name] then check.unknown("option", name, known) end
  end
  if opts.timeout ~= nil and not (type(opts.timeout) == "number" and opts.timeout > 0 and opts.timeout < math.huge) then
    errors.argument("timeout", "number of seconds above 0", opts.timeout)
  end
  return opts
end

--- What git knows of the directory now: a snapshot for `compare`, or nil, err. `workdir` is a path in a working tree;
-- `opts`: timeout = seconds for each git command (60). The snapshot's fields: `root`, the top of the working tree;
-- `prefix`, the directory below it ("" or "a/b/"); `head`, the commit, nil where there is none yet.
-- The error is of kind "other" with code "absent" (no git), "not_a_repository", or "git" (it failed; the message says
-- how); without a code where the directory cannot be entered. Raises an ArgumentError for wrong options.
function artifacts.snapshot(workdir, opts)
  if type(workdir) ~= "string" or workdir == "" or workdir:find("\0", 1, true) then
    errors.argument("workdir", "path of a directory", workdir)
  end
  opts = check_options(opts, SNAPSHOT)
  local root, err = git.run(workdir, { "rev-parse", "--show-toplevel" }, opts)
  if not root then return nil, err end
  local made = { root = root:gsub("\n$", "") }
  made.prefix, err = prefix_of(workdir, opts)
  if not made.prefix then return nil, err end
  made.head, err = head_of(workdir, opts)
  if err then return nil, err end
  made.states, err = states(made.root, opts)
  if not made.states then return nil, err end
  return made
end

-- A path from the top as one from the directory `prefix` below the top.
local function relative(path, prefix)
  local up, shared = "", prefix
  while path:sub(1, #shared) ~= shared do
    up, shared = up .. "../", shared:match "^(.*/)[^/]+/$" or ""
  end
  return up .. path:sub(#shared + 1)
end

-- The state after: HEAD and states, or nil, err.
local function look_again(before, opts)
  local prefix, err = prefix_of(before.root, opts)
  if not prefix then return nil, err end
  if prefix ~= "" then
    return nil, errors.new { kind = "other", code = "not_a_repository", message = "the repository is gone" }
  end
  local after = {}
  after.head, err = head_of(before.root, opts)
  if err then return nil, err end
  after.states, err = states(before.root, opts)
  if not after.states then return nil, err end
  return after
end

--- What has changed since the snapshot: a sorted array of paths with forward slashes, and {head_before, head_after}
-- (commits, nil where there is none); or nil, err as from `snapshot`. `opts`: timeout; relative_to = "root" (default:
-- the top of the working tree) or "workdir" (the snapshot's directory; what is outside begins with "../"). Raises an
-- ArgumentError for wrong options.
function artifacts.compare(before, opts)
  if type(before) ~= "table" or type(before.root) ~= "string" or type(before.states) ~= "table" then
    errors.argument("before", "snapshot", before)
  end
  opts = check_options(opts, COMPARE)
  local to = opts.relative_to
  if to ~= nil and to ~= "root" and to ~= "workdir" then errors.argument("relative_to", '"root" or "workdir"', to) end
  local after, err = look_again(before, opts)
  if not after then return nil, err end
  local set = {}
  local done
  done, err = add_commits(set, before.root, before.head, after.head, opts)
  if not done then return nil, err end
  for path, state in next, before.states do set[path] = set[path] or state ~= after.states[path] or nil end
  for path in next, after.states do set[path] = set[path] or before.states[path] == nil or nil end
  local paths = {}
  for path in next, set do paths[#paths + 1] = to == "workdir" and relative(path, before.prefix) or path end
  table.sort(paths)
  return paths, { head_before = before.head, head_after = after.head }
end

return artifacts
