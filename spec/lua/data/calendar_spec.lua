-- Days and times without the C library.

local calendar = require "koine.data.calendar"

describe("the calendar", function()
  it("counts days from 1970, leap days and centuries too", function()
    for _, case in ipairs { { 1970, 1, 1, 0 }, { 1970, 3, 1, 59 }, { 2000, 2, 29, 11016 }, { 2000, 3, 1, 11017 },
      { 2100, 3, 1, 47541 }, { 2026, 11, 22, 20779 }, { 9999, 12, 31, 2932896 }, { 1969, 12, 31, -1 } } do
      assert.are.equal(case[4], calendar.days(case[1], case[2], case[3]))
    end
  end)

  it("writes every day as the C library does", function()
    for days = 0, 24000, 7 do -- until 2035: what every system's clock can
      local seconds = days * 86400 + days * 3 + 1
      assert.are.equal(os.date("!%Y-%m-%dT%H:%M:%S", seconds), calendar.text(seconds))
    end
  end)

  it("goes on behind 2038, and there and back", function()
    assert.are.equal("2038-01-19T03:14:08", calendar.text(1 << 31))
    assert.are.equal("2100-02-28T23:59:59", calendar.text(4107542399))
    assert.are.equal("9999-12-31T23:59:59", calendar.text(253402300799))
    for days = -700000, 2932896, 997 do
      local year, month, day = calendar.text(days * 86400):match "^(%d+)-(%d+)-(%d+)T00:00:00$"
      assert.are.equal(days, calendar.days(math.tointeger(tonumber(year)), math.tointeger(tonumber(month)),
        math.tointeger(tonumber(day))))
    end
  end)
end)
