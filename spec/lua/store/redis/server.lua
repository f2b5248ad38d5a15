--- A real redis-server for specs: on a free loopback port and a UNIX socket, in a folder of its own; it ends with the
-- process that started it. redis.missing says in words why there is none; specs are pending then.

local connect = require "koine.net.connect"
local free_port = require "spec.support.free_port"
local koine = require "koine"
local resp = require "koine.store.redis.resp"
local wait = require "koine.task.wait"

local redis = {}

local function output(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read "a"
end

--- Why no server can be started; nil where one can.
redis.missing = output "command -v redis-server" == "" and "redis-server is not installed (tools/deps.sh engines)"
  or nil

-- Later versions do not let anybody sleep unless they are told to.
local DEBUG = redis.missing == nil and tonumber(output "redis-server --version":match "v=(%d+)") >= 7
  and "--enable-debug-command local" or ""

local methods = {}
local Server = { __index = methods }

-- Sends commands to the server, each an array, on a connection of its own: an array of replies; nil, err.
local function ask(self, commands)
  local conn <close>, err = connect.open { path = self.socket, timeout = 10 }
  if not conn then return nil, err end
  local reader, replies, bytes = resp.reader(), {}, {}
  if self.password then table.insert(commands, 1, { "AUTH", self.password }) end
  for i, command in ipairs(commands) do bytes[i] = resp.encode(command) end
  assert(conn:write(table.concat(bytes)))
  while #replies < #commands do
    local more
    more, err = conn:read(65536, 20)
    if not more then return nil, err or "closed" end
    reader:feed(more)
    for reply in reader.next, reader do replies[#replies + 1] = reply end
  end
  return replies
end

--- The reply to one command.
function methods:ask(...)
  local replies = assert(ask(self, { { ... } }))
  return replies[#replies]
end

--- Starts the program: options of redis-server's command line, in one string.
function methods:start(options)
  if options then self.options = options end
  local pid = self.folder .. "/pid"
  os.remove(pid)
  self.pid = nil
  -- The shell waits for the end of its input: it comes with `stop`, and with the end of this process, however it ends.
  self.shell = assert(io.popen(([[cd %s && { redis-server --port %d --bind 127.0.0.1 --unixsocket %s --dir %s \
    --daemonize no --save '' %s %s >log 2>&1 & echo $! >pid.new; mv pid.new pid
    read -r line; kill -9 $(cat pid); wait; } 2>/dev/null]]):format(self.folder, self.port, self.socket, self.folder,
    DEBUG, self.options), "w"))
  local deadline = wait.now() + 20
  repeat
    wait.block({}, 0.005)
    local replies = ask(self, { { "PING" } })
    local ready = replies and (replies[#replies] == "PONG" or resp.is_error(replies[#replies]) and
      replies[#replies].code ~= "LOADING")
    if ready then self.pid = math.tointeger(tonumber(output("cat " .. pid))) end -- it may answer before it is written
    ready = ready and self.pid
    if not ready and wait.now() > deadline then
      error("redis-server does not start: " .. output("tail -n 5 " .. self.folder .. "/log"))
    end
  until ready
  return self
end

--- Sends a signal by name.
function methods:signal(name) os.execute(("kill -%s %d 2>/dev/null"):format(name, self.pid)) end

--- Ends it at once; its folder stays.
function methods:kill()
  self:signal "KILL"
  self.shell:write "\n"
  self.shell:close()
  os.remove(self.socket)
end

--- Ends it and removes its folder.
function methods:stop()
  self:kill()
  os.execute("rm -rf " .. self.folder)
end

--- Starts a server with these options of its command line (nil: it keeps nothing on disk).
function redis.start(options, password)
  local folder = output "mktemp -d":match "%S+"
  local port = free_port()
  local server = setmetatable({ folder = folder, port = port, socket = folder .. "/socket", password = password,
    url = "redis://127.0.0.1:" .. port }, Server)
  return server:start(options or "--appendonly no")
end

local stores = 0

--- A function that opens handles onto one new store of the server; `options` go over the usual ones.
function methods:opener(options)
  stores = stores + 1
  local prefix = ("spec%d:"):format(stores)
  return function()
    local all = { url = self.url, prefix = prefix }
    for name, value in pairs(options or {}) do all[name] = value end
    return koine.store.redis(all)
  end
end

return redis
