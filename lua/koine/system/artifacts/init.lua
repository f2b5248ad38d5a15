--- Artifacts: the files that changed in a directory between two moments, as git sees it.
--
--   local before = assert(koine.artifacts.snapshot "repo")
--   …
--   local paths, heads = assert(koine.artifacts.compare(before))
--
-- A path is an artifact when git would show it in another state than before, or with other content; or when it is part
-- of what commits have changed since. A file that was dirty or untracked before and is still the same is no artifact,
-- nor is one that was changed and changed back. Deleted files, both names of a renamed one, new files that are not
-- ignored, files whose mode alone changed and submodules that moved are artifacts. Koine looks at everything from the
-- top of the working tree, also where the directory is below it, a linked worktree or a submodule.
--
-- Every call runs git (process.lua): it yields in a scheduler and blocks elsewhere.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local git = require "koine.system.artifacts.git"

local artifacts = {}

-- State of the working tree ---------------------------------------------------------------------------------------

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

local look

-- The state of a repository below this one, as text: its commit and the states in it; "" where there is none of its
-- own; or nil, err.
local function inner(repo, path)
  local place = repo.root .. "/" .. path
  local nested <close>, err = git.open(place, repo)
  if not nested then
    if err.kind == "other" and not err.code then return "" end -- no directory, or one that cannot be entered
    return nil, err
  end
  if nested.root ~= place then return "" end -- not set up: git found the repository around it
  local seen
  seen, err = look(nested)
  if not seen then return nil, err end
  local lines = {}
  for name, state in next, seen.states do lines[#lines + 1] = name .. "\0" .. state end
  table.sort(lines, core.before)
  return tostring(seen.head) .. "\0" .. table.concat(lines, "\0")
end

-- Mode and content (as git hashes it) of each of the files: path → text, or nil, err. An index of our own holds
-- them; git stores nothing.
local function contents(repo, files)
  local found = {}
  if #files == 0 then return found end
  repo:clear_index()
  local done, err = repo:run({ "update-index", "--add", "--remove", "--info-only", "-z", "--stdin" },
    { own_index = true, stdin = table.concat(files, "\0") .. "\0" })
  if not done then return nil, err end
  local listed
  listed, err = repo:run({ "ls-files", "--stage", "-z" }, { own_index = true })
  if not listed then return nil, err end
  for content, path in listed:gmatch "([^\t\0]*)\t([^\0]+)\0" do found[path] = content end
  return found
end

-- Adds the paths of the repositories that the index knows, unless something else is there in the working tree. git
-- itself would start another git in each of them, which reads that repository's configuration.
local function add_submodules(repo, set, modes)
  local listed, err = repo:run { "ls-files", "--stage", "-z" }
  if not listed then return nil, err end
  for path in ("\0" .. listed):gmatch "\x00160000 [^\t\0]*\t([^\0]+)" do
    set[path] = set[path] or (modes[path] or REPOSITORY) == REPOSITORY or nil
  end
  return true
end

-- Reads the present state: {head = the commit, nil where there is none yet, states = {path → state of everything that
-- differs from the last commit, is untracked, or is a repository}}; or nil, err.
function look(repo)
  local listed, err = repo:run { "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames",
    "--ignore-submodules=dirty" }
  if not listed then return nil, err end
  local states, modes, files, repositories = {}, {}, {}, {}
  for record in listed:gmatch "([^\0]+)\0" do
    local path, state, mode = parse(record)
    if path then
      local name = path:gsub("/$", "")
      states[name], modes[name] = state, mode
      if mode == REPOSITORY or name ~= path then
        repositories[name] = true
      elseif mode ~= GONE then
        files[#files + 1] = name
      end
    elseif record:sub(1, 2) ~= "# " then
      return nil, errors.new { kind = "other", code = "git", message = "git status: unknown record " .. record }
    end
  end
  local done
  done, err = add_submodules(repo, repositories, modes)
  if not done then return nil, err end
  for path in next, repositories do
    local text
    text, err = inner(repo, path)
    if not text then return nil, err end
    states[path] = (states[path] or "") .. " " .. text
  end
  local found
  found, err = contents(repo, files)
  if not found then return nil, err end
  for path, content in next, found do states[path] = states[path] .. " " .. content end
  return { head = listed:match "^# branch%.oid (%x+)\0", states = states }
end

-- Commits -----------------------------------------------------------------------------------------------------------

-- Adds the paths in which two commits or trees differ to the set.
local function add_difference(set, repo, from, to)
  local listed, err = repo:run { "diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to }
  if not listed then return nil, err end
  for path in listed:gmatch "([^\0]+)\0" do set[path] = true end
  return true
end

-- The common base of two HEADs: the commit both build on; the old one where they share none; where one of them has no
-- commit, the empty tree.
local function base_of(repo, before, after)
  local args, stdin = { "merge-base", before, after }, nil
  if not (before and after) then args, stdin = { "hash-object", "-t", "tree", "--stdin" }, "" end
  local base, err = repo:run(args, { stdin = stdin, code = stdin == nil and 1 or nil })
  if not base then return nil, err end
  return base:match "^%x+" or before
end

-- Adds what the commits between two HEADs changed. Where the new one does not build on the old one (another branch, a
-- reset), both sides count: the paths that left the working tree and those that came.
local function add_commits(set, repo, before, after)
  if before == after then return true end
  local base, err = base_of(repo, before, after)
  if not base then return nil, err end
  for _, commit in next, { before, after } do
    local done
    done, err = add_difference(set, repo, base, commit)
    if not done then return nil, err end
  end
  return true
end

-- The two moments ---------------------------------------------------------------------------------------------------

local SNAPSHOT = check.options { timeout = check.time_limit }
local COMPARE = check.options { timeout = check.time_limit, relative_to = check.one_of { "root", "workdir" } }

--- The state of the directory as git sees it now: a snapshot for `compare`, or nil, err. `workdir` is a path in a
-- working tree; `opts`: timeout = seconds for each git command (60). The snapshot's fields: `root`, the top of the
-- working tree; `prefix`, the directory below it ("" or "a/b/"); `head`, the commit, nil where there is none yet.
-- The error is of kind "other" with code "absent" (no git), "not_a_repository", or "git" (it failed; the message says
-- how); without a code where the directory cannot be entered. Raises an ArgumentError for wrong options.
function artifacts.snapshot(workdir, opts)
  if opts == nil then opts = {} end
  local repo <close>, err = git.open(check.path(workdir, "workdir"), SNAPSHOT(opts))
  if not repo then return nil, err end
  local seen
  seen, err = look(repo)
  if not seen then return nil, err end
  return { root = repo.root, prefix = repo.prefix, head = seen.head, states = seen.states }
end

-- A path from the top as one from the directory `prefix` below the top.
local function relative(path, prefix)
  local up, shared = "", prefix
  while path:sub(1, #shared) ~= shared do
    up, shared = up .. "../", shared:match "^(.*/)[^/]+/$" or ""
  end
  return up .. path:sub(#shared + 1)
end

-- Adds the paths whose state differs between `before` and `after` to a set.
local function add_states(set, before, after)
  for path, state in next, before do set[path] = set[path] or state ~= after[path] or nil end
  for path in next, after do set[path] = set[path] or before[path] == nil or nil end
end

--- The changes since the snapshot: a sorted array of paths with forward slashes, and {head_before, head_after}
-- (commits, nil where there is none); or nil, err as from `snapshot`. `opts`: timeout; relative_to = "root" (default:
-- the top of the working tree) or "workdir" (the snapshot's directory; what is outside begins with "../"). Raises an
-- ArgumentError for wrong options.
function artifacts.compare(before, opts)
  if type(before) ~= "table" or type(before.root) ~= "string" or type(before.states) ~= "table" then
    errors.argument("before", "snapshot", before)
  end
  if opts == nil then opts = {} end
  local kept = COMPARE(opts)
  local to = kept.relative_to
  local repo <close>, err = git.open(before.root, kept)
  if not repo then return nil, err end
  if repo.root ~= before.root then
    return nil, errors.new { kind = "other", code = "not_a_repository", message = "the repository is gone" }
  end
  local after, done
  after, err = look(repo)
  if not after then return nil, err end
  local set = {}
  done, err = add_commits(set, repo, before.head, after.head)
  if not done then return nil, err end
  add_states(set, before.states, after.states)
  local paths = {}
  for path in next, set do paths[#paths + 1] = to == "workdir" and relative(path, before.prefix) or path end
  table.sort(paths, core.before)
  return paths, { head_before = before.head, head_after = after.head }
end

return artifacts
