local core = require "koine.core"
local folder = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local raised = require "spec.support.raised"
local rate_limiter = require "koine.rate_limiter"
local toy_host = require "spec.support.toy_host"
local wait = require "koine.wait"

local ROUNDING = 1e-6 -- seconds: of Unix times as floats

local function read_file(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function write_file(path, text, mode)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(os.execute(("chmod %s '%s'"):format(mode or "600", path)))
end

local function state_in(path) return assert(core.decode(read_file(path))) end

-- A program of its own with `code`, its standard output to read. Its first line is its process id.
local function start(code)
  local program = ("package.path, package.cpath = %q, %q; %s"):format(package.path, package.cpath, code)
  return assert(io.popen(("echo $$; exec %s -e '%s'"):format(os.getenv "KOINE_LUA" or "lua5.4",
    program:gsub("'", "'\\''")), "r"))
end

describe("koine.rate_limiter", function()
  local park, now, clock = wait.park, wait.now, rate_limiter.clock
  local directory, path, time, slept

  before_each(function()
    directory = folder.new()
    path = directory .. "/state"
    time, slept = 1764000000.25, {}
  end)

  after_each(function()
    wait.park, wait.now, rate_limiter.clock = park, now, clock
    folder.remove(directory)
  end)

  -- Time stands still but for sleeps, which are written down.
  local function freeze()
    rate_limiter.clock = function() return time end
    wait.park = function(_, seconds)
      slept[#slept + 1], time = seconds, time + seconds
      return false
    end
  end

  local function limiter(options)
    options.rate_limit_path = options.rate_limit_path or path
    return koine.rate_limiter(options)
  end

  local function window(requests, period) return { requests = requests, period = period } end

  local function near(expected, value) assert.is_true(math.abs(expected - value) < 1e-3, tostring(value)) end

  describe("options", function()
    it("may be an interval, a window, both or neither", function()
      for _, options in ipairs { { min_request_interval = 3 }, { min_request_interval = 0.5 },
        { min_request_interval = 0 },
        { rate_limit = window(5, 60) }, { rate_limit = { requests = 5.0, period = 0.5, more = "ignored" } },
        { min_request_interval = 1, rate_limit = window(1, 1) }, {} } do
        assert.is_function(limiter(options).wait)
      end
      assert.is_true(koine.rate_limiter({}):wait())
    end)

    it("that are bad are named", function()
      local function field(options) return raised(limiter, options).field end
      for _, bad in ipairs { -1, "3", 0 / 0, math.huge, {} } do
        assert.are.equal("min_request_interval", field { min_request_interval = bad })
      end
      for _, bad in ipairs { 5, "x", true } do assert.are.equal("rate_limit", field { rate_limit = bad }) end
      for _, bad in ipairs { 0, -1, 1.5, "5", false } do
        assert.are.equal("rate_limit.requests", field { rate_limit = { requests = bad, period = 60 } })
      end
      assert.are.equal("rate_limit.requests", field { rate_limit = { period = 60 } })
      for _, bad in ipairs { 0, -1, "60", math.huge, false } do
        assert.are.equal("rate_limit.period", field { rate_limit = { requests = 1, period = bad } })
      end
      assert.are.equal("rate_limit.period", field { rate_limit = { requests = 1 } })
      for _, bad in ipairs { 5, "", "/tmp/", "a\0b" } do
        assert.are.equal("rate_limit_path", field { rate_limit_path = bad, min_request_interval = 1 })
      end
      assert.are.equal("rate_limit_path", raised(koine.rate_limiter, { min_request_interval = 1 }).field)
      assert.are.equal("min_request_interval", field { min_request_intervall = 1 } and raised(limiter,
        { min_request_intervall = 1 }).expected)
      assert.are.equal("options", raised(koine.rate_limiter).field)
    end)
  end)

  it("without limits never sleeps and makes no file", function()
    freeze()
    for _, options in ipairs { {}, { min_request_interval = 0 } } do
      for _ = 1, 3 do assert.is_true(limiter(options):wait()) end
    end
    assert.are.same({}, slept)
    assert.is_nil(lfs.attributes(path))
  end)

  describe("with an interval", function()
    it("lets the first go at once and enters it in a file of its owner's", function()
      freeze()
      local ok, at = limiter({ min_request_interval = 3 }):wait()
      assert.is_true(ok)
      assert.are.equal(time, at)
      assert.are.same({}, slept)
      assert.are.equal("rw-------", lfs.attributes(path, "permissions"))
      local state = state_in(path)
      assert.are.equal(time, state.last_request_at)
      assert.are.same({}, state.request_log)
      assert.is_truthy(read_file(path):find('"request_log":[]', 1, true))
    end)

    it("sleeps what is left of it, and not after it", function()
      freeze()
      local one = limiter { min_request_interval = 3 }
      one:wait()
      time = time + 1
      one:wait()
      assert.are.equal(1, #slept)
      near(2, slept[1])
      time = time + 3
      one:wait()
      assert.are.equal(1, #slept)
    end)

    it("holds between limiters that share the file", function()
      freeze()
      limiter({ min_request_interval = 3 }):wait()
      limiter({ min_request_interval = 3 }):wait()
      near(3, slept[1])
      write_file(path, ('{"last_request_at": %.4f, "request_log": [1.5, 2]}'):format(time - 1))
      limiter({ min_request_interval = 3 }):wait()
      near(2, slept[2])
    end)

    it("looks again after sleeping: another one may have taken the turn", function()
      freeze()
      local one = limiter { min_request_interval = 3 }
      one:wait()
      local sleep = wait.park
      wait.park = function(token, seconds)
        sleep(token, seconds)
        wait.park = sleep
        write_file(path, ('{"last_request_at": %.4f, "request_log": []}'):format(time))
        return false
      end
      one:wait()
      assert.are.equal(2, #slept)
      near(3, slept[2])
    end)
  end)

  describe("with a window", function()
    it("lets so many go, then sleeps until the oldest is out of the period", function()
      freeze()
      local one = limiter { rate_limit = window(2, 10) }
      one:wait()
      time = time + 4
      one:wait()
      assert.are.same({}, slept)
      one:wait()
      near(6, slept[1])
      one:wait()
      near(4, slept[2])
      assert.are.equal(2, #state_in(path).request_log)
    end)

    it("does not count entries that are out of it, and drops them", function()
      freeze()
      write_file(path, core.encode { last_request_at = time - 20,
        request_log = core.array { time - 30, time - 20, time - 10, time - 9 } })
      limiter({ rate_limit = window(2, 10) }):wait()
      assert.are.same({}, slept)
      assert.are.same({ time - 9, time }, state_in(path).request_log)
    end)

    it("that was made smaller counts from the entry that must be out first", function()
      freeze()
      write_file(path, core.encode { last_request_at = time,
        request_log = core.array { time - 2, time - 8, time - 6, time - 4 } }) -- in any order
      limiter({ rate_limit = window(2, 10) }):wait()
      near(6, slept[1]) -- until but one of the four are out
    end)
  end)

  it("with both sleeps the longer of the two", function()
    freeze()
    local one = limiter { min_request_interval = 1, rate_limit = window(2, 10) }
    for _ = 1, 3 do one:wait() end
    near(1, slept[1])
    near(9, slept[2])
    one = limiter { min_request_interval = 20, rate_limit = window(2, 10) }
    one:wait()
    near(20, slept[3])
  end)

  describe("a state", function()
    it("that cannot be read is as good as none", function()
      freeze()
      for _, text in ipairs { "", "{", "[]", '"x"', "5", "null", "true", "[1,2]",
        '{"last_request_at":"x","request_log":[]}',
        '{"last_request_at":1e999,"request_log":[]}', '{"last_request_at":null,"request_log":["x"]}',
        '{"last_request_at":null,"request_log":[null]}', '{"last_request_at":null}', '{"request_log":5}',
        '{"last_request_at":{},"request_log":[]}', '{"last_request_at":NaN,"request_log":[]}', ("["):rep(5000),
        "\0\1\2\xFF", '{"last_request_at":1,"request_log":[]} and more' } do
        write_file(path, text)
        assert.is_true(limiter({ min_request_interval = 3, rate_limit = window(1, 3) }):wait(), text)
        assert.are.same({ last_request_at = time, request_log = { time } }, state_in(path))
        time = time + 3
      end
      assert.are.same({}, slept)
    end)

    it("from the future delays by no more than the interval or the period, once", function()
      freeze()
      for _, options in ipairs { { min_request_interval = 3 }, { rate_limit = window(1, 3) },
        { min_request_interval = 2, rate_limit = window(1, 3) },
        { min_request_interval = 3, rate_limit = window(2, 1) } } do
        slept = {}
        write_file(path, core.encode { last_request_at = time + 1e6,
          request_log = core.array { time + 5e5, time + 1e6 } })
        assert.is_true(limiter(options):wait())
        local total = 0
        for _, seconds in ipairs(slept) do total = total + seconds end
        near(3, total)
        assert.are.equal(time, state_in(path).last_request_at)
      end
    end)

    it("has its missing directories made, the owner's alone", function()
      freeze()
      local deep = directory .. "/a/b/state"
      assert.is_true(limiter({ rate_limit_path = deep, min_request_interval = 3 }):wait())
      assert.are.equal("rwx------", lfs.attributes(directory .. "/a", "permissions"))
      assert.are.equal("rwx------", lfs.attributes(directory .. "/a/b", "permissions"))
      assert.are.equal(time, state_in(deep).last_request_at)
    end)

    it("is refused as a link, where others may read it, and where it cannot be made", function()
      freeze()
      local function failure(at)
        local ok, err = limiter({ rate_limit_path = at, min_request_interval = 3 }):wait()
        assert.is_nil(ok)
        assert.are.equal("Error", err.class)
        assert.is_truthy(err.message:find(at, 1, true))
        return err.message
      end
      write_file(path, "", "644")
      assert.is_truthy(failure(path):find("others may read", 1, true))
      assert(lfs.link(path, directory .. "/link", true))
      assert.is_truthy(failure(directory .. "/link"):find("symbolic link", 1, true))
      failure(directory)
      local ok, err = limiter({ rate_limit_path = path .. "/under/it", min_request_interval = 3 }):wait()
      assert.is_nil(ok)
      assert.are.equal("Error", err.class)
      assert.are.same({}, slept)
    end)
  end)

  it("waits without blocking for a file that is held", function()
    freeze()
    local held = assert(core.file_lock(path))
    assert.is_false(core.file_lock(path))
    local sleep, tries = wait.park, 0
    wait.park = function(token, seconds)
      tries = tries + 1
      if tries == 3 then held:close() end
      return sleep(token, seconds)
    end
    assert.is_true(limiter({ min_request_interval = 3 }):wait())
    assert.are.equal(3, tries)
    for _, seconds in ipairs(slept) do assert.is_true(seconds <= 0.005) end
  end)

  it("reports a sleep that was interrupted, and holds the file no longer", function()
    freeze()
    local interruption = koine.errors.new { kind = "cancelled", message = "m" }
    local one = limiter { min_request_interval = 3 }
    one:wait()
    wait.park = function() return nil, interruption end
    local ok, err = one:wait()
    assert.is_nil(ok)
    assert.are.equal(interruption, err)
    assert.is_truthy(core.file_lock(path))
  end)

  it("lets other coroutines run while one waits", function()
    local one = limiter { min_request_interval = 0.02 }
    local stamps, ticks = {}, 0
    local function request()
      local _, at = one:wait()
      stamps[#stamps + 1] = at
    end
    toy_host.run { request, request, request, function()
      while #stamps < 3 do
        ticks = ticks + 1
        wait.park({}, 0.001)
      end
    end }
    for i = 2, 3 do assert.is_true(stamps[i] - stamps[i - 1] >= 0.02 - ROUNDING) end
    assert.is_true(ticks > 1)
  end)

  it("holds between processes, over two hundred requests", function()
    local interval, requests, period = 0.002, 5, 0.02
    local code = ([[
      local one = require("koine").rate_limiter { rate_limit_path = %q, min_request_interval = %g,
        rate_limit = { requests = %d, period = %g } }
      io.stdout:write "ready\n":flush()
      while not io.open(%q) do require("koine.wait").sleep(0.001) end
      for _ = 1, 100 do
        local _, at = assert(one:wait())
        print(("%%.4f"):format(at))
      end]]):format(path, interval, requests, period, directory .. "/go")
    local children, stamps, writers = { start(code), start(code) }, {}, {}
    for _, child in ipairs(children) do
      child:read "l"
      assert.are.equal("ready", child:read "l")
    end
    write_file(directory .. "/go", "")
    for i, child in ipairs(children) do
      for line in child:lines() do
        stamps[#stamps + 1] = tonumber(line)
        writers[stamps[#stamps]] = i
      end
      assert.is_true(child:close())
    end
    table.sort(stamps)
    assert.are.equal(200, #stamps)
    local changes = 0
    for i = 2, #stamps do
      assert.is_true(stamps[i] - stamps[i - 1] >= interval - ROUNDING, ("%.4f %.4f"):format(stamps[i - 1], stamps[i]))
      if i > requests then
        assert.is_true(stamps[i] - stamps[i - requests] >= period - ROUNDING)
      end
      if writers[stamps[i]] ~= writers[stamps[i - 1]] then changes = changes + 1 end
    end
    assert.is_true(changes > 1) -- they did run at the same time
    assert.are.equal(stamps[#stamps], state_in(path).last_request_at)
  end)

  it("goes on when another process dies, waiting or holding the file", function()
    local function kill(child, pid)
      assert(os.execute("kill -9 " .. pid))
      child:close()
    end
    local one = limiter { min_request_interval = 60 }
    assert.is_true(one:wait())
    local waiting = start(([[
      io.stdout:write "waiting\n":flush()
      assert(require("koine").rate_limiter { rate_limit_path = %q, min_request_interval = 60 }:wait())]]):format(path))
    local pid = waiting:read "l"
    assert.are.equal("waiting", waiting:read "l")
    kill(waiting, pid)
    local holding = start(([[
      local lock = assert(require("koine.core").file_lock(%q))
      io.stdout:write "holding\n":flush()
      require("koine.wait").sleep(60)]]):format(path))
    pid = holding:read "l"
    assert.are.equal("holding", holding:read "l")
    assert.is_false(core.file_lock(path))
    kill(holding, pid)
    rate_limiter.clock = function() return clock() + 60 end
    wait.park = function() error "nobody should sleep" end
    assert.is_true(one:wait())
  end)
end)

describe("a private file of the core's", function()
  local path

  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  it("is written whole, for its owner, and read up to a limit", function()
    assert(os.execute("chmod 644 " .. path))
    assert.is_true(core.file_write(path, "a\0b"))
    assert.are.equal("rw-------", lfs.attributes(path, "permissions"))
    assert.are.equal("a\0b", core.file_read(path, 3))
    local text, err = core.file_read(path, 2)
    assert.is_nil(text)
    assert.are.equal("limit", err.kind)
    text, err = core.file_read(path .. ".none", 3)
    assert.is_nil(text)
    assert.are.equal("absent", err.code)
    local ok
    ok, err = core.file_write(path .. "/none", "x")
    assert.is_nil(ok)
    assert.is_true(err:is "Error")
    assert.are.equal("path", raised(core.file_read, "a\0b", 3).field)
  end)

  it("is held by one lock at a time, which closing frees", function()
    assert(os.execute("chmod 600 " .. path))
    do
      local lock <close> = assert(core.file_lock(path))
      assert.is_false(core.file_lock(path))
      assert.is_true(lock:write "longer")
      assert.is_true(lock:write "short")
      assert.are.equal("short", lock:read(5))
      assert.are.equal("limit", select(2, lock:read(4)).kind)
    end
    local lock = assert(core.file_lock(path))
    lock:close()
    lock:close()
    assert.are.equal("lock", raised(lock.read, lock, 5).field)
    assert.are.equal("lock", raised(lock.write, lock, "x").field)
    assert(core.file_lock(path))
    collectgarbage()
    collectgarbage()
    assert.is_truthy(core.file_lock(path)) -- nobody held the other one
  end)
end)

describe("an adapter's rate limiter", function()
  local server, waits

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    waits = 0
  end)

  local function claude(options)
    options.model, options.base_url, options.key = "claude-sonnet-4-5", server.url, options.key or "k"
    return koine.anthropic(options)
  end

  local function counting(result, err)
    return { wait = function()
      waits = waits + 1
      return result, err
    end }
  end

  it("is asked once per chat, stream and list, whatever the number of attempts", function()
    assert(server:script { { content = "a" }, { content = "b" }, { error = { status = 500 } }, { content = "c" } })
    local adapter = claude { rate_limiter = counting(true), retry = { max = 1, max_delay = 1 } }
    assert(adapter:chat "Hi")
    assert.are.equal(1, waits)
    for _ in adapter:stream "Hi" do end
    assert.are.equal(2, waits)
    assert.are.equal("c", assert(adapter:chat "Hi"):text())
    assert.are.equal(3, waits)
    assert(adapter:list_models())
    assert.are.equal(4, waits)
    assert(adapter:count_tokens "Hi")
    assert.are.equal(4, waits)
  end)

  it("is asked after the credentials are there", function()
    local adapter = claude { rate_limiter = counting(true), key = function() return nil, "none" end }
    assert.is_nil((adapter:chat "Hi"))
    assert.are.equal(0, waits)
  end)

  it("that fails fails the call, before any traffic", function()
    local mine = koine.errors.new { kind = "other", message = "the disk is full" }
    for _, call in ipairs { "chat", "open", "list_models" } do
      local adapter = claude { rate_limiter = counting(nil, mine) }
      local result, err = adapter[call](adapter, "Hi")
      assert.is_nil(result)
      assert.are.equal(mine, err)
    end
    assert.are.equal(0, #assert(server:requests()))
  end)

  it("must have a method wait, and is of the constructor alone", function()
    for _, bad in ipairs { 5, "x", {}, { wait = 5 } } do
      assert.are.equal("rate_limiter", raised(claude, { rate_limiter = bad }).field)
    end
    local adapter = claude {}
    assert.are.equal("rate_limiter", raised(adapter.chat, adapter, "Hi", { rate_limiter = counting(true) }).field)
  end)

  it("may be Koine's own", function()
    local path = os.tmpname()
    assert(os.execute("chmod 600 " .. path))
    assert(server:script { { content = "a" }, { content = "b" } })
    local limiting = koine.rate_limiter { rate_limit_path = path, min_request_interval = 0.001 }
    local adapter = claude { rate_limiter = limiting }
    assert(adapter:chat "Hi")
    local first = state_in(path).last_request_at
    assert(adapter:chat "Hi")
    assert.is_true(state_in(path).last_request_at >= first + 0.001 - ROUNDING)
    os.remove(path)
  end)
end)
