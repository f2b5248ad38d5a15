-- host.lua FOLDER SERVERS: makes calls on that many servers until it is killed; prints "ready" when the first ones were
-- answered.

local koine = require "koine"
local storm = require "spec.chaos.storm"

local folder, count = arg[1], assert(math.tointeger(tonumber(arg[2])))

koine.run(function()
  local clients = storm.connect(folder, count)
  local first = true
  while true do
    storm.rage(folder, clients, 4 * count, 0, math.random)
    if first then print "ready" io.stdout:flush() end
    first = false
  end
end)
