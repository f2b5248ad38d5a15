-- lighttpd's mod_magnet: a Lua state in each worker, which waits while a script runs.

local files = require "spec.support.files"
local folder = require "spec.support.folder"
local host = require "spec.hosts.support.host"
local koine = require "koine"

local CONFIG = [[
server.modules = ( "mod_magnet" )
server.document-root = "%s"
server.bind = "127.0.0.1"
server.port = %d
server.max-worker = %d
magnet.attract-raw-url-to = ( "%s" )
]]

describe("lighttpd", function()
  local server, port, place

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    port = host.free_port()
    place = folder.new()
  end)
  after_each(function() folder.remove(place) end)

  local function start(workers)
    files.write(place .. "/lighttpd.conf", CONFIG:format(place, port, workers, host.script "magnet.lua"))
    return host.start("lighttpd", { args = { "-D", "-f", place .. "/lighttpd.conf" }, env = { KOINE_URL = server.url },
      ready = function() return host.listens(port) end })
  end

  local function get(...)
    local answers = host.get(port, { ... })
    for i, answer in ipairs(answers) do answers[i] = answer.status .. " " .. answer.body end
    return table.unpack(answers)
  end

  -- On SIGTERM its status is 1 where a connection was open, without Lua too.
  local function assert_clean(program)
    local code, by = program:stop "sigint"
    assert.are.equal(0, by)
    assert.are.equal(0, code)
    assert.is_nil(program.out:find("lua", 1, true), program.out)
  end

  it("chats, streams, and asks three at once", function()
    assert(server:script "echo")
    local program <close> = start(0)
    assert.are.equal("200 You said: Hello", get "/chat?Hello")
    assert.are.equal("200 2 pieces: You said: Hello", get "/stream?Hello")
    assert.are.equal("200 You said: a1 You said: a2 You said: a3", get "/all?a")
    assert_clean(program)
  end)

  it("serves many clients with two workers", function()
    assert(server:script "echo")
    local program <close> = start(2)
    local paths = {}
    for i = 1, 16 do paths[i] = "/chat?Hello" .. i end
    for i, answer in ipairs(host.get(port, paths)) do assert.are.equal("You said: Hello" .. i, answer.body) end
    assert_clean(program)
  end)

  it("keeps the worker for a client that went, and no longer than the script allows", function()
    assert(server:script { { content = "late", fault = { stall_after = 0 } }, { content = "Hello." } })
    local program <close> = start(0)
    assert.are.equal(0, host.get(port, { "/late?1" }, 0.2)[1].status)
    assert.are.equal("200 Hello.", get "/chat?Hello")
    assert_clean(program)
  end)

  it("answers 504 where the provider is silent, and goes on", function()
    assert(server:script { { content = "late", fault = { stall_after = 0 } }, { content = "Hello." } })
    local program <close> = start(0)
    assert.truthy((get "/late?0.2"):find "^504 ")
    assert.are.equal("200 Hello.", get "/chat?Hello")
    assert_clean(program)
  end)

  -- The module and the Lua library are unloaded, and loaded again; core.so stays.
  it("is restarted gracefully, again and again", function()
    assert(server:script "echo")
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
      assert(server:script { { content = "late", fault = { stall_after = 0 } } })
      local program <close> = start(2)
      local _ <close> = host.start("curl", { args = { "-s", ("http://127.0.0.1:%d/late?1"):format(port) } })
      repeat until #assert(server:requests()) > 0
      local _, by = program:stop(signal)
      assert.are.equal(0, by)
      assert(server:reset())
    end
  end)
end)
