-- Connections that speak no HTTP: bytes and lines, in plain Lua, tasks and hosts; every end that a peer can make; what
-- is wrong to ask. TLS against a server of OpenSSL's is spec/host/http/link_hostile.c's.

local connect = require "koine.net.connect"
local koine = require "koine"
local peers = require "spec.lua.net.peers"
local raised = require "spec.support.raised"
local wait = require "koine.task.wait"

describe("a connection", function()
  local server, conn, peer

  setup(function() server = peers.listen() end)
  teardown(function() server.close() end)
  before_each(function()
    conn = assert(connect.open { host = "127.0.0.1", port = server.port, timeout = 10 })
    peer = server.accept()
    peer:settimeout(10)
  end)
  after_each(function()
    conn:close()
    peer:close()
  end)

  local function reset()
    peer:setoption("linger", { on = true, timeout = 0 })
    peer:close()
  end

  it("reads lines, with LF and with CR LF, and the rest at the end", function()
    peer:send "one\r\ntwo\n\nthree\r\n\r\nrest"
    peer:close()
    local lines = {}
    for i = 1, 7 do lines[i] = conn:line() or "nothing" end
    assert.are.same({ "one", "two", "", "three", "", "rest", "nothing" }, lines)
    assert.are.same({}, { conn:line() })
    assert.are.same({}, { conn:read(1) })
  end)

  it("reads what is there, at most so much", function()
    peer:send "abcdef"
    assert.are.equal("abcd", conn:read(4))
    assert.are.equal("ef", conn:read(4))
    peer:send "x\ny"
    assert.are.equal("x", conn:line())
    assert.are.equal("y", conn:read(100))
  end)

  it("keeps bytes as they are", function()
    local all = {}
    for i = 0, 255 do all[#all + 1] = string.char(i) end
    local bytes = table.concat(all):rep(400)
    assert(conn:write(bytes))
    assert.are.equal(bytes, peer:receive(#bytes))
    peer:send(bytes)
    local parts, n = {}, 0
    while n < #bytes do
      parts[#parts + 1] = assert(conn:read(1000))
      n = n + #parts[#parts]
    end
    assert.are.equal(bytes, table.concat(parts))
  end)

  it("waits no longer than it is told, and goes on after that", function()
    for _, name in ipairs { "line", "read" } do
      local got, err = conn[name](conn, name == "read" and 1 or 0.01, 0.01)
      assert.is_nil(got)
      assert.are.equal("timeout", err.kind)
      assert.are.equal("read", err.code)
      assert.are.equal("nothing within 0.01 s (read)", err.message)
    end
    peer:send "late\n"
    assert.are.equal("late", conn:line(10))
  end)

  it("tells a peer that reads nothing from one that does", function()
    local big = ("x"):rep(16 << 20)
    local ok, err = conn:write(big, 0.05)
    assert.is_nil(ok)
    assert.are.equal("timeout", err.kind)
    assert.are.equal("write", err.code)
    koine.run(function()
      koine.gather(function()
        assert(conn:write "end\n")
        assert(conn:flush())
      end, function()
        local n = 0
        peer:settimeout(0)
        while n < #big + 4 do
          local all, _, part = peer:receive(1 << 20)
          n = n + #(all or part)
          koine.sleep(0)
        end
      end)
    end)
    assert.are.equal(0, (conn:waiting()))
  end)

  it("goes on writing to a peer that says no more", function()
    peer:shutdown "send"
    assert.is_nil(conn:line())
    assert(conn:write "still here\n")
    assert.are.equal("still here", peer:receive "*l")
  end)

  it("fails when it is reset, reading and writing, with the same error from then on", function()
    peer:send "said\n"
    assert.are.equal("said", conn:line())
    reset()
    local line, err = conn:line()
    assert.is_nil(line)
    assert.are.equal("connect", err.kind)
    assert.is_true(err.retryable)
    local again = select(2, conn:line())
    assert.are.equal(err.message, again.message)
    local _, failure = conn:write "x"
    assert.are.equal("connect", failure.kind)
    assert.are.equal("connect", select(2, conn:flush()).kind)
  end)

  it("is closed in the middle of a wait by somebody else", function()
    for _, name in ipairs { "line", "write", "flush" } do
      koine.run(function()
        local task = koine.spawn(function()
          if name == "line" then return conn:line() end
          if name == "flush" then
            conn:write(("x"):rep(16 << 20), 0)
            return conn:flush()
          end
          return conn:write(("x"):rep(16 << 20))
        end)
        koine.sleep(0)
        conn:close()
        local ok, err = task:wait()
        assert.is_nil(ok)
        assert.are.equal("cancelled", err.kind)
      end)
      conn = assert(connect.open { host = "127.0.0.1", port = server.port })
      peer:close()
      peer = server.accept()
    end
    conn:close()
    conn:close()
    assert.are.equal("the connection was closed", select(2, conn:read(1)).message)
    assert.are.equal("koine.connection (closed)", tostring(conn))
  end)

  it("loses nothing when its reader is cancelled", function()
    koine.run(function()
      local task = koine.spawn(function() return conn:line() end)
      koine.sleep(0)
      peer:send "half a "
      koine.sleep(0.005)
      task:cancel()
      peer:send "line\n"
      assert.are.equal("half a line", conn:line())
    end)
    koine.run(function() -- what was opened in a task, and not closed, ends with it when it is cancelled
      local mine
      local task = koine.spawn(function()
        mine = assert(connect.open { host = "127.0.0.1", port = server.port })
        mine:line()
      end)
      local other
      while not mine do koine.sleep(0.001) end
      other = server.accept()
      other:settimeout(10)
      task:cancel()
      koine.sleep(0)
      assert.are.equal("closed", select(2, other:receive(1)))
      other:close()
    end)
  end)

  it("has one reader at a time", function()
    koine.run(function()
      local task = koine.spawn(function() return conn:line() end)
      koine.sleep(0)
      local err = raised(function() conn:read(1) end)
      assert.are.equal("connection", err.field)
      peer:send "mine\n"
      assert.are.equal("mine", task:wait())
      peer:send "x"
      assert.are.equal("x", conn:read(1))
    end)
  end)

  it("ends with its variable, and with the collector", function()
    do local _ <close> = conn end
    assert.are.equal("closed", select(2, peer:receive(1)))
    peer:close()
    do
      local dropped = assert(connect.open { host = "127.0.0.1", port = server.port })
      dropped:write "unread"
    end
    peer = server.accept()
    peer:settimeout(10)
    collectgarbage()
    collectgarbage()
    assert.are.equal("unread", peer:receive(6))
    assert.are.equal("closed", select(2, peer:receive(1)))
  end)

  it("refuses a line that is too long", function()
    conn:close()
    peer:close()
    conn = assert(connect.open { host = "127.0.0.1", port = server.port, line_max = 10 })
    peer = server.accept()
    peer:send "0123456789\r\n0123456789\n0123456789x\n"
    assert.are.equal("0123456789", conn:line())
    assert.are.equal("0123456789", conn:line())
    local line, err = conn:line()
    assert.is_nil(line)
    assert.are.equal("limit", err.kind)
    assert.are.equal("a line exceeds 10 bytes", err.message)
    assert.are.equal("limit", select(2, conn:line()).kind)
  end)

  it("searches a long line once, however it comes", function()
    local LONG, PIECE = 4 << 20, 64
    local sent = 0
    peer:settimeout(0)
    local line
    koine.run(function()
      koine.gather(function() line = conn:line() end, function()
        local piece = ("y"):rep(PIECE)
        while sent < LONG do
          local n = peer:send(piece:rep(256))
          sent = sent + (n or 0)
          koine.sleep(0)
        end
        peer:settimeout(10)
        peer:send "\n"
      end)
    end)
    assert.is_true(#line >= LONG)
  end)

  for name, together in pairs(peers.loops()) do
    it("waits in " .. name .. " while others work, a reader and a writer at once", function()
      local big, heard, said = ("z"):rep(4 << 20), 0, nil
      local done = false
      together(function()
        said = conn:line()
        done = true
      end, function()
        assert(conn:write(big))
        assert(conn:flush())
      end, function()
        peer:settimeout(0)
        while heard < #big do
          local all, _, part = peer:receive(1 << 20)
          heard = heard + #(all or part)
          wait.park({}, 0.0005)
        end
        assert.is_false(done)
        peer:send "done\n"
      end)
      assert.are.equal("done", said)
      assert.are.equal(#big, heard)
    end)
  end
end)

describe("connecting", function()
  local function fails(options)
    local conn, err = connect.open(options)
    assert.is_nil(conn)
    return err
  end

  it("tells why there is no connection", function()
    local err = fails { host = "127.0.0.1", port = 1 }
    assert.are.same({ "connect", "connect", true }, { err.kind, err.code, err.retryable })
    err = fails { path = "/nonexistent/socket" }
    assert.are.same({ "connect", "cannot connect to /nonexistent/socket" }, { err.kind, err.message })
    err = fails { host = "nowhere.invalid", port = 1 }
    assert.are.equal("connect", err.kind)
  end)

  it("ends at its time", function()
    local server <close> = setmetatable(peers.listen(), { __close = function(self) self.close() end })
    local err = fails { host = "127.0.0.1", port = server.port, tls = true, timeout = 0.05 } -- the server speaks no TLS
    assert.are.same({ "timeout", "connect" }, { err.kind, err.code })
    assert.are.equal("no TLS handshake within 0.050 s (connect)", err.message)
    local cancelled
    koine.run(function()
      local options = { host = "127.0.0.1", port = server.port, tls = true }
      local task = koine.spawn(function() return connect.open(options) end)
      koine.sleep(0.01)
      task:cancel()
      cancelled = true
    end)
    assert.is_true(cancelled)
  end)

  it("reaches nothing else offline", function()
    finally(function() koine.testing.offline(false) end)
    koine.testing.offline(true)
    local err = fails { host = "example.com", port = 80 }
    assert.are.same({ "connect", "offline", false }, { err.kind, err.code, err.retryable })
    local server = peers.listen()
    for _, host in ipairs { "127.0.0.1", "localhost" } do
      local conn = assert(connect.open { host = host, port = server.port })
      conn:close()
    end
    server.close()
  end)

  it("goes to UNIX sockets", function()
    local name = os.tmpname()
    os.remove(name)
    local listener = assert(require "socket.unix"())
    assert(listener:bind(name))
    assert(listener:listen())
    finally(function()
      listener:close()
      os.remove(name)
    end)
    local conn <close> = assert(connect.open { path = name })
    local peer = assert(listener:accept())
    assert(conn:write "over there\n")
    assert.are.equal("over there", peer:receive "*l")
    peer:send "here\n"
    assert.are.equal("here", conn:line())
    peer:close()
  end)

  it("refuses what is wrong to ask", function()
    local good = { host = "127.0.0.1", port = 1 }
    local function with(name, value)
      local options = { host = good.host, port = good.port }
      options[name] = value
      return options
    end
    for _, case in ipairs { { "host", {} }, { "host", "a b" }, { "host", "user:secret@host" }, { "port", 0 },
      { "port", 65536 }, { "port", "80" }, { "tls", 1 }, { "timeout", -1 }, { "timeout", "1" }, { "path", "" },
      { "path", ("x"):rep(108) }, { "high_water", 0 }, { "line_max", 0.5 }, { "hots", "x" } } do
      local err = raised(function() connect.open(with(case[1], case[2])) end)
      assert.are.equal(case[1], err.field)
      assert.is_nil(err.message:find "secret")
    end
    assert.are.equal("host", raised(function() connect.open { port = 1 } end).field)
    assert.are.equal("port", raised(function() connect.open { host = "x" } end).field)
    assert.are.equal("options", raised(function() connect.open() end).field)
    local server = peers.listen()
    local conn <close> = assert(connect.open { host = "127.0.0.1", port = server.port })
    assert.are.equal("n", raised(function() conn:read(0) end).field)
    assert.are.equal("n", raised(function() conn:read() end).field)
    assert.are.equal("seconds", raised(function() conn:line "1" end).field)
    assert.are.equal("bytes", raised(function() conn:write(1) end).field)
    server.close()
  end)

  it("is closed to a child: the descriptor is gone on exec", function()
    local server = peers.listen()
    local conn <close> = assert(connect.open { host = "127.0.0.1", port = server.port })
    local listing = assert(koine.process.run { "ls", "-l", "/proc/self/fd" })
    assert.is_nil(listing.stdout:find "socket:")
    assert.is_false(conn:ready() == nil)
    server.close()
  end)
end)
