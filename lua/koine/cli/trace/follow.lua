--- `koine trace --follow`: writes a line for each span of a log when it ends, and for what happens in it.

local koine = require "koine"
local failure = require "koine.cli.failure"
local terminal = require "koine.cli.terminal"
local text = require "koine.cli.trace.text"

local follow = {}

local SECONDS <const> = 0.2 -- between looks at the file
local DEPTH_MAX <const> = 20 -- of what is shown
local OPEN_MAX <const> = 100000 -- spans that are waited for; the ends of others have no names

-- What spans are open: by id {start = record, depth = number, parts = what its parts that ended used, see text.sum}.
local open_mt = { __index = {} }

function open_mt.__index:depth_below(id)
  local above = id and self.spans[id]
  return above and math.min(above.depth + 1, DEPTH_MAX) or 0
end

-- The line for a record; nil where there is none to be written.
function open_mt.__index:line_of(record)
  local depth, words = self:depth_below(record.parent), nil
  if record.phase == "start" then
    if self.count < OPEN_MAX and not self.spans[record.id] then
      self.spans[record.id], self.count = { start = record, depth = depth, parts = text.sum() }, self.count + 1
    end
  elseif record.phase == "end" then
    local known = self.spans[record.id]
    depth = known and known.depth or depth
    if known then self.spans[record.id], self.count = nil, self.count - 1 end
    local node = koine.observe.tree { known and known.start or record, record }[1]
    local parts = known and known.parts or text.sum()
    local used, above = text.used(node, parts), record.parent and self.spans[record.parent]
    if above then text.add(above.parts, node, used) end
    words = text.line(node, parts, used)
  elseif record.type ~= "delta" then
    words = text.point(record)
  end
  return words and ("%s  %s  %s%s\n"):format(text.clock(record.time), tostring(record.trace):sub(1, 8),
    ("  "):rep(depth), words)
end

--- Follows the log at a path, of all traces or those whose ids begin with `wanted`, until it is interrupted. Fails when
-- the file cannot be read; one that is not there is waited for.
function follow.run(path, wanted)
  local log <close> = koine.observe.follow(path)
  local open = setmetatable({ spans = {}, count = 0 }, open_mt)
  local said = false
  while true do
    local records, broken, more = log:read()
    if not records then failure.fail(failure.FAILED, "%s", broken.message) end
    if broken > 0 then terminal.say("%d lines hold no record", broken) end
    for _, record in ipairs(records) do
      local is_wanted = not wanted or tostring(record.trace):sub(1, #wanted) == wanted
      local line = is_wanted and type(record.id) == "string" and open:line_of(record)
      if line then terminal.out(line) end
    end
    if not more then
      if not log:is_there() and not said then terminal.say("waiting for %s", path) end
      said = said or not log:is_there()
      terminal.progress(open.count > 0 and ("%d open"):format(open.count) or nil)
      koine.sleep(SECONDS)
    end
  end
end

return follow
