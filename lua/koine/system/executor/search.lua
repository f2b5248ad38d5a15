--- The tools that look through a directory and all below it: glob for names, grep for text. They do not follow links
-- and do not enter .git. A long search lets other tasks run.

local core = require "koine.core"
local wait = require "koine.task.wait"
local files = require "koine.system.executor.files"
local glob = require "koine.system.executor.glob"
local paths = require "koine.system.executor.paths"
local cut = require("koine.data.text").cut
local text = require "koine.system.executor.text"

local VISITS_MAX = 200000     -- entries that one search looks at
local NAMES_MAX = 1000        -- that glob returns
local MATCHES_MAX = 200       -- lines that grep returns
local LINE_MAX = 300          -- bytes of a line that grep shows
local TEXT_MAX = 4096         -- bytes of what grep looks for
local READ_MAX = 1 << 30      -- bytes that one search reads
local WINDOW = 64 << 10       -- bytes that grep searches at once

-- Work is measured in bytes that are searched.
local WORK_AT_ONCE = 1 << 20  -- between two moments for others
local ENTRY_WORK = 2 << 10    -- what an entry of a directory costs
local LINE_WORK = 64          -- what a line costs

-- A search under way: {machine, left = entries it may still look at, room = bytes it may still read, unread =
-- directories that could not be read, found = lines of the result, most = how many it may have, weight = what a byte of
-- a name costs, work = done since other tasks last ran}. `pattern` is what names are matched with, nil for nothing.
local function new_search(machine, most, pattern)
  return { machine = machine, left = VISITS_MAX, room = READ_MAX, unread = 0, found = {}, most = most,
    weight = pattern and pattern.size or 0, work = 0 }
end

-- Counts work, and lets other tasks run when it is much: true, or nil, err when the search was cancelled.
local function spend(search, work)
  search.work = search.work + work
  if search.work < WORK_AT_ONCE then return true end
  search.work = 0
  local _, err = wait.park({}, 0)
  if err then return nil, err end
  return true
end

