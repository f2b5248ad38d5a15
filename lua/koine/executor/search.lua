--- The tools that look through a directory and all below it: glob for names, grep for text. Links are not followed, the
-- insides of .git not looked at. A long search lets other tasks run.
--
-- May call: wait, executor.files, executor.glob, executor.paths, executor.text.

local wait = require "koine.wait"
local files = require "koine.executor.files"
local glob = require "koine.executor.glob"
local paths = require "koine.executor.paths"
local text = require "koine.executor.text"

local VISITS_MAX = 200000     -- entries that one search looks at
local VISITS_AT_ONCE = 500    -- between two moments for others
local NAMES_MAX = 1000        -- that glob returns
local MATCHES_MAX = 200       -- lines that grep returns
local LINE_MAX = 300          -- bytes of a line that grep shows

-- A search under way: {machine, left = entries it may still look at, unread = directories that could not be read,
-- found = lines of the result, most = how many it may have}.
local function new_search(machine, most)
  return { machine = machine, left = VISITS_MAX, unread = 0, found = {}, most = most }
end

-- Counts one entry: true to go on; false when the search is over, nil, err when it was cancelled.
local function count(search)
  search.left = search.left - 1
  if search.left <= 0 or #search.found >= search.most then return false end
  if search.left % VISITS_AT_ONCE ~= 0 then return true end
  local _, err = wait.park({}, 0)
  if err then return nil, err end
  return true
end

-- Calls visit(path, name, kind, state) → the state to go into a directory with, or nil not to, for everything below the
-- directory `dir`. true, false when the search is over before the end, or nil, err when it was cancelled.
local function walk(search, dir, state, visit)
  local names, kinds = search.machine.tree:list(dir, files.ENTRIES_MAX)
  if not names then
    search.unread = search.unread + 1
    return true
  end
  for i, name in ipairs(names) do
    local going, err = count(search)
    if not going then return going, err end
    local path = paths.join(dir, name)
    local inner = visit(path, name, kinds[i], state)
    if inner and kinds[i] == "directory" and name ~= ".git" then
      going, err = walk(search, path, inner, visit)
      if not going then return going, err end
    end
  end
  return true
end

-- "1 file", "2 files".
local function counted(n, one, many) return ("%d %s"):format(n, n == 1 and one or many) end

-- What was found, one a line, with notes about what was not looked at.
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
  local kind, err = machine.tree:stat(path)
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
  local search = new_search(machine, NAMES_MAX)
  local whole, err = walk(search, from, glob.start(pattern), function(path, name, is, state)
    local after, done, more = glob.step(pattern, state, name)
    if done and is ~= "directory" then search.found[#search.found + 1] = path end
    return more and after or nil
  end)
  if err then return nil, err end
  return result(search, whole, {})
end

-- grep --------------------------------------------------------------------------------------------------------------

-- Adds the lines of a file that hold `wanted`.
local function grep_file(search, path, bytes, wanted, fold)
  local searched = fold and bytes:lower() or bytes
  if not searched:find(wanted, 1, true) then return end
  local number, at = 1, 1
  while #search.found < search.most do
    local hit = searched:find(wanted, at, true)
    if not hit then return end
    local _, before = bytes:sub(at, hit - 1):gsub("\n", "")
    number = number + before
    local stop = bytes:find("\n", hit, true) or #bytes + 1
    local start = hit
    while start > 1 and bytes:byte(start - 1) ~= 10 do start = start - 1 end
    local line, cut = text.cut(bytes:sub(start, stop - 1):gsub("\r$", ""), LINE_MAX)
    search.found[#search.found + 1] = ("%s:%d:%s%s"):format(path, number, line, cut and " …" or "")
    at, number = stop + 1, number + 1
  end
end

-- Looks into one file; counts in `skipped` why one was not looked into.
local function look(search, path, input, skipped, ctx)
  if search.machine.denied("read_file", { path = path }, ctx) then
    skipped.policy = skipped.policy + 1
    return
  end
  local bytes = search.machine.tree:read(path, files.FILE_MAX)
  if not bytes then
    skipped.unread = skipped.unread + 1
  elseif not text.is_binary(bytes) then
    grep_file(search, path, bytes, input.ignore_case and input.text:lower() or input.text, input.ignore_case)
  end
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
  if not input.text:find "^[^\n]+$" then return text.mistake "text: one line, not empty, expected" end
  local filter, expected = filter_of(input)
  if expected then return text.mistake("glob: " .. expected .. " expected") end
  local from = input.path or "."
  local kind, fail = start_of(machine, from)
  if not kind then return fail() end
  local search, skipped = new_search(machine, MATCHES_MAX), { policy = 0, unread = 0 }
  if kind ~= "directory" then
    look(search, from, input, skipped, ctx)
    return result(search, #search.found < search.most, notes_of(skipped))
  end
  local whole, err = walk(search, from, filter and glob.start(filter) or {}, function(path, name, is, state)
    local after, done, more = state, true, true
    if filter then after, done, more = glob.step(filter, state, name) end
    if is == "file" and done then look(search, path, input, skipped, ctx) end
    return more and after or nil
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
