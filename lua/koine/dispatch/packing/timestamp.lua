--- When a message was created, in one form: `YYYY-MM-DDTHH:MM:SS.mmmZ`, UTC, always 24 characters.
-- Platforms write times as RFC 3339 text, as Slack's `seconds.fraction` or as a count of seconds or milliseconds.
-- Fractions are cut, never rounded, and read as text, never as a float.

local calendar = require "koine.data.calendar"
local core = require "koine.core"
local errors = require "koine.data.errors"

local LAST = 253402300799 -- the last second with a year of four digits
local DAY = 86400
local MONTHS = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }
local RFC3339 = "^(%d%d%d%d)%-(%d%d)%-(%d%d)[Tt ](%d%d):(%d%d):(%d%d)(%.?%d*)(.+)$"
local UNITS = "{slack = text}, {epoch_s = integer} or {epoch_ms = integer}"

-- The canonical text; nil when `seconds` is no integer, before 1970, or after the year 9999.
local function canonical(seconds, milliseconds)
  if not seconds or seconds < 0 or seconds > LAST then return nil end
  return ("%s.%03dZ"):format(calendar.text(seconds), milliseconds)
end

-- The first three digits of a fraction, as a number of milliseconds.
local function milliseconds_of(digits) return tonumber((digits .. "000"):sub(1, 3)) end

local function days_in(year, month)
  local leap = year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
  return month == 2 and leap and 29 or MONTHS[month] or 0
end

-- Seconds east of UTC that a zone (`Z`, `+08:00`) stands for; nil for other text.
local function offset_of(zone)
  if zone == "Z" or zone == "z" then return 0 end
  local sign, hours, minutes = zone:match "^([+-])(%d%d):(%d%d)$"
  hours, minutes = tonumber(hours), tonumber(minutes)
  if not sign or hours > 23 or minutes > 59 then return nil end
  return (sign == "-" and -1 or 1) * (hours * 3600 + minutes * 60)
end

local function from_rfc3339(text)
  local fields = { text:match(RFC3339) }
  local fraction, offset = fields[7], fields[8] and offset_of(fields[8])
  if not offset or fraction == "." or (fraction ~= "" and fraction:byte() ~= 0x2E) then return nil end
  for i = 1, 6 do fields[i] = math.tointeger(tonumber(fields[i])) end
  local year, month, day, hour, minute, second = table.unpack(fields, 1, 6)
  if day < 1 or day > days_in(year, month) or hour > 23 or minute > 59 or second > 59 then return nil end
  local seconds = calendar.days(year, month, day) * DAY + hour * 3600 + minute * 60 + second
  return canonical(seconds - offset, milliseconds_of(fraction:sub(2)))
end

local function from_slack(text)
  local seconds, fraction = text:match "^(%d+)%.(%d+)$"
  seconds = seconds or text:match "^%d+$"
  return seconds and canonical(math.tointeger(tonumber(seconds)), milliseconds_of(fraction or ""))
end

-- By unit: the type that its value has, and its canonical text or nil.
local UNIT = {
  slack = { type = "string", read = from_slack },
  epoch_s = { type = "number", read = function(n) return canonical(math.tointeger(n), 0) end },
  epoch_ms = { type = "number", read = function(n)
    n = math.tointeger(n)
    return n and canonical(n // 1000, n % 1000)
  end },
}

--- The canonical text of `value`, or nil when it says no time between 1970 and 9999: absent, empty, unreadable, a day
-- that does not exist, a leap second. `value` is RFC 3339 text (the canonical form is), {slack = "1714204397.123456"},
-- {epoch_s = integer} or {epoch_ms = integer}; a unit whose value is absent is absent. Raises an ArgumentError that
-- begins with `path` for values of another type: a bare number, say, has no unit.
return function(value, path)
  if value == nil or value == core.null then return nil end
  if type(value) == "string" then return from_rfc3339(value) end
  if type(value) ~= "table" then errors.argument(path, "RFC 3339 text, " .. UNITS, value) end
  local name, given = next(value)
  if name == nil or given == core.null then return nil end
  local unit = UNIT[name]
  if not unit or next(value, name) ~= nil then errors.argument(path, "one of " .. UNITS, value) end
  if type(given) ~= unit.type then errors.argument(path .. "." .. name, unit.type, given) end
  return unit.read(given)
end
