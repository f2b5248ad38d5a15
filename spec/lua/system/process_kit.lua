-- Helpers of the specs of programs: commands that cannot hang, files of process ids, and the descriptors of this
-- process.

local lfs = require "lfs"
local assert = require "luassert"
local folder = require "spec.support.folder"
local process = require "koine.system.process"

local kit = {}

--- Seconds that no run here takes, whatever the machine.
kit.SAFETY = 60

--- The interpreter of Lua.
kit.LUA = os.getenv "KOINE_LUA" or "lua5.4"

--- A new empty folder, for finish.
kit.begin = folder.new

--- Removes the folder; fails when a supervisor is left.
function kit.finish(dir)
  folder.remove(dir)
  assert.equal(0, kit.supervisors())
end

--- Runs a script of the shell: process.run's results.
function kit.sh(script, opts)
  opts = opts or {}
  opts.timeout = opts.timeout or kit.SAFETY
  return process.run({ "sh", "-c", script }, opts)
end

--- The lines of a text that hold something.
function kit.lines(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

--- A file's bytes, "" when there is none.
function kit.read(path)
  local file = io.open(path)
  local text = file and file:read "a" or ""
  if file then file:close() end
  return text
end

local function alive(pid)
  local file = io.open("/proc/" .. pid .. "/stat")
  if file then file:close() end
  return file ~= nil
end

--- How many of the processes whose numbers are in the file still exist.
function kit.survivors(path)
  local n = 0
  for _, pid in ipairs(kit.lines(kit.read(path))) do n = n + (alive(pid) and 1 or 0) end
  return n
end

local environment = { PATH = os.getenv "PATH", LUA_PATH = package.path, LUA_CPATH = package.cpath,
  LD_PRELOAD = os.getenv "LD_PRELOAD", ASAN_OPTIONS = os.getenv "ASAN_OPTIONS" }

--- Runs Lua code in a process of its own and, once `n` numbers of processes are in the file pids of the folder, kills
-- it by SIGKILL; fails where one of those lives on. What is dead need not have been waited for: that is up to the first
-- process of the machine.
function kit.killed_host(code, dir, n)
  local r = assert(process.run({ "sh", "-c", [[
    "$0" -e "$1" & host=$!
    cd "$2"
    while [ ! -e pids ] || [ $(wc -l < pids) -lt $3 ]; do sleep 0.01; done
    kill -KILL $host
    lives() { { read -r _ _ state _ < /proc/$1/stat; } 2> /dev/null && [ "$state" != Z ]; }
    while for p in $(cat pids); do lives $p && break; done; do sleep 0.01; done
    echo gone
  ]], kit.LUA, code, dir, ("%d"):format(n) }, { timeout = kit.SAFETY, env = environment }))
  assert.equal("gone\n", r.stdout)
  assert.equal(n, #kit.lines(kit.read(dir .. "/pids")))
end

--- Runs Lua code in a process of its own until it ends; fails unless it put `n` numbers of processes into the file pids
-- of the folder, and waits until none of those is left.
function kit.ended_host(code, dir, n)
  local file <close> = assert(io.open(dir .. "/host.lua", "w"))
  assert(file:write(code) and file:close())
  os.execute(("%s %s/host.lua 2>/dev/null"):format(kit.LUA, dir))
  assert.equal(n, #kit.lines(kit.read(dir .. "/pids")))
  repeat until kit.survivors(dir .. "/pids") == 0
  os.remove(dir .. "/pids")
end

--- Bytes of memory that this process holds.
function kit.resident() return tonumber(kit.read("/proc/self/statm"):match "^%d+ (%d+)") * 4096 end

--- How many descriptors this process has open; no program is asked, or a pipe to it would count, at times twice.
function kit.descriptors()
  local n = 0
  for name in lfs.dir "/proc/self/fd" do n = n + (name:find "^%d" and 1 or 0) end
  return n - 1 -- the one that looks
end

--- How many children this process has: supervisors are the only ones that stay.
function kit.supervisors()
  local pid = kit.read("/proc/self/stat"):match "^%d+"
  return select(2, kit.read(("/proc/self/task/%s/children"):format(pid)):gsub("%d+", ""))
end

--- The ArgumentError for that field that f raises; fails when it raises none.
function kit.raises(field, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal("ArgumentError", err.class)
  assert.equal(field, err.field)
  return err
end

return kit
