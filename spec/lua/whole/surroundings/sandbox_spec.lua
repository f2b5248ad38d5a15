-- Hosts that leave parts of Lua out: games and servers that run scripts of others.

local loopback = require "spec.support.loopback"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"

describe("without", function()
  local kit, server = loopback.new "echo", nil

  setup(function() server = kit.start() end)
  teardown(kit.stop)
  before_each(kit.reset)

  for _, names in ipairs { "debug", "io", "os", "print", "warn", "utf8", "load dofile loadfile", "collectgarbage",
    "package.searchpath package.loadlib package.config", "math.randomseed math.random",
    "debug io os print warn utf8 load dofile loadfile collectgarbage math.random" } do
    it(names .. ", a script chats, streams, runs tools and tasks, and gets its errors", function()
      local pipe = assert(io.popen(("env -u ANTHROPIC_API_KEY %s spec/lua/whole/surroundings/sandboxed.lua %s %s 2>&1")
        :format(LUA, server.url, names)))
      local text = pipe:read "a"
      pipe:close()
      assert.are.equal("done\n", text)
    end)
  end
end)
