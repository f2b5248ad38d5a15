--- The tools that read and write one file or list one directory. Paths go through the core's workdir, which opens
-- nothing outside of the working directory.

local cut = require("koine.data.text").cut
local text = require "koine.system.executor.text"

local files = {}

--- Bytes of a file that tools read.
files.FILE_MAX = 16 << 20
--- Bytes of a path that tools take.
files.PATH_MAX = 4095
--- Entries of a directory that tools list.
files.ENTRIES_MAX = 20000
--- The note behind text whose bytes had to be repaired.
files.REPAIRED = "\n[bytes that are no UTF-8 are shown as U+FFFD]"

local LINES_MAX = 2000 -- lines that read_file returns by default

--- A text file's bytes, or nil and the result for the model (text, info | nil, err) as a function to return.
function files.load(machine, path)
  local bytes, err = machine.files:read(path, files.FILE_MAX)
  if not bytes then return nil, function() return text.refused(err) end end
  if text.is_binary(bytes) then
    return nil, function() return text.mistake(("%s: a binary file of %d bytes"):format(path, #bytes)) end
  end
  return bytes
end

--- Writes a file: `said`, or the result that says why not.
function files.save(machine, path, bytes, said)
  local ok, err = machine.files:write(path, bytes)
  if not ok then return text.refused(err) end
  return said
end

--- The file with `old`, which must be there once, replaced by `new`. Line ends are the file's own: "\n" in `old` and
-- `new` means "\r\n" where all its lines end so.
function files.replace(machine, path, old, new)
  if old == "" then return text.mistake "old_str: the text to replace expected, got an empty one" end
  local bytes, fail = files.load(machine, path)
  if not bytes then return fail() end
  old, new = text.like(bytes, old), text.like(bytes, new)
  if old == new then return text.mistake "old_str and new_str are the same: nothing to change" end
  local n, first = text.count(bytes, old)
  if n == 0 then return text.mistake(path .. ": old_str is not in the file; it must match exactly, white space too") end
  if n > 1 then return text.mistake(path .. ": old_str is in the file more than once; add lines around it") end
  return files.save(machine, path, bytes:sub(1, first - 1) .. new .. bytes:sub(first + #old),
    ("Edited %s at line %d."):format(path, text.line_at(bytes, first)))
end

local MARKS = { directory = "/", link = "@", other = "?" }

--- The entries of a directory, one a line.
function files.listing(machine, path)
  local names, kinds = machine.files:list(path, files.ENTRIES_MAX)
  if not names then return text.refused(kinds) end
  if #names == 0 then return "(empty directory)" end
  for i, name in ipairs(names) do names[i] = name:gsub("%c", "?") .. (MARKS[kinds[i]] or "") end
  return table.concat(names, "\n")
end

-- read_file ---------------------------------------------------------------------------------------------------------

-- At most `most` lines of a text, from `from` on, as far as `max` bytes reach, and a note when that is not all of it.
local function excerpt(bytes, from, most, max)
  local n = text.count_lines(bytes)
  if from > math.max(n, 1) then return text.mistake(("offset: the file has %d lines"):format(n)) end
  if n == 0 then return "(empty file)" end
  local lines, is_whole, is_repaired = text.excerpt(bytes, from, most, max, 0)
  local last = from + #lines - 1
  local part = table.concat(lines, "\n") .. ((last < n or bytes:byte(-1) == 10) and "\n" or "")
  if from > 1 or last < n or not is_whole then
    part = cut(part, max)
    part = ("%s%s[lines %d to %d of %d]"):format(part, part:sub(-1) == "\n" and "" or "\n", from, last, n)
  end
  return is_repaired and part .. files.REPAIRED or part
end

local function read_file(machine, input)
  local bytes, fail = files.load(machine, input.path)
  if not bytes then return fail() end
  local from = math.tointeger(input.offset or 1)
  return excerpt(bytes, from, math.tointeger(input.limit or LINES_MAX), machine.output_max)
end

local function write_file(machine, input)
  return files.save(machine, input.path, input.content, ("Wrote %d bytes to %s."):format(#input.content, input.path))
end

local function edit_file(machine, input)
  return files.replace(machine, input.path, input.old_str, input.new_str)
end

local function list_dir(machine, input) return files.listing(machine, input.path or ".") end

local function path(of) return { type = "string", description = of .. ", relative to the working directory." } end

--- The tools, as init.lua takes them.
files.tools = {
  { name = "read_file", capped = true, run = read_file,
    description = "Reads a text file, or a part of it. Returns its lines as they are.",
    parameters = { type = "object", required = { "path" }, properties = {
      path = path "The file",
      offset = { type = "integer", minimum = 1, description = "The first line to read, counted from 1." },
      limit = { type = "integer", minimum = 1, description = "How many lines to read (default 2000)." },
    } } },
  { name = "write_file", mutates = true, run = write_file,
    description = "Writes a file: replaces its whole content, or makes it and the directories above it.",
    parameters = { type = "object", required = { "path", "content" }, properties = {
      path = path "The file",
      content = { type = "string", description = "The whole new content." },
    } } },
  { name = "edit_file", mutates = true, run = edit_file,
    description = "Replaces one piece of text in a file. The old text must match exactly, and be there exactly once.",
    parameters = { type = "object", required = { "path", "old_str", "new_str" }, properties = {
      path = path "The file",
      old_str = { type = "string", description = "The text to replace, with enough around it to be unique." },
      new_str = { type = "string", description = "The text to put in its place; may be empty." },
    } } },
  { name = "list_dir", run = list_dir,
    description = "Lists a directory, sorted, one entry a line: directories end with /, symbolic links with @, what is "
      .. "neither these nor a file with ?.",
    parameters = { type = "object", properties = {
      path = path "The directory (default: the working directory itself)",
    } } },
}

return files
