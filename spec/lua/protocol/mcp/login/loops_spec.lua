-- Logins of programs of their own: in plain Lua, in tasks and in every host; and several at once on one file.

local kit = require "spec.lua.protocol.mcp.login.kit"
local folder = require "spec.support.folder"
local koine = require "koine"

local LUA = arg and arg[-1] or "lua5.4"

-- Says where to log in, then the token. Arguments: the loop, the server, the file.
local PROGRAM = [[
  local koine = require "koine"
  local loop, url, path = ...
  local function work()
    local source = assert(koine.mcp.login { url = url, tokens = path, on_url = function(there)
      print(there)
      io.stdout:flush()
    end })
    print((assert(source:token {})))
    io.stdout:flush()
    print((assert(source:token({}, io.read()))))
    io.stdout:flush()
  end
  if loop == "plain" then
    work()
  elseif loop == "run" then
    koine.run(work)
  else
    koine.hosts[loop].install()
    if loop == "poll" then
      koine.hosts.poll.spawn(work)
      koine.hosts.poll.run()
    elseif loop == "luv" then
      coroutine.wrap(work)()
      require("luv").run()
    else
      local controller = require("cqueues").new()
      controller:wrap(work)
      assert(controller:loop())
    end
  end]]

local function start(loop, server, path)
  local env = {}
  for _, name in ipairs { "LUA_PATH", "LUA_CPATH", "LD_PRELOAD", "ASAN_OPTIONS" } do env[name] = os.getenv(name) end
  return assert(koine.process.open({ LUA, "-e", ("local f = assert(load(%q)); f(%q, %q, %s)"):format(PROGRAM, loop,
    server.url .. "/mcp", path and ("%q"):format(path) or "nil") }, { env = env }))
end

describe("a login in a program", function()
  for _, loop in ipairs { "plain", "run", "luv", "cqueues", "poll" } do
    it("works in " .. loop, function()
      kit.run({}, function(server)
        local program <close> = start(loop, server)
        server:visit(assert(program:line()))
        assert.are.equal("access-token-1", program:line())
        assert.are.equal(200, server.page.status)
        assert(program:write "access-token-1\n")
        assert.are.equal("access-token-2", program:line())
        assert.are.equal(0, program:result().code)
      end)
    end)
  end

  it("refreshes for another one that has the same file", function()
    local path = folder.new()
    kit.run({}, function(server)
      local first <close> = start("plain", server, path .. "/t")
      server:visit(assert(first:line()))
      assert.are.equal("access-token-1", first:line())
      local second <close> = start("plain", server, path .. "/t")
      assert.are.equal("access-token-1", second:line())
      assert(first:write "access-token-1\n")
      assert(second:write "access-token-1\n")
      assert.are.same({ "access-token-2", "access-token-2" }, { first:line(), second:line() })
      assert.are.equal(2, #server.asked)
    end)
    folder.remove(path)
  end)
end)
