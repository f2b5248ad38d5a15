--- The chaos suite of MCP: for each seed 1,000 calls at once on 20 servers, of which 20 are killed meanwhile, and a
-- process with 20 servers that is killed itself. Run by tools/chaos.sh:
--
--   lua5.4 spec/chaos/servers.lua FIRST LAST
--
-- Prints what went wrong and the sums; exit code 1 when a call ended wrongly, or a process or a descriptor is left.

package.path = "./?.lua;" .. package.path

local dice = require "spec.chaos.dice"
local koine = require "koine"
local storm = require "spec.chaos.storm"

local FIRST, LAST = tonumber(arg[1]), tonumber(arg[2])
local SERVERS, CALLS, KILLS = 20, 1000, 20

local sums, wrongs = { answered = 0, failed = 0, killed = 0 }, 0

local function complain(seed, words)
  wrongs = wrongs + 1
  print(("WRONG  servers, seed %d: %s"):format(seed, words))
end

-- Makes the calls of a seed.
local function play(seed, folder, servers, calls, kills)
  local die, ended, counts = dice.new(seed), storm.watch(folder), nil
  koine.run(function()
    local clients = storm.connect(folder, servers)
    counts = storm.rage(folder, clients, calls, kills, function(n) return die:between(1, n) end)
    storm.close(clients)
  end)
  if not ended() then complain(seed, "a process is left") end
  if counts.ended ~= calls then complain(seed, ("%d of %d calls ended"):format(counts.ended, calls)) end
  if counts.failed > storm.AT_ONCE * counts.killed then
    complain(seed, ("%d calls failed, and only %d servers were killed"):format(counts.failed, counts.killed))
  end
  for _, words in ipairs(counts.wrong) do complain(seed, words) end
  for name in pairs(sums) do sums[name] = sums[name] + counts[name] end
end

local function main()
  local folder = storm.begin()
  play(0, folder, 1, 1, 0) -- the engine has made the descriptors that it keeps
  local before = storm.descriptors()
  for seed = FIRST, LAST do
    play(seed, folder, SERVERS, CALLS, KILLS)
    local ended = storm.watch(folder)
    if not storm.kill_host(folder, SERVERS) then complain(seed, "the process did not start") end
    if not ended() then complain(seed, "a process outlived the one that was killed") end
  end
  local after = storm.descriptors()
  if after ~= before then complain(LAST, ("%d descriptors are open, %d before"):format(after, before)) end
  if not storm.in_flight():find("(0 in flight)", 1, true) then complain(LAST, storm.in_flight()) end
  storm.finish(folder)
  print(("servers: %d calls answered, %d failed, %d servers killed"):format(sums.answered, sums.failed, sums.killed))
  os.exit(wrongs == 0, true)
end

main()
