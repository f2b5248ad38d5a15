--- Spans that are open, by their ids: what a start said, for whoever reads an end. Ends take them out, so there are
-- only as many as there is work under way.

local spans = {}

local methods = {}
local spans_mt = { __index = methods }

--- No spans yet.
function spans.new() return setmetatable({ open = {}, outer = {} }, spans_mt) end

--- Takes a record: for an end the record of its start (nil: unknown), which is forgotten once the next record comes.
function methods:take(record)
  if self.over then self.open[self.over], self.outer[self.over], self.over = nil, nil, nil end
  if record.phase == "start" then
    self.open[record.id] = record
  elseif record.phase == "end" then
    self.over = record.id
    return self.open[record.id]
  end
end

--- The start of the nearest span of this type that `start` (a record) is a part of, or is; nil where there is none.
function methods:nearest(start, type)
  while start do
    if start.type == type then return start end
    start = start.parent and self.open[start.parent]
  end
end

--- Whether a span of this type that ends (its end and start; nil: unknown) had one of its own type directly in it that
-- ended before, and notes that its parent, if it is of this type, has one.
function methods:has_inner(finish, start, type)
  local above = start and start.parent and self.open[start.parent]
  if above and above.type == type then self.outer[above.id] = true end
  return self.outer[finish.id] == true
end

return spans
