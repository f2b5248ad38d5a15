--- The process of services.h: the loopback provider and an executor's service, which do not know of each other. Prints
-- their ports on one line and serves until it is killed. The argument is the executor's directory.

local folder = ...

local hosts = require "koine.task.hosts"
local http = require "koine.net.http_server"
local koine = require "koine"
local loopback = require "koine.testing.loopback.service"
local service = require "koine.system.executor.service"
local uv = require "luv"

local TOKEN = "an-executor's-token"

local provider = http.listen(loopback.new(), 0)
local executor = http.listen(service.handler(assert(koine.executor { workdir = folder }), TOKEN), 0, "127.0.0.1",
  service.bounds(TOKEN))
hosts.luv.install()
local left = uv.new_signal()
left:start("sigpipe", function() end) -- callers leave in the middle of an answer
io.stdout:write(("%d %d\n"):format(provider, executor)):flush()
uv.run()
