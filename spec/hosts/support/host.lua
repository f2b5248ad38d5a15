--- Programs of others that host Lua, as a spec starts them: in a process group of their own, with Koine where their Lua
-- looks for modules. What became of a program is told by its exit status and by what it wrote.

local busted = require "busted"
local folder = require "spec.support.folder"
local koine = require "koine"
local search_path = require "spec.support.search_path"
local uv = require "luv"

local host = {}

local PATH = os.getenv "PATH" .. ":/usr/sbin:/sbin"
local WAIT_MAX = 60000 -- ms until a program must have done what is waited for; a safety net only

host.free_port = require "spec.support.free_port"

--- An answer of the loopback provider that does not come.
host.LATE = { content = "late", fault = { stall_after = 0 } }

local methods = {}
local Host = { __index = methods, __name = "host" }

--- The path of a script of spec/hosts/scripts.
function host.script(name) return ("%s/spec/hosts/scripts/%s"):format(uv.cwd(), name) end

-- NAME=value for a program, with Koine's paths: a host may change its directory.
local function environment(given)
  local list = { "LUA_PATH=" .. search_path(package.path), "LUA_CPATH=" .. search_path(package.cpath),
    "PATH=" .. PATH, "LC_ALL=C.UTF-8", "HOME=/nonexistent", "TERM=dumb" }
  for name, value in pairs(given or {}) do list[#list + 1] = name .. "=" .. value end
  return list
end

local function run_until(done)
  local late = false
  local timer = uv.new_timer()
  timer:start(WAIT_MAX, 0, function() late = true end)
  local again = uv.new_timer() -- `done` may look at what the loop does not watch
  again:start(0, 20, function() end)
  while not done() and not late do uv.run "once" end
  timer:close()
  again:close()
  uv.run "nowait" -- luv that is unloaded with handles to close goes astray
  return not late
end

--- Waits until f() is true. Raises when that never comes.
function host.await(f) assert(run_until(f), "it never came") end

--- The path of a program, or nil.
function host.find(name)
  for place in PATH:gmatch "[^:]+" do
    if uv.fs_access(place .. "/" .. name, "X") then return place .. "/" .. name end
  end
end

--- Starts a program: args its arguments, env {NAME = value}, ready a function (program) → true once it is up. Raises
-- when it ends before that, or is not ready in a minute.
function host.start(name, opts)
  local self = setmetatable({ out = "" }, Host)
  local output, errors = uv.new_pipe(false), uv.new_pipe(false)
  local path = assert(host.find(name), name .. " is not there")
  self.handle = assert(uv.spawn(path, { args = opts.args, env = environment(opts.env), detached = true,
    stdio = { nil, output, errors } }, function(code, signal) self.code, self.ended_by = code, signal end))
  self.pid = self.handle:get_pid()
  self.open, self.pipes = 2, { output, errors }
  for _, pipe in ipairs(self.pipes) do
    pipe:read_start(function(_, bytes)
      if bytes then self.out = self.out .. bytes
      else self.open = self.open - 1 end
    end)
  end
  if opts.ready then self:await(opts.ready) end
  return self
end

--- Waits until f(program) is true. Raises when the program ends first.
function methods:await(f)
  run_until(function() return self.code or f(self) end)
  if not f(self) then
    self:kill()
    error(("it did not get there: %s"):format(self.out), 2)
  end
end

--- Sends the program a signal: "sighup".
function methods:signal(signal) assert(self.handle:kill(signal)) end

--- Waits for the program's end: exit code and signal (0: none), with all that it wrote in `out`.
function methods:wait()
  run_until(function() return self.code and self.open == 0 end)
  local ended = self.code
  self:kill()
  assert(ended, "it did not end")
  return self.code, self.ended_by
end

--- Asks the program to end, SIGTERM unless told, and waits for that.
function methods:stop(signal)
  self:signal(signal or "sigterm")
  return self:wait()
end

--- Kills whatever is left of it. Any number of times.
function methods:kill()
  if not self.handle then return end
  uv.kill(-self.pid, "sigkill")
  run_until(function() return self.code end)
  self.handle:close()
  for _, pipe in ipairs(self.pipes) do pipe:close() end
  self.handle = nil
  uv.run "nowait"
end

Host.__close = methods.kill

--- Runs a program to its end: its output, exit code and signal.
function host.run(name, opts)
  local program <close> = host.start(name, opts)
  local code, signal = program:wait()
  return program.out, code, signal
end

--- Starts a client that asks a server on this machine for a path: it writes the body, a newline and the status. After
-- `seconds` (20) it goes: the status is then 000.
function host.ask(port, path, seconds)
  return host.start("curl", { args = { "-s", "-w", "\n%{http_code}", "--max-time", tostring(seconds or 20),
    ("http://127.0.0.1:%d%s"):format(port, path) } })
end

--- Asks for all of these paths at once: an array of {status = , body = }. The status of a client that went is 0.
function host.get(port, paths, seconds)
  local clients, answers = {}, {}
  for i, path in ipairs(paths) do clients[i] = host.ask(port, path, seconds) end
  for i, client in ipairs(clients) do
    client:wait()
    local body, status = client.out:match "^(.*)\n(%d+)$"
    answers[i] = { body = body, status = tonumber(status) }
  end
  return answers
end

--- Whether somebody listens on the port.
function host.listens(port)
  local connection = require "socket".connect("127.0.0.1", port)
  if connection then connection:close() end
  return connection ~= nil
end

--- Registers what the tests of one `describe` need, and returns it, a table: server, a loopback provider that forgets
-- before each test; place, a folder of each test's own.
function host.bench()
  local bench = {}

  busted.setup(function() bench.server = assert(koine.testing.start()) end)
  busted.teardown(function() bench.server:stop() end)
  busted.before_each(function()
    assert(bench.server:reset())
    bench.place = folder.new()
  end)
  busted.after_each(function() folder.remove(bench.place) end)

  return bench
end

return host
