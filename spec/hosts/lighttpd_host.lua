-- lighttpd's mod_magnet: a Lua state in each worker, which waits while a script runs.

local files = require "spec.support.files"
local host = require "spec.hosts.support.host"

local CONFIG = [[
server.modules = ( "mod_magnet" )
server.document-root = "%s"
server.bind = "127.0.0.1"
server.port = %d
server.max-worker = %d
magnet.attract-raw-url-to = ( "%s" )
]]

describe("lighttpd", function()
  local bench, port = host.bench(), nil

  before_each(function() port = host.free_port() end)

  local function start(workers)
    local place = bench.place
    files.write(place .. "/lighttpd.conf", CONFIG:format(place, port, workers, host.script "magnet.lua"))
    return host.start("lighttpd", { args = { "-D", "-f", place .. "/lighttpd.conf" },
      env = { KOINE_URL = bench.server.url }, ready = function() return host.listens(port) end })
  end

  local function get(path)
    local answer = host.get(port, { path })[1]
    return answer.status .. " " .. answer.body
  end

  -- On SIGTERM its status is 1 where a connection was open, without Lua too.
  local function assert_clean(program)
    local code, by = program:stop "sigint"
    assert.are.equal(0, by)
    assert.are.equal(0, code)
    assert.is_nil(program.out:find("lua", 1, true), program.out)
  end

  it("chats, streams, and asks three at once", function()
    assert(bench.server:script "echo")
    local program <close> = start(0)
    assert.are.equal("200 You said: Hello", get "/chat?Hello")
    assert.are.equal("200 2 pieces: You said: Hello", get "/stream?Hello")
    assert.are.equal("200 You said: a1 You said: a2 You said: a3", get "/all?a")
    assert_clean(program)
  end)

  it("serves many clients with two workers", function()
    assert(bench.server:script "echo")
    local program <close> = start(2)
    local paths = {}
    for i = 1, 16 do paths[i] = "/chat?Hello" .. i end
    for i, answer in ipairs(host.get(port, paths)) do assert.are.equal("You said: Hello" .. i, answer.body) end
    assert_clean(program)
  end)

  it("keeps the worker for a client that went, and no longer than the script allows", function()
    assert(bench.server:script { host.LATE, { content = "Hello." } })
    local program <close> = start(0)
    assert.are.equal(0, host.get(port, { "/late?1" }, 0.2)[1].status)
    assert.are.equal("200 Hello.", get "/chat?Hello")
    assert_clean(program)
  end)

  it("answers 504 where the provider is silent, and goes on", function()
    assert(bench.server:script { host.LATE, { content = "Hello." } })
    local program <close> = start(0)
    assert.truthy((get "/late?0.2"):find "^504 ")
    assert.are.equal("200 Hello.", get "/chat?Hello")
    assert_clean(program)
  end)

  -- The module and the Lua library are unloaded, and loaded again; core.so stays.
  it("is restarted gracefully, again and again", function()
    assert(bench.server:script "echo")
    local program <close> = start(0)
    for i = 1, 5 do
      assert.are.equal("200 You said: " .. i, get("/chat?" .. i))
      program:signal "sigusr1"
      program:await(function() return select(2, program.out:gsub("graceful", "")) >= i end)
      program:await(function() return host.listens(port) end)
    end
    assert.are.equal("200 You said: Hello", get "/chat?Hello")
    assert_clean(program)
  end)

  it("ends on SIGTERM and on SIGINT while a chat waits", function()
    for _, signal in ipairs { "sigterm", "sigint" } do
      assert(bench.server:script { host.LATE })
      local program <close> = start(2)
      local _ <close> = host.ask(port, "/late?1")
      host.await(function() return #assert(bench.server:requests()) > 0 end)
      local _, by = program:stop(signal)
      assert.are.equal(0, by)
      assert(bench.server:reset())
    end
  end)
end)
