--- Observers for specs: what they are told, and what must hold of it.

local koine = require "koine"

local observed = {}

--- An observer with these settings (nil: none), and the array of the records that it is told.
function observed.keep(settings)
  local records = {}
  local given = { to = function(record) records[#records + 1] = record end }
  for name, value in pairs(settings or {}) do given[name] = value end
  return koine.observe.new(given), records
end

--- "type phase" of each record.
function observed.lines(records)
  local list = {}
  for i, record in ipairs(records) do list[i] = record.type .. " " .. record.phase end
  return list
end

--- The records of a type and phase, in order.
function observed.of(records, type, phase)
  local list = {}
  for _, record in ipairs(records) do
    if record.type == type and record.phase == phase then list[#list + 1] = record end
  end
  return list
end

-- What a record of a part must find in its parent.
local function check_part(record, begun, over)
  assert(begun[record.parent], ("%s %s: a part before its parent"):format(record.type, record.phase))
  assert(record.trace == begun[record.parent].trace, record.type .. ": another trace than its parent's")
  assert(record.phase == "end" or not over[record.parent],
    ("%s %s: begins after the end of its parent"):format(record.type, record.phase))
end

local PHASES = { start = true, ["end"] = true, point = true }

-- Raises unless the record has what all records have.
local function check_common(record)
  assert(record.v == 1 and type(record.type) == "string" and PHASES[record.phase], "no record of version 1")
  assert(type(record.trace) == "string" and type(record.id) == "string", record.type .. ": without ids")
  assert(math.type(record.time) == "integer", record.type .. ": a time that is no integer")
  assert((record.seconds ~= nil) == (record.phase == "end"), record.type .. ": seconds are an end's")
end

--- Raises unless each record is of version 1, each start has exactly one end after it, and each part lies within its
-- parent. `roots` (nil: none) is
-- a set of ids of parents that are not told.
function observed.check(records, roots)
  local begun, over = {}, {}
  for _, record in ipairs(records) do
    check_common(record)
    if record.parent and not (roots and roots[record.parent]) then check_part(record, begun, over) end
    if record.phase == "start" then
      assert(not begun[record.id], record.type .. ": begins twice")
      begun[record.id] = record
    elseif record.phase == "end" then
      assert(begun[record.id], record.type .. ": an end without a start")
      assert(not over[record.id], record.type .. ": ends twice")
      assert(not record.parent or not over[record.parent], record.type .. ": ends after its parent")
      over[record.id] = record
    end
  end
  for id, record in pairs(begun) do assert(over[id], record.type .. ": a start without an end") end
end

return observed
