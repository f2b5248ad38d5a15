-- This process's own standard input and output as a wire: a Lua program has them, and the spec talks to it as any
-- program. Sockets in their place, as Node.js gives them, are spec/interop/acp_serve's.

local koine = require "koine"
local process = require "koine.system.process"

-- The program's text; what it says on standard error tells what happened.
local BEGIN = 'local wire <close> = assert(require("koine.system.standard").open(...)) '

describe("standard input and output", function()
  local file, p

  before_each(function() file = os.tmpname() end)
  after_each(function()
    if p then p:close() end
    p = nil
    os.remove(file)
  end)

  -- Opens the program; `shell` is a command in which LUA stands for it.
  local function open(text, shell, on_stderr)
    assert(koine.files.write(file, text))
    local lua = { os.getenv "KOINE_LUA" or "lua5.4", file }
    local env = { LUA_PATH = package.path, LUA_CPATH = package.cpath, PATH = os.getenv "PATH",
      LD_PRELOAD = os.getenv "LD_PRELOAD", ASAN_OPTIONS = os.getenv "ASAN_OPTIONS" }
    if shell then lua = { "sh", "-c", (shell:gsub("LUA", '"$@"')), "sh", table.unpack(lua) } end
    p = assert(process.open(lua, { env = env, on_stderr = on_stderr }))
    return p
  end

  local ECHO = BEGIN .. 'for line in wire.line, wire do assert(wire:write(line .. "\\n")) end assert(wire:flush(60))'

  it("are lines in and bytes out, and end", function()
    open(ECHO)
    for i = 1, 50 do
      assert(p:write(i .. "\r\n"))
      assert.equal(tostring(i), p:line())
    end
    local long = ("x"):rep(3 << 20)
    assert(p:write(long .. "\nrest"))
    p:close_input()
    assert.equal(long, p:line())
    assert.equal("rest", p:line())
    assert.is_nil(p:line())
    assert.equal(0, p:result().code)
  end)

  it("may be files", function()
    open(ECHO, "printf 'a\\nb' >in.tmp; LUA <in.tmp >out.tmp; cat out.tmp; rm in.tmp out.tmp; LUA </dev/null")
    assert.equal("a", p:line())
    assert.equal("b", p:line())
    assert.is_nil(p:line())
  end)

  it("hear nothing else, neither from Lua nor from a child, and a child reads none of it", function()
    open('io.write "early" ' .. BEGIN .. [[print "stray"
      io.write "written\n"
      os.execute "echo child; cat"
      assert(wire:write(wire:line() .. "\n"))
      print(io.read(1))
      wire:close()
      wire:close()
      print "late"]])
    assert(p:write "one\ntwo\n")
    assert.equal("one", p:line())
    assert.equal("late", p:line())
    assert.is_nil(p:line())
    local said = p:result().stderr
    for _, word in ipairs { "early", "stray", "written", "child", "nil" } do assert.truthy(said:find(word), word) end
    assert.falsy(said:find "two")
  end)

  it("leave what stands behind them blocking", function()
    local flags = io.open "/proc/self/fdinfo/0"
    if not flags then return pending "this system does not tell a descriptor's flags" end
    flags:close()
    open(ECHO, "LUA; grep flags /proc/self/fdinfo/0 /proc/self/fdinfo/1")
    assert(p:write "a\n")
    assert.equal("a", p:line())
    p:close_input()
    for _ = 1, 2 do
      local octal = assert(p:line()):match "flags:%s*(%d+)"
      assert.equal(0, tonumber(octal, 8) & 0x800) -- Linux's O_NONBLOCK
    end
  end)

  it("stop a writer whose reader does not read", function()
    local told = {}
    koine.run(function()
      open(BEGIN .. [[
        local koine, n = require "koine", 0
        koine.run(function()
          local writer = koine.spawn(function()
            for _ = 1, 64 do
              assert(wire:write(("x"):rep(65535) .. "\n"))
              n = n + 1
            end
          end)
          for _ = 1, 200 do koine.sleep(0) end
          io.stderr:write(n, "\n")
          writer:wait()
          assert(wire:flush(60))
        end)]], nil, function(line)
        told.n = tonumber(line)
        koine.wake(told)
      end)
      koine.spawn(function() p:result() end)
      while not told.n do koine.park(told) end
      assert.is_true(told.n >= 4 and told.n < 16, told.n)
      for _ = 1, 64 do assert.equal(65535, #p:line()) end
      assert.is_nil(p:line())
    end)
  end)

  it("tell when nobody reads any more, without a signal", function()
    open(BEGIN .. [[
      local ok, err
      repeat ok, err = wire:write(("x"):rep(100000)) until not ok
      io.stderr:write(err.kind, " ", err.code, "\n")]], "LUA | head -c 1 >/dev/null")
    p:close_input()
    assert.is_nil(p:line())
    assert.equal("other closed\n", p:result().stderr)
  end)

  it("have one user, and one reader", function()
    open(BEGIN .. [[
      local ok, err = pcall(require("koine.system.standard").open)
      io.stderr:write(err.field, "\n")
      require("koine").run(function()
        require("koine").spawn(function() io.stderr:write(tostring(select(2, wire:line())), "\n") end)
        require("koine").sleep(0)
        ok, err = pcall(wire.line, wire)
        io.stderr:write(err.field, "\n")
        wire:close()
      end)]])
    assert.equal("standard input\nstandard input\nthe standard input and output was closed\n",
      (p:result().stderr:gsub("lua.*", "")))
  end)

  it("are written within a number of seconds", function()
    open(BEGIN .. [[
      local function field(...) return select(2, pcall(wire.flush, wire, ...)).field end
      io.stderr:write(table.concat({ field(), field("1"), field(-1), field(0/0) }, " "), "\n")
      io.stderr:write(tostring(wire:flush(0)), "\n")]])
    assert.equal("seconds seconds seconds seconds\ntrue\n", p:result().stderr)
  end)

  it("are an error where they are closed", function()
    local script = [[local wire, err = require("koine.system.standard").open()
      io.stderr:write(tostring(wire), " ", err.kind, "\n")]]
    open(script, "LUA <&- >&-")
    assert.equal("nil other\n", p:result().stderr)
  end)
end)
