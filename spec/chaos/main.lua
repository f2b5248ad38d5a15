--- The chaos suite: a schedule of faults for each seed, every call judged, nothing left behind. Run by tools/chaos.sh:
--
--   lua5.4 spec/chaos/main.lua DIRECTORY FIRST LAST RSS_MAX [FAULT]
--
-- DIRECTORY holds cert.pem and key.pem (self-signed, for localhost), RSS_MAX is in MiB, FAULT (part of a fault's name)
-- limits the schedules to it. Prints each call that ended wrongly and the table of outcomes; exit code 1 when there was
-- one, or when something is left. A seed may be played alone: FIRST = LAST.

package.path = "./?.lua;" .. package.path

local core = require "koine.core"
local koine = require "koine"
local uv = require "luv"

local calls = require "spec.chaos.calls"
local dice = require "spec.chaos.dice"
local judge = require "spec.chaos.judge"
local free_port = require "spec.support.free_port"

local DIRECTORY, FIRST, LAST, RSS_MAX = arg[1], tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])
local CLOSED = free_port() -- holds a socket until the end
local WARM = 10       -- seeds after which the memory is measured for the first time
local IDLE_MAX = 200  -- connections that may be kept for later
calls.only = arg[5]

-- The process --------------------------------------------------------------------------------------------------------

-- The descriptors that are open: how many are sockets, how many are not.
local function descriptors()
  local sockets, others = 0, 0
  local listing = assert(uv.fs_scandir "/proc/self/fd")
  for name in function() return uv.fs_scandir_next(listing) end do
    local target = uv.fs_readlink("/proc/self/fd/" .. name)
    if target and target:find "^socket:" then
      sockets = sockets + 1
    elseif target then
      others = others + 1
    end
  end
  return sockets, others
end

-- A figure of /proc/self/status in MiB.
local function memory(name)
  local file <close> = assert(io.open "/proc/self/status")
  return tonumber(file:read "a":match(name .. ":%s*(%d+) kB")) / 1024
end

local function collect()
  for _ = 1, 4 do collectgarbage() end
end

-- The world ----------------------------------------------------------------------------------------------------------

-- Starts the raw server: {port, tls = port, stop = function}.
local function start_raw()
  local child_in, child_out = uv.new_pipe(false), uv.new_pipe(false)
  local program = ("package.path, package.cpath = %q, %q; require('spec.chaos.raw').main(%q)")
    :format(package.path, package.cpath, DIRECTORY)
  local line, ended = "", false
  local handle = assert(uv.spawn(os.getenv "KOINE_LUA" or "lua5.4", { args = { "-e", program },
    stdio = { child_in, child_out, 2 } }, function() ended = true end))
  child_out:read_start(function(_, data) line = line .. (data or "") end)
  while not line:find "\n" and not ended do uv.run "once" end
  local port, tls = line:match "^(%d+) (%d+)"
  assert(port, "the raw server did not start")
  child_out:close()
  local function stop()
    child_in:close()
    while not ended do uv.run "once" end
    handle:close()
    uv.run "nowait"
  end
  return { port = math.tointeger(tonumber(port)), tls = math.tointeger(tonumber(tls)), stop = stop }
end

-- One raw request, outside of any call: the body of the answer; nil when there is none.
local function ask(url)
  local request <close> = core.request(core.engine(), { method = "GET", url = url, timeouts = { total = 60 } })
  local answer, err
  repeat
    answer, err = request:poll()
    if answer == false then koine.sleep(0.001) end
  until answer or err
  return answer and answer.body
end

-- Closes the connections without a user: libcurl does so when it makes a new one, at most once a second.
local function close_idle()
  collect()
  uv.sleep(1100)
  ask(("http://127.0.0.1:%d/"):format(CLOSED))
  collect()
end

-- Schedules ----------------------------------------------------------------------------------------------------------

local counts, faults, total, wrongs = {}, {}, 0, 0

