--- Many calls at once on many servers of MCP, some of which are killed meanwhile. Each server is a tree: a shell, its
-- program (server.lua), and a program that would live on for long. All of them hold a fifo open, so that who reads it
-- knows when the last one has ended.

local core = require "koine.core"
local folders = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"

local storm = {}

local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local HERE = "spec/chaos/storm/"
local SAFETY = 60 -- seconds that nothing here takes, whatever the machine

--- Calls that a server has at once: so many fail when it is killed, at most.
storm.AT_ONCE = 8

local TREE = 'exec 9>"$1/fifo"; sleep 1000 & "$3" "$4" "$1" "$2"; exit $?'

-- Runs a shell's command; true when it succeeds.
local function sh(command, ...) return os.execute(command:format(...)) == true end

--- A folder for the servers, with its fifo; for finish.
function storm.begin()
  local folder = folders.new()
  assert(sh("mkfifo '%s/fifo'", folder))
  return folder
end

--- A function that waits until all servers of the folder have ended; true, or false after SAFETY seconds. Call it
-- before the first server starts.
function storm.watch(folder)
  local pipe = assert(io.popen(("timeout %d cat '%s/fifo' 2>&1"):format(SAFETY, folder)))
  return function()
    local said = pipe:read "a"
    return pipe:close() == true and said == ""
  end
end

--- Connects to that many servers at once: an array of clients. Raises what goes wrong.
function storm.connect(folder, count)
  local jobs = {}
  for i = 1, count do
    jobs[i] = function()
      return assert(koine.mcp.connect { name = "s" .. i, command = "sh",
        args = { "-c", TREE, "sh", folder, tostring(i), LUA, HERE .. "server.lua" }, timeout = SAFETY,
        concurrency = storm.AT_ONCE })
    end
  end
  return { koine.gather(table.unpack(jobs)) }
end

-- Sends SIGKILL to the program of a server.
local function kill(folder, number)
  local file <close> = io.open(("%s/%d"):format(folder, number))
  local pid = file and file:read "n"
  return pid ~= nil and sh("kill -9 %d 2>/dev/null", pid)
end

-- What is wrong with the outcome of a call; nil for nothing.
local function wrong_with(expected, result, err)
  if result then
    local said = result.content[1].text
    if said ~= expected then return ("%q in place of %q"):format(said, expected) end
  elseif not koine.errors.is_error(err) then
    return "no error of Koine's: " .. tostring(err)
  elseif err.kind ~= "connect" and err.kind ~= "stream_truncated" then
    return ("kind %s: %s"):format(err.kind, err)
  end
end

--- Makes that many calls at once, each on a server that `pick(n)` (→ 1 to n) chooses, and kills that many servers
-- meanwhile, none more than twice: {answered, failed, killed, wrong = array of texts}. For a task.
function storm.rage(folder, clients, calls, kills, pick)
  local counts = { answered = 0, failed = 0, killed = 0, ended = 0, wrong = {} }
  local dead, due = {}, {}
  for i = 1, kills do due[i * calls // (kills + 1)] = true end
  local function strike()
    local number = pick(#clients)
    while (dead[number] or 0) >= 2 do number = number % #clients + 1 end
    dead[number] = (dead[number] or 0) + 1
    if kill(folder, number) then counts.killed = counts.killed + 1 end
  end
  local jobs = {}
  for i = 1, calls do
    local number = pick(#clients)
    jobs[i] = function()
      local result, err = clients[number]:call("say", { value = "call " .. i })
      local what = result and "answered" or "failed"
      counts[what], counts.ended = counts[what] + 1, counts.ended + 1
      counts.wrong[#counts.wrong + 1] = wrong_with(("%d:call %d"):format(number, i), result, err)
      if due[counts.ended] then strike() end
    end
  end
  koine.gather(table.unpack(jobs))
  return counts
end

--- Ends all clients at once.
function storm.close(clients)
  local jobs = {}
  for i, client in ipairs(clients) do
    jobs[i] = function() client:close() end
  end
  koine.gather(table.unpack(jobs))
end

--- Starts a process that connects to that many servers and makes calls for ever, and sends it SIGKILL after some; it
-- was killed: true.
function storm.kill_host(folder, count)
  local command = ("echo $$; exec %s %shost.lua '%s' %d"):format(LUA, HERE, folder, count)
  local pipe <close> = assert(io.popen(command))
  local pid, ready = pipe:read("l", "l")
  return ready == "ready" and sh("kill -9 %d", pid)
end

--- Removes the folder.
storm.finish = folders.remove

--- How many descriptors this process has open.
function storm.descriptors()
  collectgarbage()
  collectgarbage()
  local n = 0
  for name in lfs.dir "/proc/self/fd" do n = n + (name:find "^%d" and 1 or 0) end
  return n - 1 -- the one that looks
end

--- What the engine says it has in flight.
function storm.in_flight() return tostring(core.engine()) end

return storm
