--- `koine trace`: shows a log of observers' records as trees.

local failure = require "koine.cli.failure"
local follow = require "koine.cli.trace.follow"
local koine = require "koine"
local terminal = require "koine.cli.terminal"
local text = require "koine.cli.trace.text"

local trace = {}

-- Writes to a descriptor that the shell has opened for us (">(gzip >page.gz)").
local function write_open(path, page)
  local to <close>, why = io.open(path, "wb")
  if not to then failure.fail(failure.FAILED, "%s", why) end
  local written, problem = to:write(page)
  if written then written, problem = to:close() end
  if not written then failure.fail(failure.FAILED, "%s: %s", path, problem) end
end

-- Writes the page of records to a file that is its owner's alone, whole or not at all; to the standard output for "-".
local function write_page(records, path)
  local page = koine.observe.page(records)
  if path == "-" then return terminal.out(page) end
  if path:find "^/dev/" or path:find "^/proc/self/fd/" then return write_open(path, page) end
  local written, err = koine.files.write(path, page)
  if not written then failure.fail(failure.FAILED, "%s", err.message) end
end

-- The records of the traces whose ids begin with `wanted` (nil: all).
local function of_trace(records, wanted)
  if not wanted then return records end
  local list = {}
  for _, record in ipairs(records) do
    if tostring(record.trace):sub(1, #wanted) == wanted then list[#list + 1] = record end
  end
  if not list[1] then failure.fail(failure.WRONG_USE, "-t: no trace begins with %q", wanted) end
  return list
end

local LINES <const> = 500 -- that are written at once

-- Writes trees as lines.
local function write_lines(roots)
  local lines = {}
  local function write()
    terminal.out(table.concat(lines))
    lines = {}
  end
  for _, root in ipairs(roots) do
    for line in text.lines(root) do
      lines[#lines + 1] = line .. "\n"
      if #lines == LINES then write() end
    end
  end
  write()
end

--- The command: its exit code.
function trace.command(args)
  if args.follow then return follow.run(args.file, args.trace) end
  if args.html and terminal.is_same_file(args.file, args.html) then
    failure.fail(failure.WRONG_USE, "--html: %s is the log: name another file", args.html)
  end
  local records, broken = koine.observe.read(args.file)
  if not records then failure.fail(failure.FAILED, "%s", broken.message) end
  if broken > 0 then terminal.say("%d lines hold no record", broken) end
  records = of_trace(records, args.trace)
  if args.html then
    write_page(records, args.html)
    return 0
  end
  write_lines(koine.observe.tree(records))
  return 0
end

return trace
