--- The first message of a session: the task, and the files that belong to it.

local core = require "koine.core"
local errors = require "koine.data.errors"
local cut = require("koine.data.text").cut
local text = require "koine.system.executor.text"

local context = {}

-- The beginning of a file, more than `max` bytes where it has more, and how many it has; nil when there is no such
-- file; nil, err when it cannot be read.
local function read(path, max)
  local bytes, size = core.file_read_start(path, max + 1)
  if bytes then return bytes, size end
  if size.code == "absent" then return nil end
  return nil, errors.new { kind = "other", code = "context", message = "context file " .. size.message }
end

local function basename(path) return path:match "([^/]*)/*$" end

-- The title of each file: its last name, or where two have the same, its path from the working directory.
local function titles(paths, workdir)
  local count, names = {}, {}
  for _, path in ipairs(paths) do
    local name = basename(path)
    count[name] = (count[name] or 0) + 1
  end
  local prefix = workdir:gsub("/*$", "/")
  for i, path in ipairs(paths) do
    local name = basename(path)
    if count[name] > 1 then name = path:sub(1, #prefix) == prefix and path:sub(#prefix + 1) or path end
    names[i] = name:gsub("%c", " ")
  end
  return names
end

--- The prompt with the files of `input` (prompt, context_files, workdir, max_context_bytes) behind it, and {skipped,
-- cut}: arrays of the paths that are not there, and of those that were too long; or nil, err when one cannot be read.
function context.message(input)
  local parts, skipped, cut_off = { input.prompt }, core.array {}, core.array {}
  local names = titles(input.context_files, input.workdir)
  for i, path in ipairs(input.context_files) do
    local bytes, size = read(path, input.max_context_bytes)
    if not bytes and size then return nil, size end
    if bytes then
      local kept, was_cut = cut(bytes, input.max_context_bytes)
      if was_cut then
        kept = ("%s\n[%d more bytes]"):format(kept, size - #kept)
        cut_off[#cut_off + 1] = path
      end
      parts[#parts + 1] = ("\n\n--- %s ---\n%s"):format(text.repair(names[i]), text.repair(kept))
    else
      skipped[#skipped + 1] = path
    end
  end
  return table.concat(parts, "\n"), { skipped = skipped, cut = cut_off }
end

return context