local function book(call, word)
  local name = call.fault.name
  if not counts[name] then
    counts[name] = {}
    faults[#faults + 1] = name
  end
  counts[name][word] = (counts[name][word] or 0) + 1
  total = total + 1
end

local function complain(seed, call, what)
  wrongs = wrongs + 1
  print(("WRONG  seed %d, call %d, %s, %s, %s: %s"):format(seed, call and call.number or 0,
    call and call.fault.name or "-", call and call.endpoint.name or "-", call and call.way.name or "-", what))
end

-- Hands the answers of all calls to the loopback provider; an answer serves one path.
local function script(server, list)
  local answers = {}
  for _, call in ipairs(list) do
    for _, answer in ipairs(call.answers or {}) do answers[#answers + 1] = answer end
  end
  assert(server:reset())
  assert(server:script(answers))
end

-- Plays the calls of a seed: all at once, or one after the other.
local function play(seed, server, where)
  local die, list, jobs = dice.new(seed), {}, {}
  for i = 1, die:between(3, 8) do
    list[i] = calls.new(die, seed * 100 + i, where)
    jobs[i] = function() calls.play(list[i]) end
  end
  script(server, list)
  if die:chance(8) then
    for _, job in ipairs(jobs) do job() end
  else
    koine.run(koine.gather, table.unpack(jobs))
  end
  for _, call in ipairs(list) do
    local wrong, word = judge.outcome(call)
    book(call, word)
    if wrong then complain(seed, call, wrong) end
  end
end

local function check_left(seed)
  collect()
  local said = tostring(core.engine())
  if not said:find("(0 in flight)", 1, true) then complain(seed, nil, said) end
  local sockets = descriptors()
  if sockets > IDLE_MAX then complain(seed, nil, sockets .. " sockets are open") end
end

-- The run ------------------------------------------------------------------------------------------------------------

local function print_table()
  table.sort(faults)
  local sums = {}
  for _, name in ipairs(faults) do
    local words, n = {}, 0
    for word, count in pairs(counts[name]) do
      words[#words + 1] = ("%s %d"):format(word, count)
      sums[word], n = (sums[word] or 0) + count, n + count
    end
    table.sort(words)
    print(("%-28s %4d   %s"):format(name, n, table.concat(words, ", ")))
  end
  local words = {}
  for word, count in pairs(sums) do words[#words + 1] = ("%s %d"):format(word, count) end
  table.sort(words)
  print(("%-28s %4d   %s"):format(("%d faults"):format(#faults), total, table.concat(words, ", ")))
end

local function main()
  io.stdout:setvbuf "line"
  local began = uv.hrtime()
  local raw, server = start_raw(), assert(koine.testing.start())
  raw.stop()
  server:stop()
  close_idle() -- the engine, the event loop and libcurl have made the descriptors that they keep
  local sockets_before, others_before = descriptors()
  raw, server = start_raw(), assert(koine.testing.start())
  local where = { raw = raw.port, tls = raw.tls, closed = CLOSED, ca = DIRECTORY .. "/cert.pem",
    loopback = server.url }
  local warm
  for seed = FIRST, LAST do
    play(seed, server, where)
    check_left(seed)
    if seed - FIRST + 1 == WARM then warm = memory "VmRSS" end
  end
  local visits = ask(("http://127.0.0.1:%d/decoy"):format(raw.port))
  if visits ~= "0" then complain(LAST, nil, ("%s connections to where redirects point"):format(visits)) end
  raw.stop()
  server:stop()
  close_idle()
  local sockets, others = descriptors()
  if sockets ~= sockets_before or others ~= others_before then
    complain(LAST, nil, ("%d sockets and %d others are open, %d and %d before"):format(sockets, others, sockets_before,
      others_before))
  end
  local rss, peak = memory "VmRSS", memory "VmHWM"
  if peak > RSS_MAX then complain(LAST, nil, ("%.0f MiB at its peak, %d allowed"):format(peak, RSS_MAX)) end
  print_table()
  print(("%d seeds in %.0f s: %d calls, %d wrong; memory %.0f MiB after %d seeds, %.0f at the end, %.0f at its peak; "
    .. "descriptors %d before and %d after"):format(LAST - FIRST + 1, (uv.hrtime() - began) / 1e9, total, wrongs,
    warm or rss, WARM, rss, peak, sockets_before + others_before, sockets + others))
end

main()
os.exit(wrongs == 0, true)
