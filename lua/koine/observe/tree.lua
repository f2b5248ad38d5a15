--- Records as trees: what was a part of what, however the records are ordered and whatever is missing.

local check = require "koine.data.check"
local misses = require "koine.observe.misses"
local name_of = require "koine.observe.names"

local OPEN = { start = true }

-- Damaged records may say anything of their time.
local function time_of(node) return type(node.time) == "number" and node.time or 0 end

local function by_time(a, b)
  local first, second = time_of(a), time_of(b)
  if first ~= second then return first < second end
  return a.place < b.place
end

-- The node of a span or a point, made on first sight.
local function node_of(nodes, record, place)
  local node = nodes[record.id]
  if not node then
    node = { id = record.id, trace = record.trace, type = record.type, parent = record.parent, time = record.time,
      place = place, parts = {}, points = {}, open = OPEN[record.phase] or nil }
    nodes[record.id] = node
    nodes[#nodes + 1] = node
  end
  return node
end

local function take(nodes, record, place)
  local node = node_of(nodes, record, place)
  if record.phase == "end" then
    node.finish, node.open, node.seconds, node.error = record, nil, record.seconds, record.error
  elseif record.phase == "point" then
    node.point, node.name = record, name_of(record)
  else
    node.start, node.time, node.name = record, record.time, name_of(record)
    node.open = not node.finish or nil
  end
end

-- Whether the ancestors of a node end at a root: records of a damaged file may go round in a circle. `sound` has the
-- nodes of which is known whether they do.
local function reaches_root(nodes, node, sound)
  local path, above = {}, node
  while above and sound[above] == nil do
    path[#path + 1], sound[above] = above, false -- met again, it is in a circle
    above = above.parent and nodes[above.parent]
  end
  local reaches = not above or sound[above]
  for _, one in ipairs(path) do sound[one] = reaches end
  return reaches
end

local function chats_of(nodes)
  local chats = {}
  for _, node in ipairs(nodes) do
    if node.type == "chat" then chats[#chats + 1] = node end
  end
  table.sort(chats, by_time)
  return chats
end

local function is_record(value)
  return type(value) == "table" and type(value.id) == "string" and type(value.type) == "string"
end

--- The trees of an array of records: an array of roots, in the order of their times. A node is {id, trace, type,
-- parent, time, name = string (nil: it has none), start = record (nil: missing), finish = record (nil: still open),
-- open = true where it has no end, seconds, error, parts = array of nodes, points = array of records}. What has a
-- parent that is not among the records is a root; a point that is one has its record as `point`, and is not open.
-- Entries that are no records are left out. Points cache_miss are added, see observe/misses.lua. Raises an
-- ArgumentError for what is no array.
return function(records)
  check.table(records, "records")
  local nodes, roots, sound = {}, {}, {}
  for place, record in ipairs(records) do
    if is_record(record) then take(nodes, record, place) end
  end
  for _, node in ipairs(nodes) do
    local above = node.parent and nodes[node.parent]
    if above and not reaches_root(nodes, node, sound) then above = nil end
    if not above then roots[#roots + 1] = node
    elseif node.point then table.insert(above.points, node.point)
    else table.insert(above.parts, node) end
  end
  for _, node in ipairs(nodes) do table.sort(node.parts, by_time) end
  table.sort(roots, by_time)
  misses.mark(chats_of(nodes))
  return roots
end