-- Counts one entry: true to go on; false when the search is over, nil, err when it was cancelled.
local function count(search, name)
  search.left = search.left - 1
  if search.left <= 0 or search.room <= 0 or #search.found >= search.most then return false end
  return spend(search, ENTRY_WORK + search.weight * #name)
end

-- Calls visit(path, name, kind, state) → the state to go into a directory with, nil not to, or nil, err when it was
-- cancelled, for everything below the directory `dir`. true, false when the search is over before the end, or nil, err
-- when it was cancelled.
local function walk(search, dir, state, visit)
  local names, kinds = search.machine.files:list(dir, files.ENTRIES_MAX)
  if not names then
    search.unread = search.unread + 1
    return true
  end
  for i, name in ipairs(names) do
    local going, err = count(search, name)
    if not going then return going, err end
    local path = paths.join(dir, name)
    local inner, stopped = visit(path, name, kinds[i], state)
    if stopped then return nil, stopped end
    if inner and kinds[i] == "directory" and name ~= ".git" then
      going, err = walk(search, path, inner, visit)
      if not going then return going, err end
    end
  end
  return true
end

-- "1 file", "2 files".
local function counted(n, one, many) return ("%d %s"):format(n, n == 1 and one or many) end

-- Lists all that was found, one a line, with notes about what was not looked at.
local function result(search, whole, notes)
  if search.unread > 0 then
    notes[#notes + 1] = counted(search.unread, "directory", "directories") .. " could not be read"
  end
  if not whole then notes[#notes + 1] = "there may be more: the search was ended here" end
  local lines = search.found
  if #lines == 0 then lines[1] = "(nothing found)" end
  for _, note in ipairs(notes) do lines[#lines + 1] = "[" .. note .. "]" end
  return table.concat(lines, "\n")
end

-- The kind of what the search begins with, or nil and the result that says why not.
local function start_of(machine, path)
  local kind, err = machine.files:stat(path)
  if not kind then return nil, function() return text.refused(err) end end
  return kind
end

-- glob --------------------------------------------------------------------------------------------------------------

local function run_glob(machine, input)
  local pattern, expected = glob.compile(input.pattern)
  if not pattern then return text.mistake("pattern: " .. expected .. " expected") end
  local from = input.path or "."
  local kind, fail = start_of(machine, from)
  if not kind then return fail() end
  if kind ~= "directory" then return text.mistake(from .. ": no directory") end
  local search = new_search(machine, NAMES_MAX, pattern)
  local whole, err = walk(search, from, glob.start(pattern), function(path, name, is, state)
    local after, done, more = glob.step(pattern, state, name)
    if done and is ~= "directory" then search.found[#search.found + 1] = path end
    return more and after or nil
  end)
  if err then return nil, err end
  return result(search, whole, {})
end

-- grep --------------------------------------------------------------------------------------------------------------

-- Where `wanted` is first found at or behind `at`; nil when it is not, nil, err when the search was cancelled.
local function find(search, bytes, wanted, at, fold)
  while at <= #bytes do
    local window = bytes:sub(at, at + WINDOW + #wanted - 2)
    local hit = core.text_find(fold and window:lower() or window, wanted, 1)
    local _, err = spend(search, hit or #window)
    if err then return nil, err end
    if hit then return at + hit - 1 end
    at = at + WINDOW
  end
end

-- The line that holds the byte at `hit`, of those from `at`, where one begins: how many are before it, its first byte
-- and where it ends; or nil, err when the search was cancelled.
local function line_of(search, bytes, at, hit)
  local before, stop = 0, bytes:find("\n", at, true) or #bytes + 1
  while stop < hit do
    local going, err = spend(search, LINE_WORK + stop - at)
    if not going then return nil, err end
    before, at = before + 1, stop + 1
    stop = bytes:find("\n", at, true) or #bytes + 1
  end
  return before, at, stop
end

-- A line as it is shown: its bytes from `start` to before `stop`.
local function shown(bytes, start, stop)
  if bytes:byte(stop - 1) == 13 then stop = stop - 1 end
  local line, was_cut = cut(bytes:sub(start, math.min(stop - 1, start + LINE_MAX)), LINE_MAX)
  return was_cut and line .. " …" or line
end

-- Adds the lines of a file that hold `wanted`: nothing, or nil, err when the search was cancelled.
local function grep_file(search, path, bytes, wanted, fold)
  local number, at = 1, 1
  while #search.found < search.most do
    local hit, err = find(search, bytes, wanted, at, fold)
    if not hit then return nil, err end
    local before, start, stop = line_of(search, bytes, at, hit)
    if not before then return nil, start end
    number = number + before
    search.found[#search.found + 1] = ("%s:%d:%s"):format(path, number, shown(bytes, start, stop))
    at, number = stop + 1, number + 1
  end
end

-- Looks into one file; counts in `skipped` why one was not looked into. Nothing, or nil, err when it was cancelled.
local function look(search, path, input, skipped, ctx)
  if search.machine.denied("read_file", { path = path }, ctx) then
    skipped.policy = skipped.policy + 1
    return
  end
  local bytes = search.machine.files:read(path, files.FILE_MAX)
  if not bytes then
    skipped.unread = skipped.unread + 1
    return
  end
  search.room = search.room - #bytes
  local _, err = spend(search, #bytes)
  if err then return nil, err end
  if text.is_binary(bytes) then return end
  return grep_file(search, path, bytes, input.ignore_case and input.text:lower() or input.text, input.ignore_case)
end

-- The notes about files that were not looked into.
local function notes_of(skipped)
  local notes = {}
  if skipped.policy > 0 then notes[1] = counted(skipped.policy, "file", "files") .. " left out: permission denied" end
  if skipped.unread > 0 then notes[#notes + 1] = counted(skipped.unread, "file", "files") .. " could not be read" end
  return notes
end

-- A compiled filter of paths: one without a slash is for the name alone; nil when there is none; nil and a word.
local function filter_of(input)
  if not input.glob then return nil end
  return glob.compile(input.glob:find("/", 1, true) and input.glob or "**/" .. input.glob)
end

local function run_grep(machine, input, ctx)
  if #input.text > TEXT_MAX or not input.text:find "^[^\n]+$" then
    return text.mistake(("text: one line, not empty, at most %d bytes, expected"):format(TEXT_MAX))
  end
  local filter, expected = filter_of(input)
  if expected then return text.mistake("glob: " .. expected .. " expected") end
  local from = input.path or "."
  local kind, fail = start_of(machine, from)
  if not kind then return fail() end
  local search, skipped = new_search(machine, MATCHES_MAX, filter), { policy = 0, unread = 0 }
  if kind ~= "directory" then
    local _, err = look(search, from, input, skipped, ctx)
    if err then return nil, err end
    return result(search, #search.found < search.most, notes_of(skipped))
  end
  local whole, err = walk(search, from, filter and glob.start(filter) or {}, function(path, name, is, state)
    local after, done, more = state, true, true
    if filter then after, done, more = glob.step(filter, state, name) end
    if is ~= "file" or not done then return more and after or nil end
    return look(search, path, input, skipped, ctx)
  end)
  if err then return nil, err end
  return result(search, whole and #search.found < search.most, notes_of(skipped))
end

local BELOW = { type = "string",
  description = "Where to search, relative to the working directory (default: all of it)." }

return {
  { name = "glob", run = run_glob,
    description = "Finds files by name, sorted. * stands for any characters of a name, ? for one, [a-z] for one of "
      .. "these, {a,b} for either, ** for any number of directories. Hidden names match only where the pattern has the "
      .. "dot. Links are not followed; at most 1000 names.",
    parameters = { type = "object", required = { "pattern" }, properties = {
      pattern = { type = "string", description = "For example **/*.lua or src/*.{c,h}." },
      path = BELOW,
    } } },
  { name = "grep", run = run_grep,
    description = "Finds the lines of text files that hold a text: plain text, no regular expression. Returns "
      .. "path:line:content. Links are not followed, binary files passed over; at most 200 lines.",
    parameters = { type = "object", required = { "text" }, properties = {
      text = { type = "string", description = "The text to find, one line." },
      path = BELOW,
      glob = { type = "string", description = "Only files whose path matches this pattern, as for the tool glob; a "
        .. "pattern without / is for the name alone." },
      ignore_case = { type = "boolean", description = "Whether A and a are the same (ASCII letters only)." },
    } } },
}
