-- Prosody: its loop watches Koine's engine (scripts/mod_ask.lua), so that many requests wait at once.

local files = require "spec.support.files"
local host = require "spec.hosts.support.host"
local uv = require "luv"

local CONFIG = [[
run_as_root = true
pidfile = "%s/pid"
data_path = "%s"
certificates = "%s"
plugin_paths = { "%s" }
modules_enabled = { "http" }
c2s_ports = {}
s2s_ports = {}
http_interfaces = { "127.0.0.1" }
http_ports = { %d }
https_ports = {}
log = { info = "*console" }
VirtualHost "localhost"
  http_host = "127.0.0.1"
  modules_enabled = { "ask" }
]]

describe("Prosody", function()
  local bench, port = host.bench(), nil

  before_each(function() port = host.free_port() end)

  local function start(mode)
    local place = bench.place
    files.write(place .. "/prosody.cfg.lua", CONFIG:format(place, place, place, host.script "":gsub("/$", ""), port))
    return host.start("prosody", { args = { mode or "-F", "--config", place .. "/prosody.cfg.lua" }, env = {
      KOINE_URL = bench.server.url }, ready = function() return host.listens(port) end })
  end

  local function get(path, seconds) return host.get(port, { "/ask/" .. path }, seconds)[1] end

  local function state() return get("state").body end

  local IDLE = "0 waiting, koine.engine (0 in flight)"

  local function assert_clean(program)
    local code, signal = program:stop()
    assert.are.equal(0, signal)
    assert.are.equal(0, code, program.out)
    assert.is_nil(program.out:find("error", 1, true), program.out)
  end

  it("chats, streams, and tells of errors", function()
    assert(bench.server:script "echo")
    local program <close> = start()
    assert.are.same({ status = 200, body = "You said: Hello" }, get "chat?Hello")
    assert.are.equal("data: You said\n\ndata: : Hello\n\n", get "stream?Hello".body)
    assert.are.equal(500, get "fail?Hello".status)
    assert.are.equal(IDLE, state())
    assert_clean(program)
  end)

  it("serves many at once, and others meanwhile", function()
    local answers, clients = {}, {}
    for i = 1, 20 do answers[i] = { content = "late", fault = { delay_ms = 2000 } } end
    assert(bench.server:script(answers))
    local program <close> = start()
    for i = 1, 20 do clients[i] = host.ask(port, "/ask/chat?Hello") end
    host.await(function() return state():find "^20 waiting" end)
    for _, client in ipairs(clients) do
      client:wait()
      assert.are.equal("late\n200", client.out)
    end
    assert.are.equal(IDLE, state())
    assert_clean(program)
  end)

  it("gives up what a client waits for that goes", function()
    assert(bench.server:script { host.LATE })
    local program <close> = start()
    assert.are.equal(0, get("chat?Hello", 0.3).status)
    program:await(function() return state() == IDLE end)
    assert_clean(program)
  end)

  it("has its module reloaded, with a chat that waits too", function()
    assert(bench.server:script { host.LATE, { content = "one" }, { content = "two" } })
    local program <close> = start()
    local waits <close> = host.ask(port, "/ask/chat?Hello")
    host.await(function() return state():find "^1 waiting" end)
    for _, answer in ipairs { "one", "two" } do
      assert.are.equal("soon", get "reload".body)
      host.await(function() return state() == IDLE end)
      assert.are.equal(answer, get "chat?Hello".body)
    end
    waits:kill()
    assert_clean(program)
  end)

  it("serves as a daemon: it forks when its modules are loaded", function()
    assert(bench.server:script "echo")
    local program <close> = start "-D"
    host.await(function() return program.code end)
    local pid
    host.await(function()
      pid = uv.fs_access(bench.place .. "/pid", "R") and tonumber((files.read(bench.place .. "/pid"):match "%d+"))
      return pid
    end)
    finally(function() uv.kill(pid, "sigkill") end)
    assert.are.equal("You said: Hello", get "chat?Hello".body)
    assert.are.equal("data: You said\n\ndata: : Hello\n\n", get "stream?Hello".body)
    uv.kill(pid, "sigterm")
    host.await(function() return not host.listens(port) end)
  end)

  it("ends while a chat waits", function()
    assert(bench.server:script { host.LATE })
    local program <close> = start()
    local waits <close> = host.ask(port, "/ask/chat?Hello")
    host.await(function() return state():find "^1 waiting" end)
    assert_clean(program)
    waits:kill()
  end)
end)
