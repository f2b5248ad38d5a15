--- `koine trace`: shows a log of observers' records as trees.

local failure = require "koine.cli.failure"
local koine = require "koine"
local terminal = require "koine.cli.terminal"
local text = require "koine.cli.trace.text"

local trace = {}

-- The trees to show: all, or those of the traces whose ids begin with `wanted`.
local function chosen(roots, wanted)
  if not wanted then return roots end
  local list = {}
  for _, root in ipairs(roots) do
    if root.trace:sub(1, #wanted) == wanted then list[#list + 1] = root end
  end
  if not list[1] then failure.fail(failure.USAGE, "no trace begins with %q", wanted) end
  return list
end

--- The command: its exit code.
function trace.command(args)
  local records, broken = koine.observe.read(args.file)
  if not records then failure.fail(failure.FAILED, "%s", broken.message) end
  if broken > 0 then terminal.say("%d lines hold no record", broken) end
  for _, root in ipairs(chosen(koine.observe.tree(records), args.trace)) do
    for line in text.lines(root) do terminal.out(line .. "\n") end
  end
  return 0
end

return trace
