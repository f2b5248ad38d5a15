-- koine.rate_limiter: how long it waits, and what its state may be.

local core = require "koine.core"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local raised = require "spec.support.raised"
local rate_limiter = require "koine.store.rate_limiter"
local toy_host = require "spec.lua.task.toy_host"
local wait = require "koine.task.wait"

local ROUNDING = 1e-6 -- seconds: of Unix times as floats

local read_file, write_file = files.read, files.write

local function state_in(path) return assert(core.decode(read_file(path))) end

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
    rate_limiter.clock = function() return time end -- which the other coroutine alone moves
    local function request()
      local _, at = assert(one:wait(10))
      stamps[#stamps + 1] = at
    end
    toy_host.run { request, request, request, function()
      while #stamps < 3 do
        ticks, time = ticks + 1, time + 0.005
        wait.park({}, 0.001)
      end
    end }
    for i = 2, 3 do assert.is_true(stamps[i] - stamps[i - 1] >= 0.02 - ROUNDING) end
    assert.is_true(ticks > 1)
  end)
end)
