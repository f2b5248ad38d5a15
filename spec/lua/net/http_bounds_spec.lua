-- The HTTP server with bounds: how long a peer may take, and how many may wait to be let in. Raw sockets
-- against a server in a process of its own.

local client = require "spec.support.raw_client"
local quote = require("spec.lua.system.repository").quote
local socket = require "socket"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"

local SERVER = [[
  local http, uv = require "koine.net.http_server", require "luv"
  local bounds = %s
  function bounds.admits(request) return request.headers.token == "t" end
  local port = http.listen(function(conn, request)
    local body = request.path == "/much" and ("x"):rep(64 << 20) or ("%%d bytes, x: %%s."):format(#request.body,
      request.headers.x)
    conn:send(http.head(200, { { "content-length", #body } }) .. body)
    return true
  end, 0, nil, bounds)
  print(port)
  io.stdout:flush()
  uv.run()]]

describe("the HTTP server, with bounds,", function()
  local server

  -- Starts one; every bound that is not given is a minute, or ten connections.
  local function start(bounds)
    local given = ("{ head = %g, body = %g, close = %g, waiting = %d }"):format(bounds.head or 60, bounds.body or 60,
      bounds.close or 60, bounds.waiting or 10)
    local pipe = assert(io.popen(("echo $$; LUA_PATH=%s LUA_CPATH=%s exec %s -e %s 2>&1"):format(quote(package.path),
      quote(package.cpath), LUA, quote(SERVER:format(given)))))
    local pid, port = pipe:read("n", "n")
    server = { pipe = pipe, pid = pid, port = port or error(pipe:read "a") }
  end

  after_each(function()
    os.execute("kill " .. server.pid)
    server.pipe:close()
  end)

  local function connect() return client.connect(server) end

  local LET_IN = { token = "t" }

  -- A request's answer: status and body.
  local function ask(headers, body, path)
    local tcp = connect()
    assert(tcp:send(client.head("POST", path or "/", headers, body) .. (body or "")))
    local answer = client.receive(tcp)
    tcp:close()
    return answer.status, answer.body
  end

  -- Sends a byte now and then, until the server hangs up.
  local function drip(tcp, byte)
    tcp:settimeout(0.002)
    for _ = 1, 10000 do
      local _, err = tcp:send(byte)
      if err == "closed" then return true end
      _, err = tcp:receive(1)
      if err == "closed" then return true end
    end
    return false
  end

  it("answers as without them", function()
    start {}
    assert.are.same({ 200, "5 bytes, x: y." }, { ask({ token = "t", x = "y" }, "hello") })
  end)

  it("does not wait for a head that does not come, or comes byte by byte", function()
    start { head = 1 } -- which an honest peer meets, too
    local tcp = connect()
    assert.are.equal("HTTP/1.1 408 Request Timeout", tcp:receive "*l")
    tcp = connect()
    assert(tcp:send "GET / HTTP/1.1\r\nx: ")
    assert.is_true(drip(tcp, "y"))
    assert.are.equal(200, (ask(LET_IN)))
  end)

  it("does not wait for a body that does not come", function()
    start { body = 0.05 }
    for _, headers in ipairs { { token = "t", ["content-length"] = 10 }, { token = "t",
      ["transfer-encoding"] = "chunked" } } do
      local tcp = connect()
      assert(tcp:send(client.head("POST", "/", headers) .. "5\r\n"))
      assert.are.equal("HTTP/1.1 408 Request Timeout", tcp:receive "*l")
    end
  end)

  it("reads no body of those who are not let in", function()
    start {}
    local tcp = connect()
    assert(tcp:send(client.head("POST", "/", { ["content-length"] = 60 << 20, expect = "100-continue" })))
    assert.are.equal("0 bytes, x: nil.", client.receive(tcp).body)
  end)

  it("does not wait for a peer to go, nor to take its answer", function()
    start { close = 1 } -- which an honest peer meets, too
    local much = connect()
    assert(much:send(client.head("GET", "/much", LET_IN)))
    local tcp = connect()
    assert(tcp:send(client.head("GET", "/", LET_IN)))
    assert.are.equal(200, client.receive(tcp).status)
    assert.is_true(drip(tcp, "x")) -- which came later than the other
    socket.sleep(1.2)
    local all, err, some = much:receive "*a"
    assert.are.same({ nil, "closed" }, { all, err })
    assert.is_true(#some < 64 << 20)
  end)

  it("keeps no more than so many of those who are not let in: the oldest goes", function()
    start { waiting = 4 }
    local silent = {}
    for i = 1, 40 do
      silent[i] = connect()
      if i % 2 == 0 then assert(silent[i]:send "POST /v1/bash HTTP/1.1\r\n") end
    end
    assert.are.equal(200, (ask(LET_IN)))
    for i = 1, 36 do assert.are_not.equal("timeout", (select(2, silent[i]:receive(1)))) end
    for i = 38, 40 do
      silent[i]:settimeout(0)
      assert.are.equal("timeout", (select(2, silent[i]:receive(1))))
    end
  end)

  it("counts those who are let in no more", function()
    start { waiting = 2 }
    local inside = {}
    for i = 1, 8 do
      inside[i] = connect()
      assert(inside[i]:send(client.head("POST", "/", { token = "t", ["content-length"] = 1 })))
      assert.are.equal(200, (ask(LET_IN))) -- so that it has been read
    end
    for i = 1, 8 do
      assert(inside[i]:send "x")
      assert.are.equal("1 bytes, x: nil.", client.receive(inside[i]).body)
    end
  end)

  it("answers one request of a connection, and forgets what comes behind it", function()
    start {}
    local tcp = connect()
    local request = client.head("POST", "/", LET_IN, "a") .. "a"
    assert(tcp:send(request .. request))
    assert.are.equal(200, client.receive(tcp).status)
    assert.are.equal("closed", (select(2, tcp:receive(1))))
  end)

  -- Reading these anew for every line or space would take minutes.
  it("reads the worst heads at once", function()
    start {}
    local spaces = "x: y" .. (" "):rep(250 << 10) .. "z"
    for _, lines in ipairs { ("x:\r\n"):rep(60000) .. "x: y", spaces, (spaces:gsub(" ", "\t")),
      "x: y" .. (" \t"):rep(120000), "x:" .. (" "):rep(250 << 10) } do
      local tcp = connect()
      assert(tcp:send("GET / HTTP/1.1\r\n" .. lines .. "\r\n\r\n"))
      assert.are.equal(200, client.receive(tcp).status)
    end
    assert.are.equal("0 bytes, x: y, , z.", select(2, ask { token = "t", x = "y \t \r\nx:\r\nx: z " }))
  end)

  it("reads a request that comes in any pieces", function()
    start {}
    local head = client.head("POST", "/", { token = "t", ["transfer-encoding"] = "chunked" })
    local whole = head .. "3\r\nabc\r\n" .. ("1\r\nx\r\n"):rep(20000) .. "0\r\nx: y\r\n\r\n"
    for _, size in ipairs { 1, 2, 3, 4, 5, 7, 64, #head - 2, 1 << 20 } do
      local tcp, at = connect(), 1
      tcp:setoption("tcp-nodelay", true)
      while at <= #whole do -- in these pieces as far as they may matter
        local n = at < #head + 40 and size or #whole
        assert(tcp:send(whole:sub(at, at + n - 1)))
        at = at + n
      end
      assert.are.equal("20003 bytes, x: nil.", client.receive(tcp).body)
    end
  end)

  it("is not fooled by the sizes of chunks", function()
    start {}
    local head = client.head("POST", "/", { token = "t", ["transfer-encoding"] = "chunked" })
    for _, size in ipairs { "ffffffffffffffff", "fffffffffffffff0", "8000000000000000", "10000000000000001",
      "fffffffff" } do
      local tcp = connect()
      assert(tcp:send(head .. size .. "\r\nx\r\n"))
      assert.are.equal("HTTP/1.1 413 Content Too Large", tcp:receive "*l", size)
    end
    local tcp = connect()
    assert(tcp:send(head .. "0\r\n"))
    tcp:send(("a: b\r\n"):rep(50000))
    assert.are.equal("HTTP/1.1 431 Request Header Fields Too Large", tcp:receive "*l")
  end)
end)
