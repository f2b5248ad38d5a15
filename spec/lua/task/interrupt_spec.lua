-- Ctrl-C: a signal to a child of its own, run by the interpreter that users run.
local koine = require "koine"

local STUCK = { content = ("word "):rep(100), chunk = 5, fault = { stall_after = 2000 } }
local SILENT = { content = "never", fault = { stall_after = 0 } }

describe("Ctrl-C", function()
  local server, child, pid

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)
  after_each(function()
    if child then
      os.execute("kill -KILL " .. pid)
      child:close()
    end
    child = nil
  end)

  -- Starts a child that waits in this way; it has said that it is about to.
  local function start(way)
    child = assert(io.popen(("echo $$; exec %s spec/lua/task/interrupted.lua %s %s 2>&1"):format(
      os.getenv "KOINE_LUA" or "lua5.4", way, server.url)))
    pid = assert(tonumber(child:read "l"))
    assert.are.equal("ready", child:read "l")
  end

  -- Waits until the provider's log says so of n requests.
  local function log_says(n, what)
    local deadline = os.time() + 60
    repeat
      local count = 0
      for _, request in ipairs(assert(server:requests())) do
        if what(request) then count = count + 1 end
      end
      if count == n then return end
    until os.time() > deadline
    error(("the log does not say so of %d requests"):format(n))
  end

  local function arrived(request) return request.method == "POST" end
  local function left(request) return request.closed_after ~= nil end

  -- Waits until the child sleeps in the system: a signal that comes just before would not end that sleep.
  local function asleep()
    local deadline = os.time() + 60
    repeat
      local file <close> = assert(io.open(("/proc/%d/stat"):format(pid)))
      if file:read "l":find "^%d+ %(.*%) S" then return end
    until os.time() > deadline
    error "the child does not wait"
  end

  local function interrupt()
    asleep()
    assert(os.execute("kill -INT " .. pid))
  end

  -- Returns the rest of the child's output, and how it ends.
  local function ending()
    local said = child:read "a"
    local ok, how, status = child:close()
    child = nil
    return said, ok, how, status
  end

  -- The child ended as a script does that Lua interrupted.
  local function assert_interrupted(said, ok, how, status)
    assert.is_truthy(said:find "[^\n]: [^\n]*interrupted!\nstack traceback:", said)
    assert.are.same({ "exit", 1 }, { how, status })
    assert.is_nil(ok)
  end

  it("ends a chat at a silent provider", function()
    assert(server:script { SILENT })
    start "chat"
    log_says(1, arrived)
    interrupt()
    local said, ok, how, status = ending()
    assert_interrupted(said, ok, how, status)
    assert.is_truthy(said:find("closed chat", 1, true))
    log_says(1, left)
  end)

  it("ends a sleep", function()
    start "sleep"
    interrupt()
    local said, ok, how, status = ending()
    assert_interrupted(said, ok, how, status)
    assert.is_truthy(said:find("closed sleep", 1, true))
  end)

  it("ends a run of several streams: every task and every stream is closed", function()
    assert(server:script { STUCK, STUCK, STUCK, STUCK, STUCK })
    start "run"
    log_says(5, arrived)
    interrupt()
    local said, ok, how, status = ending()
    assert_interrupted(said, ok, how, status)
    for i = 1, 5 do assert.is_truthy(said:find("closed task " .. i, 1, true), said) end
    assert.is_truthy(said:find("closed the sleeper", 1, true))
    assert.are.equal(5, select(2, said:gsub("koine%.stream %(closed%)", "")))
    log_says(5, left)
  end)

  it("may be caught: what comes afterwards works", function()
    assert(server:script { STUCK, STUCK, STUCK, STUCK, STUCK, { content = "One." }, { content = "Two." },
      { content = "Two." } })
    start "caught"
    log_says(5, arrived)
    interrupt()
    local said, ok = ending()
    assert.is_true(ok, said)
    assert.are.equal(6, select(2, said:gsub("closed t", "")))
    local expected = "interrupted!\n" .. ("koine.stream (closed)\n"):rep(5) .. "One.\nTwo.\tTwo.\n"
    assert.is_truthy(said:find(expected, 1, true), said)
    assert.is_truthy(said:find("spawn: a call inside koine.run expected", 1, true), said)
    log_says(5, left)
  end)
end)
