-- Peers of the HTTP server that go away before they have their answer: SIGPIPE does not end the process as long as that
-- listens.

local koine = require "koine"
local socket = require "socket"

local LUA = arg and arg[-1] or "lua5.4"
local SIGPIPE = 13

-- Listens, and serves behind a line of standard input those that came and went before it.
local SERVER = [[
  local core, http, uv = require "koine.core", require "koine.net.http_server", require "luv"
  local n, stop = 0
  local port
  port, stop = http.listen(function(conn)
    n = n + 1
    conn:send(http.head(200, { { "content-length", 5 } }) .. "hello")
    if n == 3 then stop() end
  end, 0)
  print(port)
  io.stdout:flush()
  io.read()
  uv.run()
  stop()
  print("served", n)
  io.stdout:flush()
  uv.kill(uv.os_getpid(), "sigpipe") -- ends this process, as it did before
  os.exit(3)]]

local function start()
  local env = {}
  for _, name in ipairs { "LUA_PATH", "LUA_CPATH", "LD_PRELOAD", "ASAN_OPTIONS" } do env[name] = os.getenv(name) end
  return assert(koine.process.open({ LUA, "-e", SERVER }, { env = env }))
end

-- Sends a request, ends its own side, and resets the connection.
local function come_and_go(port)
  local tcp = assert(socket.tcp())
  tcp:settimeout(20)
  assert(tcp:connect("127.0.0.1", port))
  assert(tcp:setoption("linger", { on = true, timeout = 0 }))
  assert(tcp:send "GET / HTTP/1.1\r\nhost: x\r\n\r\n")
  assert(tcp:shutdown "send")
  tcp:close()
end

describe("the HTTP server", function()
  it("outlives peers that go away, and then leaves SIGPIPE as it was", function()
    local program <close> = start()
    local port = tonumber(program:line())
    for _ = 1, 3 do come_and_go(port) end
    assert(program:write "\n")
    assert.equal("served\t3", program:line())
    assert.equal(SIGPIPE, program:result().signal)
  end)
end)
