-- dnsmasq's Lua scripts: a helper process, which takes events one after the other, beside the server that answers
-- clients.

local files = require "spec.support.files"
local host = require "spec.hosts.support.host"
local uv = require "luv"

describe("dnsmasq", function()
  local bench = host.bench()

  local function notes()
    local file <close> = io.open(bench.place .. "/out")
    return file and file:read "a" or ""
  end

  -- Leases are told of at the start, and again on SIGHUP: no client has to ask for one.
  local function start(names)
    local leases = {}
    for i, name in ipairs(names) do
      leases[i] = ("%d 02:00:00:00:00:%02d 192.168.77.%d %s *\n"):format(os.time() + 3600, i, i, name)
    end
    files.write(bench.place .. "/leases", table.concat(leases))
    return host.start("dnsmasq", { env = { KOINE_URL = bench.server.url, KOINE_OUT = bench.place .. "/out" },
      args = { "-k", "--user=root", "--conf-file=/dev/null", "--pid-file=" .. bench.place .. "/pid", "--port=0",
        ("--dhcp-alternate-port=%d,%d"):format(host.free_port(), host.free_port()), "--listen-address=127.0.0.1",
        "--bind-interfaces", "--interface=lo", "--dhcp-range=127.0.0.5,127.0.0.6,255.0.0.0", "--log-facility=-",
        "--dhcp-leasefile=" .. bench.place .. "/leases", "--dhcp-luascript=" .. host.script "lease.lua" } })
  end

  -- The helper ends after the server, with what it is asked last.
  local function assert_clean(program, last)
    program:signal "sigterm"
    host.await(function() return notes():find("shutdown: " .. last, 1, true) end)
    local code, signal = program:wait()
    assert.are.equal(0, signal)
    assert.are.equal(0, code)
    assert.is_nil(program.out:find("lua", 1, true), program.out)
  end

  local function unfit()
    return uv.getuid() ~= 0 and "dnsmasq serves leases as root only"
  end

  it("asks about each lease, at the start and after SIGHUP, and at the end", function()
    if unfit() then return pending(unfit()) end
    assert(bench.server:script "echo")
    local program <close> = start { "laptop", "phone" }
    program:await(function() return notes():find "old: You said: laptop\n" end)
    program:signal "sighup"
    program:await(function() return select(2, notes():gsub("old: You said: laptop\n", "")) == 2 end)
    assert_clean(program, "You said: bye")
    local old = "old: You said: phone\nold: You said: laptop\n" -- the last one first
    assert.are.equal("init: You said: init\n" .. old .. old .. "shutdown: You said: bye\n", notes())
  end)

  it("goes on where the provider is silent: the next event comes after the script's own limit", function()
    if unfit() then return pending(unfit()) end
    assert(bench.server:script { host.LATE, { content = "one" }, { content = "two" } })
    local program <close> = start { "laptop" }
    program:await(function() return notes():find "old: " end)
    assert.are.equal("init: timeout\nold: one\n", notes())
    assert_clean(program, "two")
  end)
end)
