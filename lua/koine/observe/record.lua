--- A line of a log of records, as koine.observe.jsonl writes it.

local core = require "koine.core"

--- The record (table) that a line (string) holds; nil where it holds none: the last one of a process that was killed,
-- say.
return function(line)
  local record = core.decode(line)
  local is_one = type(record) == "table" and math.type(record.v) == "integer" and type(record.type) == "string"
  return is_one and record or nil
end
