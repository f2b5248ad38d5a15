-- Cassettes and what the disk does to them: processes that die, a full disk, two writers, and what is no file at all.

local core = require "koine.core"
local files = require "koine.data.files"
local kit = require "spec.lua.testing.cassette.kit"
local process = require "koine.system.process"

-- Records a request of so many bytes that no one answers; dies, or finishes and says how that went.
local RECORD = [[
  local path, what, size = ...
  local tape = require("koine").testing.cassette.open(path, { mode = "record" })
  require("koine.net.http").send { url = "http://127.0.0.1:1/" .. what, method = "POST",
    body = what:rep(tonumber(size)), transport = tape, timeout = 5 }
  if what == "killed" then os.execute "kill -9 $PPID" end
  local ok, err = tape:finish()
  io.write(ok and "written" or err.kind .. " " .. tostring(err.code))
]]

local PASSED = { "PATH", "LUA_PATH", "LUA_CPATH", "LD_PRELOAD", "ASAN_OPTIONS" }
local LUA = os.getenv "KOINE_LUA" or "lua5.4"

describe("a cassette's file", function()
  local env

  setup(function()
    env = {}
    for _, name in ipairs(PASSED) do env[name] = os.getenv(name) end
    env.LUA_PATH, env.LUA_CPATH = package.path, package.cpath
  end)
  before_each(function()
    kit.begin()
    assert(files.write(kit.path .. ".lua", RECORD))
  end)
  after_each(kit.restore)

  -- Starts RECORD behind a shell's words (nil: none): a live program.
  local function start(what, size, words)
    return assert(process.open({ "sh", "-c", (words or "") .. ' exec "$0" "$@"', LUA, kit.path .. ".lua", kit.path,
      what, tostring(size) }, { env = env }))
  end

  -- Runs it: what it said, and the signal that ended it.
  local function record(what, size, words)
    local running <close> = start(what, size, words)
    local said = running:line()
    return said, assert(running:result()).signal
  end

  it("stays as it was when the process is killed while it records, or while it writes", function()
    kit.write { kit.exchange("known", kit.response "old") }
    local old = kit.text()
    assert.are.same({ nil, 9 }, { record("killed", 10) })
    assert.are.equal(old, kit.text())
    assert.is_not_nil(select(2, record("big", 100000, "ulimit -f 16;"))) -- SIGXFSZ
    assert.are.equal(old, kit.text())
    assert.are.equal("written", (record("small", 10)))
    assert.are_not.equal(old, kit.text())
  end)

  it("stays as it was when the disk is full", function()
    kit.write { kit.exchange("known", kit.response "old") }
    local old = kit.text()
    assert.are.equal("limit full", (record("big", 100000, "trap '' XFSZ; ulimit -f 16;")))
    assert.are.equal(old, kit.text())
  end)

  it("is whole, and that of one, when two processes record it at once", function()
    local one <close> = start("one", 20000)
    local two <close> = start("two", 20000)
    assert.are.same({ "written", "written" }, { one:line(), two:line() })
    local body = kit.read().exchanges[1].request.body
    assert.is_true(body == ("one"):rep(20000) or body == ("two"):rep(20000))
    assert.is_true(kit.open({ mode = "replay" }):count() == 1)
  end)

  it("is refused where it is a directory, a pipe, or too long, and nothing takes its place", function()
    local function refused(words)
      for _, mode in ipairs { "replay", "auto", "extend" } do
        local tape = kit.open { mode = mode }
        local _, err = tape:begin { method = "GET", url = "http://127.0.0.1:1/" }
        assert.are.same({ "connect", "cassette" }, { err.kind, err.code })
        assert.is_truthy(err.message:find(words, 1, true), err.message)
        assert.are.equal(err, select(2, tape:finish()))
      end
    end
    assert(process.run { "mkdir", kit.path })
    refused "Is a directory"
    assert.is_nil((kit.open({ mode = "record" }):finish()))
    assert(process.run { "rmdir", kit.path })
    assert(process.run { "mkfifo", kit.path })
    refused "regular file"
    assert.is_nil((kit.open({ mode = "record" }):finish()))
    os.remove(kit.path)
    local file = assert(io.open(kit.path, "wb"))
    file:seek("set", 257 << 20)
    file:write "}"
    file:close()
    refused "268435456"
    os.remove(kit.path)
  end)

  it("that cannot be written is an error of finish", function()
    local err
    kit.serve({ kit.stream "live" }, function(url)
      local tape = require("koine").testing.cassette.open("/nowhere/at/all.json", { mode = "record" })
      assert(kit.claude(tape, { base_url = url }):chat("x", { stream = true }))
      err = select(2, tape:finish())
    end)
    assert.are.equal("other", err.kind)
    assert.is_truthy(err.message:find("/nowhere/at/all.json", 1, true), err.message)
  end)

  it("that nobody may write is played, and replaced where its folder allows it", function()
    kit.write { kit.exchange("known", kit.response "old") }
    assert(process.run { "chmod", "400", kit.path })
    local tape = kit.open { mode = "replay" }
    assert(kit.claude(tape):chat("known", { stream = true }))
    assert(tape:finish())
    assert.are.equal(1, #core.decode(assert(files.read(kit.path))).exchanges)
  end)
end)
