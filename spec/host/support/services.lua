--- The process of services.h: the loopback provider and an executor's service, which do not know of each other. Prints
-- their ports on one line and serves until it is killed. The argument is the executor's directory. The third port is a
-- server that answers a Redis store's reading: each key holds its own name.

local folder = ...

local hosts = require "koine.task.hosts"
local http = require "koine.net.http_server"
local koine = require "koine"
local resp = require "koine.store.redis.resp"
local loopback = require "koine.testing.loopback.service"
local service = require "koine.system.executor.service"
local uv = require "luv"

local TOKEN = "an-executor's-token"

local provider = http.listen(loopback.new(), 0)
local executor = http.listen(service.handler(assert(koine.executor { workdir = folder }), TOKEN), 0, "127.0.0.1",
  service.bounds(TOKEN))

local function answer(command)
  local key = command[5]
  if command[1] == "SCRIPT" then return "$40\r\n" .. ("0"):rep(40) .. "\r\n" end
  return ("*2\r\n$%d\r\n%s\r\n$1\r\n1\r\n"):format(#key, key)
end

local redis = uv.new_tcp()
redis:bind("127.0.0.1", 0)
redis:listen(128, function()
  local peer, reader = uv.new_tcp(), resp.reader()
  redis:accept(peer)
  peer:read_start(function(_, bytes)
    if not bytes then return peer:close() end
    reader:feed(bytes)
    for command in reader.next, reader do peer:write(answer(command)) end
  end)
end)

hosts.luv.install()
local left = uv.new_signal()
left:start("sigpipe", function() end) -- callers leave in the middle of an answer
io.stdout:write(("%d %d %d\n"):format(provider, executor, redis:getsockname().port)):flush()
uv.run()
