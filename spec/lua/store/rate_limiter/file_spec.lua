-- The file that rate limiters share, between processes too, and what the core does for it.

local core = require "koine.core"
local files = require "spec.support.files"
local folder = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local raised = require "spec.support.raised"
local rate_limiter = require "koine.store.rate_limiter"
local wait = require "koine.task.wait"

local ROUNDING = 1e-6 -- seconds: of Unix times as floats

local read_file, write_file = files.read, files.write

local function state_in(path) return assert(core.decode(read_file(path))) end

-- A program of its own with `code`, its standard output to read. Its first line is its process id.
local function start(code)
  local program = ("package.path, package.cpath = %q, %q; %s"):format(package.path, package.cpath, code)
  return assert(io.popen(("echo $$; exec %s -e '%s'"):format(os.getenv "KOINE_LUA" or "lua5.4",
    program:gsub("'", "'\\''")), "r"))
end

describe("koine.rate_limiter", function()
  local park, clock = wait.park, rate_limiter.clock
  local directory, path

  before_each(function()
    directory = folder.new()
    path = directory .. "/state"
  end)

  after_each(function()
    wait.park, rate_limiter.clock = park, clock
    folder.remove(directory)
  end)

  local function limiter(options)
    options.rate_limit_path = options.rate_limit_path or path
    return koine.rate_limiter(options)
  end

  it("holds between processes, over two hundred requests", function()
    local interval, requests, period = 0.002, 5, 0.02
    local code = ([[
      local one = require("koine").rate_limiter { rate_limit_path = %q, min_request_interval = %g,
        rate_limit = { requests = %d, period = %g } }
      io.stdout:write "ready\n":flush()
      while not io.open(%q) do require("koine.task.wait").sleep(0.001) end
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
      require("koine.task.wait").sleep(60)]]):format(path))
    pid = holding:read "l"
    assert.are.equal("holding", holding:read "l")
    assert.is_false(core.file_lock(path))
    kill(holding, pid)
    rate_limiter.clock = function() return clock() + 60 end
    wait.park = function() error "nobody should sleep" end
    assert.is_true(one:wait())
  end)
end)

describe("koine.rate_limiter, which remembers what it wrote,", function()
  local clock = rate_limiter.clock

  after_each(function() rate_limiter.clock = clock end)

  -- Limiters of two folders are asked in turn: those of one remember, those of the other forget before each wait.
  for seed = 1, 2 do
    it("says and writes the same as one that reads the file each time, seed " .. seed, function()
      math.randomseed(seed)
      local random, now = math.random, 1e9
      rate_limiter.clock = function() return now end
      local directory <close> = setmetatable({ path = folder.new() }, { __close = function(self)
        folder.remove(self.path)
      end })
      local function limiters(name)
        local given = { rate_limit_path = directory.path .. "/" .. name }
        local list = {}
        for i, settings in ipairs { { 0, 3, 1 }, { 0.2, 5, 2 }, { 0, 40, 3 }, { 0.5 } } do
          given.min_request_interval = settings[1]
          given.rate_limit = settings[2] and { requests = settings[2] + seed, period = settings[3] } or nil
          list[i] = koine.rate_limiter(given)
        end
        return list
      end
      local one, other, went = limiters "one", limiters "other", 0
      for _ = 1, 150 do
        now = now + (random(12) == 1 and -random() * 3 or random(3) == 1 and random() or 0.01)
        local which = random(random(4))
        local first, second = one[which], other[which]
        second.known = nil
        local ok, at = first:wait(0)
        local same, then_ = second:wait(0)
        assert.are.equal(ok, same)
        if ok then
          assert.are.equal(at, then_)
          went = went + 1
        end
        if random(40) == 1 then
          local damaged = ({ "", "{}", '{"last_request_at":null,"request_log":[3,1,2]}', "[1" })[random(4)]
          write_file(directory.path .. "/one", damaged)
          write_file(directory.path .. "/other", damaged)
        end
        assert.are.equal(read_file(directory.path .. "/other"), read_file(directory.path .. "/one"))
      end
      assert.is_true(went > 10)
    end)
  end
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
    assert.is_truthy(core.file_lock(path)) -- the other one was not held
  end)
end)
