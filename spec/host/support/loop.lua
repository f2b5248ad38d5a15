--- The Lua half of loop.h: scripts as coroutines of a loop that is the program's own. Returns play and turn.

local core = require "koine.core"
local koine = require "koine"

local waiting, ready = {}, {} -- parked coroutines: a set of {co, token, at}; those to resume, in order
local ours = setmetatable({}, { __mode = "k" }) -- coroutine → true
local alive = 0

local function make_ready(entry, woken)
  waiting[entry], entry.woken = nil, woken
  ready[#ready + 1] = entry
end

koine.set_host {
  park = function(token, seconds)
    local co = coroutine.running()
    assert(ours[co], "a coroutine that is not the loop's would stop it")
    waiting[{ co = co, token = token, at = seconds and core.monotonic() + seconds }] = true
    local woken = coroutine.yield()
    return woken
  end,
  wake = function(token)
    for entry in pairs(waiting) do
      if rawequal(entry.token, token) then make_ready(entry, true) end
    end
  end,
  suspends = function() return ours[coroutine.running()] == true end,
}

-- Begins a script, a Lua file, with these arguments: in the next turn. Returns a function: what it printed so far.
local function play(path, ...)
  local lines = {}
  local env = setmetatable({ print = function(...)
    local words = table.pack(...)
    for i = 1, words.n do words[i] = tostring(words[i]) end
    lines[#lines + 1] = table.concat(words, "\t") .. "\n"
  end }, { __index = _G })
  local arguments = table.pack(...)
  local co = coroutine.create(function() assert(loadfile(path, "t", env))(table.unpack(arguments)) end)
  ours[co], alive = true, alive + 1
  ready[#ready + 1] = { co = co }
  return function() return table.concat(lines) end
end

-- Milliseconds until the loop has to turn again though its descriptors are silent; -1: never.
local function most_sleep()
  local seconds = #ready > 0 and 0 or koine.engine():timeout() or math.huge
  for entry in pairs(waiting) do
    if entry.at then seconds = math.min(seconds, entry.at - core.monotonic()) end
  end
  return seconds < math.huge and math.ceil(math.max(seconds, 0) * 1000) or -1
end

-- What the program does after each sleep. Returns how many scripts have not ended, the engine's descriptor, and the
-- milliseconds that it may sleep (-1: any). Raises what a script raises.
local function turn()
  koine.pump(0)
  local now = core.monotonic()
  for entry in pairs(waiting) do
    if entry.at and entry.at <= now then make_ready(entry, false) end
  end
  local due = ready
  ready = {}
  for _, entry in ipairs(due) do
    local ok, err = coroutine.resume(entry.co, entry.woken)
    if not ok then error(debug.traceback(entry.co, tostring(err)), 0) end
    if coroutine.status(entry.co) == "dead" then alive = alive - 1 end
  end
  return alive, koine.engine():pollfd(), most_sleep()
end

return play, turn
