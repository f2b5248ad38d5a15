--- Reads a log of records, as koine.observe.jsonl writes it.

local check = require "koine.data.check"
local errors = require "koine.data.errors"
local record_of = require "koine.observe.record"

--- The records of a file: an array, and how many lines hold none (the last one of a process that was killed, say); nil,
-- err where the file cannot be read. Raises an ArgumentError.
return function(path)
  check.path(path, "path")
  local file <close>, why = io.open(path, "rb")
  if not file then return nil, errors.new { kind = "other", message = tostring(why) } end
  local records, broken = {}, 0
  while true do
    local line, problem = file:read "L"
    if not line then
      if problem then return nil, errors.new { kind = "other", message = path .. ": " .. tostring(problem) } end
      return records, broken
    end
    local record = record_of(line)
    if record then records[#records + 1] = record elseif line:find "%S" then broken = broken + 1 end
  end
end
