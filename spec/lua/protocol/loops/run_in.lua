-- run_in.lua LOOP SCRIPT NAME ARGUMENT…: runs a script, a Lua file, as a coroutine of a loop: "plain" (none), "run"
-- (koine.run), "cqueues", "luv" or "poll". It runs twice, as NAME1 and NAME2, and has to leave as many descriptors the
-- second time as the first, when connections that are kept were opened, and no program.

local lfs = require "lfs"
local loops = require "spec.lua.net.peers".loops()

function loops.plain(f) f() end

local function descriptors()
  collectgarbage()
  collectgarbage()
  local n = 0
  for name in lfs.dir "/proc/self/fd" do n = n + (name:find "^%d" and 1 or 0) end
  return n
end

local function children()
  local file <close> = assert(io.open "/proc/thread-self/children")
  return file:read "a"
end

local loop, script = assert(loops[arg[1]], "no such loop"), assert(loadfile(arg[2]))
local left
for time = 1, 2 do
  loop(function() script(arg[3] .. time, table.unpack(arg, 4)) end)
  assert(children() == "", "a program is left")
  local now = descriptors()
  assert(not left or left == now, ("%s descriptors, then %d"):format(left, now))
  left = now
end
