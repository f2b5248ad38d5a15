-- Live programs: how they end, and that nothing they started outlives them.

local kit = require "spec.lua.system.process_kit"
local koine = require "koine"
local process = require "koine.system.process"
local wait = require "koine.task.wait"

local lines, read, survivors, SAFETY = kit.lines, kit.read, kit.survivors, kit.SAFETY

describe("a live program", function()
  local dir

  before_each(function() dir = kit.begin() end)
  after_each(function() kit.finish(dir) end)

  local function open(script, opts)
    opts = opts or {}
    opts.cwd, opts.grace = dir, opts.grace or SAFETY
    return assert(process.open({ "sh", "-c", script }, opts))
  end

  -- Ignores the end of its input and SIGTERM, and has a child in a session of its own that does the same.
  local STUBBORN = [[
    trap '' TERM
    (setsid sh -c 'trap "" TERM; echo $$ >> pids; exec sleep 1000' &)
    while [ ! -s pids ]; do sleep 0.005; done
    echo $$ >> pids; echo ready
    while :; do sleep 1000; done
  ]]

  describe("that is closed", function()
    it("ends by itself, in peace, with what it wants to say before", function()
      local p = open "cat > /dev/null; head -c 3000000 /dev/zero; echo all > said; exit 5"
      p:close()
      assert.equal("all\n", read(dir .. "/said"))
      assert.equal(5, p:result().code)
      p:close()
      p:stop()
      assert.equal("koine.program (closed)", tostring(p))
      local line, err = p:line()
      assert.is_nil(line)
      assert.same({ "cancelled", "the program was closed" }, { err.kind, err.message })
      assert.equal("cancelled", select(2, p:write "x").kind)
    end)

    it("gets SIGTERM after the grace period", function()
      local p = open("trap 'echo told > term; exit 6' TERM; echo ready; while :; do sleep 0.01; done", { grace = 0.1 })
      assert.equal("ready", p:line())
      local begun = wait.now()
      p:close()
      assert.is_true(wait.now() - begun >= 0.1)
      assert.same({ 6, "told\n" }, { p:result().code, read(dir .. "/term") })
    end)

    it("gets SIGKILL after another one, and so does its whole tree", function()
      do
        local p <close> = open(STUBBORN, { grace = 0.1 })
        assert.equal("ready", p:line())
      end
      assert.equal(2, #lines(read(dir .. "/pids")))
      assert.equal(0, survivors(dir .. "/pids"))
    end)

    it("lets other tasks go on meanwhile", function()
      local order = {}
      koine.run(function()
        local p = open("echo ready; while [ ! -e go ]; do sleep 0.005; done")
        assert.equal("ready", p:line())
        koine.gather(function()
          p:close()
          order[#order + 1] = "closed"
        end, function()
          koine.sleep(0.02)
          order[#order + 1] = "other"
          assert(io.open(dir .. "/go", "w")):close()
        end)
        assert.equal(0, p:result().code)
      end)
      assert.same({ "other", "closed" }, order)
    end)

    it("wakes who waits for it", function()
      koine.run(function()
        local p = open("exec sleep 1000", { grace = 0.05, high_water = 1 })
        local tasks = { koine.spawn(function() return p:line() end), koine.spawn(function() return p:close() end),
          koine.spawn(function() return p:write(("x"):rep(1 << 20)) end) }
        koine.sleep(0.01)
        p:close()
        local line, err = tasks[1]:wait()
        assert.is_true(line == nil and (err == nil or err.kind == "cancelled"))
        assert.same({}, { tasks[2]:wait() })
        err = select(2, tasks[3]:wait())
        assert.is_true(err.code == "closed" or err.kind == "cancelled")
      end)
    end)
  end)

  describe("that is stopped", function()
    it("can be heard to its end", function()
      local p <close> = open("cat > /dev/null; echo last words; exit 4")
      p:stop()
      p:stop()
      assert.equal("closed", select(2, p:write "x").code)
      assert.equal("last words", p:line())
      assert.is_nil(p:line())
      assert.equal(4, p:result().code)
    end)

    it("ends within two grace periods, whatever it ignores", function()
      local p <close> = open(STUBBORN, { grace = 0.15 })
      assert.equal("ready", p:line())
      local begun = wait.now()
      p:stop()
      assert.equal(9, p:result().signal)
      local took = wait.now() - begun
      assert.is_true(took >= 0.3 and took < SAFETY, took)
      assert.equal(0, survivors(dir .. "/pids"))
    end)
  end)

  it("sees its input end beside others, whose supervisors and children hold nothing of it", function()
    local all = {}
    for i = 1, 5 do all[i] = open "cat > /dev/null; echo end" end
    local child = io.popen("exec sleep 1000 > /dev/null & echo $!; wait", "r")
    local pid = child:read "l"
    for i, p in ipairs(all) do
      p:close_input()
      assert.equal("end", p:line(), i)
      assert.is_nil(p:line())
      assert.equal(0, p:result().code)
    end
    for _, p in ipairs(all) do p:close() end
    assert(os.execute("kill " .. pid))
    child:close()
  end)

  it("has ended when its output has, though a child in the background holds that open", function()
    local p <close> = open [[(setsid sh -c 'echo $$ > pids; exec sleep 1000' &)
      while [ ! -s pids ]; do sleep 0.005; done; echo mine; exit 4]]
    assert.equal("mine", p:line())
    assert.is_nil(p:line())
    assert.equal(4, p:result().code)
    assert.equal(0, survivors(dir .. "/pids"))
  end)

  it("that is killed wakes its reader and its writer", function()
    local p <close> = open("printf 'a\\nb'; echo $$ > pids; exec sleep 1000", { high_water = 1 })
    assert.equal("a", p:line())
    koine.run(function()
      local heard, err
      koine.gather(function()
        heard = { p:line(), p:line() }
      end, function()
        err = select(2, p:write(("x"):rep(1 << 20)))
      end, function()
        koine.sleep(0.01)
        os.execute("kill -KILL " .. read(dir .. "/pids"))
      end)
      assert.same({ "b" }, heard)
      assert.same({ "Error", "other", "closed" }, { err.class, err.kind, err.code })
    end)
    assert.same({ 9, "closed" }, { p:result().signal, select(2, p:write "x").code })
  end)

  it("that has closed its input raises no signal here", function()
    local p <close> = open("exec 0<&-; echo ready; exec sleep 1000", { grace = 0.05 })
    assert.equal("ready", p:line())
    for _ = 1, 3 do
      local ok, err = p:write "x\n"
      assert.is_nil(ok)
      assert.same({ "Error", "other", "closed", "the program reads no more", false },
        { err.class, err.kind, err.code, err.message, err.retryable })
    end
  end)

  it("whose supervisor is killed says so", function()
    local p <close> = open "echo ready; read x; kill -KILL $PPID; exec sleep 1000"
    assert.equal("ready", p:line())
    assert(p:write "\n")
    local r, err = p:result()
    assert.is_nil(r)
    assert.equal("sh: its supervisor was killed; what it had started may live on", err.message)
    assert.equal(err.message, select(2, p:line()).message)
  end)

  describe("in a task that is cancelled", function()
    -- Runs f in a task, cancels it once the program is ready: how long that held up the others.
    local function cancel(f)
      local took
      koine.run(function()
        local task = koine.spawn(f)
        repeat koine.sleep(0.005) until #lines(read(dir .. "/pids")) == 2
        koine.sleep(0.01)
        local begun = wait.now()
        task:cancel()
        took = wait.now() - begun
        assert.equal(0, survivors(dir .. "/pids"))
      end)
      return took
    end

    it("is ended with its variable, at once", function()
      local took = cancel(function()
        local p <close> = open(STUBBORN)
        while p:line() do end
      end)
      assert.is_true(took < SAFETY / 2, took)
    end)

    it("is ended with the task that opened it", function()
      local p
      local took = cancel(function()
        p = open(STUBBORN)
        while p:line() do end
      end)
      assert.is_true(took < SAFETY / 2, took)
      assert.equal("cancelled", select(2, p:result()).kind)
      p:close()
    end)

    it("is ended in the middle of being closed", function()
      cancel(function()
        local p <close> = open(STUBBORN)
        p:line()
        p:close()
      end)
    end)
  end)

  it("is ended where a host cancels the caller", function()
    finally(function() wait.set_host(nil) end)
    local enough = require("koine.data.errors").new { kind = "cancelled", message = "enough" }
    local p = open(STUBBORN)
    assert.equal("ready", p:line())
    wait.set_host { wake = function() end, suspends = function() return true end,
      park = function() return nil, enough end }
    assert.equal("enough", select(2, p:line()).message)
    assert.equal("enough", select(2, p:result()).message)
    p:close()
    assert.equal(0, survivors(dir .. "/pids"))
    assert.equal("enough", select(2, process.open { "sleep", "1000" }).message)
  end)

  it("is ended when it is forgotten", function()
    do
      local p = open(STUBBORN)
      assert.equal("ready", p:line())
    end
    collectgarbage()
    collectgarbage()
    assert.equal(0, survivors(dir .. "/pids"))
  end)

  it("ends with this program, by SIGKILL too, and its whole tree", function()
    local host = ([[
      local p = require "koine.system.process".open({ "sh", "-c", %q }, { cwd = %q, grace = 0.05 })
      while p:line() do end
    ]]):format(STUBBORN, dir)
    kit.killed_host(host, dir, 2)
  end)

  it("ends with this program, however that ends", function()
    for _, last in ipairs { "", "os.exit(true, true)", "os.exit(true)", "error('enough', 0)" } do
      kit.ended_host(([[
        p = require "koine.system.process".open({ "sh", "-c", %q }, { cwd = %q, grace = 0.05 })
        assert(p:line() == "ready")
        %s]]):format(STUBBORN, dir, last), dir, 2)
    end
  end)

  it("leaves no descriptor and no zombie, 200 times", function()
    -- In a program of its own: what tests before this one left to the collector may be closed meanwhile.
    local counted = assert(process.run { kit.LUA, "-e", [[
      local kit, process = require "spec.lua.system.process_kit", require "koine".process
      assert(kit.sh "true")
      local before = kit.descriptors()
      for i = 1, 200 do
        local p <close> = assert(process.open { "cat" })
        assert(p:write "x\n")
        if i % 2 == 0 then assert(p:line() == "x") end
        if i % 3 == 0 then p:close_input() end
        if i % 5 == 0 then assert(p:stop() == nil and p:result().code == 0) end
        if i % 7 == 0 then assert(not process.open { "koine-no-such-program" }) end
      end
      print(before == kit.descriptors() or before .. " before, " .. kit.descriptors() .. " behind", kit.supervisors())
    ]] })
    assert.are.same({ 0, "true\t0\n", "" }, { counted.code, counted.stdout, counted.stderr })
  end)
end)
