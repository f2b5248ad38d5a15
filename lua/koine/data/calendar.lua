--- Days and times of the Gregorian calendar in UTC, as arithmetic: os.date ends in 2038 where time_t has 32 bits.

local calendar = {}

local DAY = 86400 -- seconds

--- Returns the days from 1970-01-01 to a date (integers; any year, a month of 1 to 12). Years count from March: the
-- leap day is the last one.
function calendar.days(year, month, day)
  if month < 3 then year, month = year - 1, month + 12 end
  return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719469
end

-- Year, month and day so many days after 1970-01-01.
local function date(days)
  local rest = days + 719468 -- from 0000-03-01
  local era, day = rest // 146097, rest % 146097 -- of 400 years
  local year = (day - day // 1460 + day // 36524 - day // 146096) // 365
  day = day - (365 * year + year // 4 - year // 100)
  local month = (5 * day + 2) // 153
  day = day - (153 * month + 2) // 5 + 1
  year = era * 400 + year
  if month < 10 then return year, month + 3, day end
  return year + 1, month - 9, day
end

--- Returns "YYYY-MM-DDTHH:MM:SS" for Unix seconds (an integer of the years 0 to 9999).
function calendar.text(seconds)
  local year, month, day = date(seconds // DAY)
  local rest = seconds % DAY
  return ("%04d-%02d-%02dT%02d:%02d:%02d"):format(year, month, day, rest // 3600, rest // 60 % 60, rest % 60)
end

return calendar
