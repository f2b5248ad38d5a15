-- Programs: how they end, and that nothing they started outlives the call.

local kit = require "spec.lua.system.process_kit"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local lines, read, sh, survivors, SAFETY = kit.lines, kit.read, kit.sh, kit.survivors, kit.SAFETY

describe("process", function()
  local dir

  before_each(function() dir = kit.begin() end)
  after_each(function() kit.finish(dir) end)

  describe("the end", function()
    -- A script that starts 64 processes which write their numbers to a file and never end: plain children, one in a
    -- session of its own, one that ignores SIGTERM, a double fork, and one that is stopped.
    local TREE = [[
      for i in $(seq 1 60); do sh -c 'echo $$ >> pids; exec sleep 1000' & done
      setsid sh -c 'echo $$ >> pids; exec sleep 1000' &
      sh -c 'trap "" TERM; echo $$ >> pids; while :; do sleep 1000; done' &
      (setsid sh -c 'echo $$ >> pids; exec sleep 1000' > /dev/null 2>&1 < /dev/null &)
      sh -c 'echo $$ >> pids; kill -STOP $$' &
      echo $$ >> pids
    ]]

    -- Runs it with growing timeouts, until all of the tree had been there when the time was over.
    local function run_tree(rest, opts)
      local timeout, r, count = 0.25, nil, 0
      while count < 65 and timeout < SAFETY do
        os.remove(dir .. "/pids")
        opts.cwd, opts.timeout = dir, timeout
        r = assert(sh(TREE .. rest, opts))
        count = #lines(read(dir .. "/pids"))
        assert.equal(0, survivors(dir .. "/pids"))
        timeout = timeout * 2
      end
      assert.equal(65, count)
      return r
    end

    it("of the time ends a tree of 64, whatever they do about it", function()
      local r = run_tree("wait", { grace = 0.05 })
      assert.is_true(r.timed_out)
      assert.equal(15, r.signal)
      assert.is_nil(r.left)
    end)

    it("of a command that ignores SIGTERM comes after the grace period", function()
      local r = run_tree("trap '' TERM; while :; do sleep 1000; done", { grace = 0 })
      assert.is_true(r.timed_out)
      assert.equal(9, r.signal)
    end)

    it("lets the command clean up", function()
      local script = ("trap 'echo bye; exit 7' TERM; echo ready > %s/ready; while :; do sleep 0.01; done"):format(dir)
      local r
      for timeout = 1, SAFETY do
        r = assert(sh(script, { timeout = 0.1 * timeout, grace = SAFETY }))
        if read(dir .. "/ready") ~= "" then break end
      end
      assert.same({ 7, "bye\n", true }, { r.code, r.stdout, r.timed_out })
    end)

    it("of the command is the end of what it left behind", function()
      local r = assert(sh([[
        (setsid sh -c 'echo told; echo $$ > pids; exec sleep 1000' &)
        while [ ! -s pids ]; do sleep 0.01; done
        exit 4
      ]], { cwd = dir }))
      assert.same({ 4, false, "told\n" }, { r.code, r.timed_out, r.stdout })
      assert.equal(1, #lines(read(dir .. "/pids")))
      assert.equal(0, survivors(dir .. "/pids"))
    end)

    it("comes to processes that go on starting others", function()
      local r = assert(sh([[
        f() { trap '' TERM; while :; do (echo x >> made; sleep 0.001) & wait; done; }
        f & f & f &
        while [ ! -s made ]; do sleep 0.01; done
      ]], { cwd = dir, grace = 0 }))
      assert.equal(0, r.code)
      local made = #read(dir .. "/made")
      assert(sh "sleep 0.05")
      assert.equal(made, #read(dir .. "/made"))
    end)

    it("is not put off by a command that stops its supervisor", function()
      assert.same({ 0, "on\n", false }, (function(r) return { r.code, r.stdout, r.timed_out } end)(
        assert(sh "kill -STOP $PPID; echo on")))
      local r = assert(sh("echo $$ > pids; while :; do kill -STOP $PPID; done",
        { cwd = dir, timeout = 0.05, grace = 0 }))
      assert.is_true(r.timed_out)
      assert.equal(0, survivors(dir .. "/pids"))
    end)

    it("is told of when the command kills its supervisor", function()
      local r, err = sh("echo $$ > pids; kill -KILL $PPID; exec sleep 1000", { cwd = dir })
      assert.is_nil(r)
      assert.equal("sh: its supervisor was killed; what it had started may live on", err.message)
      repeat until survivors(dir .. "/pids") == 0
    end)

    it("of this program, by SIGKILL, is the end of the tree too", function()
      local host = ('require("koine.system.process").run({ "sh", "-c", %q }, { cwd = %q, grace = 0.05 })'):format(
        TREE .. "wait", dir)
      kit.killed_host(host, dir, 65)
    end)
  end)

  it("ends with this program, however that ends", function()
    for _, last in ipairs { "", "os.exit(true, true)", "os.exit(true)", "error('enough', 0)" } do
      kit.ended_host(([[
        local core, wait = require "koine.core", require "koine.task.wait"
        running = core.process { argv = { "sh", "-c", "echo $$ > pids; exec sleep 1000" }, cwd = %q }
        repeat
          wait.block({}, 0.01)
          local file = io.open(%q)
        until file and file:read "l"
        %s]]):format(dir, dir .. "/pids", last), dir, 1)
    end
  end)

  describe("under koine.run", function()
    it("runs beside others: each of two waits for the other", function()
      assert(os.execute("mkfifo " .. dir .. "/there " .. dir .. "/back"))
      local a, b = scheduler.gather(
        function() return assert(sh("echo ping > there; cat back", { cwd = dir })).stdout end,
        function() return assert(sh("cat there; echo pong > back", { cwd = dir })).stdout end)
      assert.same({ "pong\n", "ping\n" }, { a, b })
    end)

    it("lets the others go on", function()
      local order = {}
      scheduler.gather(
        function()
          assert(sh("while [ ! -e go ]; do sleep 0.01; done", { cwd = dir }))
          order[#order + 1] = "process"
        end,
        function()
          order[#order + 1] = "other"
          assert(io.open(dir .. "/go", "w")):close()
        end)
      assert.same({ "other", "process" }, order)
    end)

    it("ends the tree when the task is cancelled", function()
      local results
      scheduler.run(function()
        local task = scheduler.spawn(function()
          results = table.pack(sh("(setsid sleep 1000 & echo $! >> pids); echo $$ >> pids; sleep 1000",
            { cwd = dir, grace = SAFETY }))
        end)
        repeat scheduler.sleep(0.01) until #lines(read(dir .. "/pids")) == 2
        assert.is_true(task:cancel())
        assert.equal(0, survivors(dir .. "/pids"))
        assert.equal("cancelled", select(2, task:wait()).kind)
      end)
      assert.is_nil(results)
    end)

    it("ends the tree when others fail", function()
      local ok, err = pcall(scheduler.gather,
        function() sh("echo $$ > pids; sleep 1000", { cwd = dir }) end,
        function()
          repeat scheduler.sleep(0.01) until #lines(read(dir .. "/pids")) == 1
          error("enough", 0)
        end)
      assert.is_false(ok)
      assert.matches("^enough", err)
      assert.equal(0, survivors(dir .. "/pids"))
    end)
  end)

  it("is over when it returns the error of a host that cancelled the caller", function()
    finally(function() wait.set_host(nil) end)
    wait.set_host { wake = function() end, park = function(token)
      assert.is_false(token:poll())
      repeat wait.block({}, 0.01) until #lines(read(dir .. "/pids")) == 1
      return nil, require("koine.data.errors").new { kind = "cancelled", message = "enough" }
    end }
    local r, err = sh("echo $$ > pids; sleep 1000", { cwd = dir })
    assert.is_nil(r)
    assert.equal("enough", err.message)
    assert.equal(0, survivors(dir .. "/pids"))
  end)

  it("is over when ending it is interrupted", function()
    local block = wait.block
    finally(function()
      wait.block = block
      wait.set_host(nil)
    end)
    wait.set_host { wake = function() end, park = function()
      repeat block({}, 0.01) until #lines(read(dir .. "/pids")) == 1
      wait.block = function() error("interrupted", 0) end -- as a signal's handler does
      return nil, require("koine.data.errors").new { kind = "cancelled", message = "enough" }
    end }
    local ok, err = pcall(sh, "trap '' TERM; echo $$ > pids; sleep 1000", { cwd = dir })
    assert.is_false(ok)
    assert.equal("interrupted", err)
    assert.equal(0, survivors(dir .. "/pids"))
  end)
end)
