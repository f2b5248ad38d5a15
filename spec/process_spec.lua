-- Programs: results, refusals, limits, and that nothing they started outlives the call.

local core = require "koine.core"
local loop = require "koine.loop"
local process = require "koine.process"
local wait = require "koine.wait"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local SAFETY = 60 -- seconds that no run here takes, whatever the machine

local function sh(script, opts)
  opts = opts or {}
  opts.timeout = opts.timeout or SAFETY
  return process.run({ "sh", "-c", script }, opts)
end

local function lines(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

local function read(path)
  local file = io.open(path)
  local text = file and file:read "a" or ""
  if file then file:close() end
  return text
end

local function alive(pid)
  local file = io.open("/proc/" .. pid .. "/stat")
  if file then file:close() end
  return file ~= nil
end

-- How many of the processes whose numbers are in the file still exist.
local function survivors(path)
  local n = 0
  for _, pid in ipairs(lines(read(path))) do n = n + (alive(pid) and 1 or 0) end
  return n
end

-- Figures of this process: bytes in memory, open descriptors, children (supervisors are the only ones that stay).
local function resident() return tonumber(read("/proc/self/statm"):match "^%d+ (%d+)") * 4096 end

local function descriptors()
  local pipe = assert(io.popen("ls /proc/" .. read("/proc/self/stat"):match "^%d+" .. "/fd"))
  local list = lines(pipe:read "a")
  pipe:close()
  return #list
end

local function supervisors()
  local pid = read("/proc/self/stat"):match "^%d+"
  return select(2, read(("/proc/self/task/%s/children"):format(pid)):gsub("%d+", ""))
end

local function raises(field, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal("ArgumentError", err.class)
  assert.equal(field, err.field)
  return err
end

describe("process", function()
  local dir

  before_each(function()
    dir = os.tmpname()
    os.remove(dir)
    assert(os.execute("mkdir " .. dir))
  end)

  after_each(function()
    os.execute("rm -rf " .. dir)
    assert.equal(0, supervisors())
  end)

  describe("results", function()
    it("has both streams, the exit code and nothing else to say", function()
      local r = assert(sh "echo out; echo err >&2; exit 3")
      assert.same({ code = 3, stdout = "out\n", stderr = "err\n", timed_out = false,
        dropped = { stdout = 0, stderr = 0 } }, r)
    end)

    it("hands arguments over as they are", function()
      local odd = { "a b", "", "'", '"', "$HOME", "*", "-n", "\u{e9}", "line\nbreak" }
      local argv = { "printf", "%s|" }
      for _, one in ipairs(odd) do argv[#argv + 1] = one end
      assert.equal(table.concat(odd, "|") .. "|", assert(process.run(argv)).stdout)
    end)

    it("names the signal that ended it", function()
      local r = assert(sh "kill -USR1 $$")
      assert.equal(10, r.signal)
      assert.is_nil(r.code)
      assert.is_false(r.timed_out)
    end)

    it("starts in cwd, with the environment given and no other", function()
      local r = assert(process.run({ "/bin/sh", "-c", "pwd; exec env" },
        { cwd = dir, env = { NAME = "a value", EMPTY = "" } }))
      local seen = lines(r.stdout)
      table.sort(seen)
      local expected = { dir, "NAME=a value", "EMPTY=", "PWD=" .. dir }
      table.sort(expected)
      assert.same(expected, seen)
      assert.equal("", assert(process.run({ "/usr/bin/env" }, { env = {} })).stdout)
    end)

    it("inherits the environment", function()
      assert.equal(os.getenv "PATH" .. "\n", assert(sh 'echo "$PATH"').stdout)
    end)

    it("looks a name up in the command's own PATH", function()
      local file = assert(io.open(dir .. "/koine-test-tool", "w"))
      file:write "#!/bin/sh\necho found\n"
      file:close()
      assert(os.execute("chmod +x " .. dir .. "/koine-test-tool"))
      assert.equal("absent", select(2, process.run { "koine-test-tool" }).code)
      local r = assert(process.run({ "koine-test-tool" }, { env = { PATH = "/nowhere:" .. dir } }))
      assert.equal("found\n", r.stdout)
      assert.equal("found\n", assert(process.run({ "./koine-test-tool" }, { cwd = dir })).stdout)
      assert.equal("x\n", assert(process.run({ "echo", "x" }, { env = { NAME = "no PATH" } })).stdout)
    end)

    it("has an empty standard input, or the bytes given", function()
      assert.equal("", assert(process.run({ "cat" }, { timeout = SAFETY })).stdout)
      assert.equal("a\0b\n", assert(process.run({ "cat" }, { stdin = "a\0b\n" })).stdout)
      assert.equal(0, assert(sh("true", { stdin = ("x"):rep(1 << 20) })).code) -- nobody reads it
    end)

    it("keeps one stream in order with merge", function()
      local r = assert(sh("echo 1; echo 2 >&2; echo 3; echo 4 >&2", { merge = true }))
      assert.equal("1\n2\n3\n4\n", r.stdout)
      assert.equal("", r.stderr)
    end)

    it("has no terminal, and default signals", function()
      local r = assert(sh "(: < /dev/tty) 2>/dev/null || echo none; grep -E '^Sig(Blk|Ign)' /proc/self/status")
      local own = 0x180000000 -- the C library's own two, ignored in whatever posix_spawn started, this program too
      local ignored = r.stdout:match "^none\nSigBlk:\t0000000000000000\nSigIgn:\t(%x+)\n$"
      assert.equal(0, tonumber(ignored, 16) & ~own)
    end)

    it("sees no descriptor but 0, 1 and 2", function()
      local kept = assert(io.open "/dev/null")
      assert.equal("0 1 2 3\n", assert(sh "echo $(ls /proc/self/fd)").stdout) -- 3: ls itself
      kept:close()
    end)

    it("waits for a command that has closed its output and lives on", function()
      local r = assert(sh("exec 1>&-; cat >&2; exit 5", { stdin = "still here" }))
      assert.same({ "", "still here", 5 }, { r.stdout, r.stderr, r.code })
      r = assert(sh("exec 1>&- 2>&-; sleep 0.05; echo $$ > pids; exit 6", { cwd = dir }))
      assert.equal(6, r.code)
      assert.equal(1, #lines(read(dir .. "/pids")))
    end)
  end)

  describe("what cannot be started", function()
    local function refusal(...)
      local r, err = process.run(...)
      assert.is_nil(r)
      assert.equal("Error", err.class)
      assert.equal("other", err.kind)
      return err
    end

    it("is an error with the system's reason", function()
      local err = refusal { "koine-no-such-program" }
      assert.equal("absent", err.code)
      assert.equal("cannot run koine-no-such-program: No such file or directory", err.message)
      assert.equal("absent", refusal({ "/etc/passwd/none" }).code)
      err = refusal { "/etc/passwd" }
      assert.is_nil(err.code)
      assert.equal("cannot run /etc/passwd: Permission denied", err.message)
      err = refusal({ "true" }, { cwd = dir .. "/none" })
      assert.is_nil(err.code)
      assert.equal("cannot run true in " .. dir .. "/none: No such file or directory", err.message)
    end)

    it("is no exit code 127", function()
      assert.equal(127, assert(sh "exit 127").code)
      assert.equal(127, assert(sh "koine-no-such-program").code)
    end)
  end)

  describe("arguments", function()
    it("are checked by name", function()
      raises("argv", process.run)
      raises("argv", process.run, {})
      raises("argv", process.run, "echo hi")
      raises("argv[2]", process.run, { "echo", 7 })
      raises("argv[1]", process.run, { "ec\0ho" })
      raises("options", process.run, { "true" }, 3)
      raises("cwd", process.run, { "true" }, { cwd = "a\0b" })
      raises("env", process.run, { "true" }, { env = { "A=b" } })
      raises("env", process.run, { "true" }, { env = { ["A=B"] = "c" } })
      raises("env.A", process.run, { "true" }, { env = { A = 1 } })
      raises("stdin", process.run, { "true" }, { stdin = 7 })
      raises("merge", process.run, { "true" }, { merge = "yes" })
      for _, name in ipairs { "timeout", "grace" } do
        raises(name, process.run, { "true" }, { [name] = -1 })
        raises(name, process.run, { "true" }, { [name] = 0 / 0 })
        raises(name, process.run, { "true" }, { [name] = "1" })
      end
      raises("output_max", process.run, { "true" }, { output_max = 1.5 })
      assert.equal("timeout", raises("timeut", process.run, { "true" }, { timeut = 1 }).expected)
    end)

    it("are left as they were", function()
      local argv, opts = { "true" }, { env = { B = "1", A = "2" } }
      assert(process.run(argv, opts))
      assert.same({ { "true" }, { env = { B = "1", A = "2" } } }, { argv, opts })
    end)
  end)

  describe("output", function()
    it("of 1 GiB is read, counted and not kept", function()
      local before = resident()
      local r = assert(process.run({ "head", "-c", "1G", "/dev/zero" }, { output_max = 1 << 20 }))
      local grown = resident() - before
      assert.equal(0, r.code)
      assert.equal(1 << 20, #r.stdout)
      assert.equal((1 << 30) - (1 << 20), r.dropped.stdout)
      assert.is_true(grown < 24 << 20, grown)
    end)

    it("is capped for each stream by itself", function()
      local r = assert(sh("echo 123456; echo 12345678 >&2", { output_max = 5 }))
      assert.same({ "12345", "12345", { stdout = 2, stderr = 4 } }, { r.stdout, r.stderr, r.dropped })
      r = assert(sh("echo 123456; echo 12345678 >&2", { output_max = 9, merge = true }))
      assert.same({ "123456\n12", "", { stdout = 7, stderr = 0 } }, { r.stdout, r.stderr, r.dropped })
      assert.equal(3, assert(sh("echo hi", { output_max = 0 })).dropped.stdout)
    end)

    it("flows while 1 MiB goes in: nobody waits for the other", function()
      local bytes = ("0123456789abcdef"):rep(1 << 16)
      local r = assert(sh("head -c 1048576 /dev/zero; cat; head -c 1048576 /dev/zero >&2",
        { stdin = bytes, output_max = 4 << 20 }))
      assert.equal(("\0"):rep(1 << 20) .. bytes, r.stdout)
      assert.equal(1 << 20, #r.stderr)
    end)
  end)

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
        (setsid sh -c 'echo $$ > pids; echo told; exec sleep 1000' &)
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
      local host = ('require("koine.process").run({ "sh", "-c", %q }, { cwd = %q, grace = 0.05 })'):format(
        TREE .. "wait", dir)
      local r = assert(process.run({ "sh", "-c", [[
        "$0" -e "$1" & host=$!
        cd "$2"
        while [ ! -e pids ] || [ $(wc -l < pids) -lt 65 ]; do sleep 0.01; done
        kill -KILL $host
        while for p in $(cat pids); do [ -e /proc/$p ] && break; done; do sleep 0.01; done
        echo gone
      ]], LUA, host, dir }, { timeout = SAFETY, env = { PATH = os.getenv "PATH", LUA_PATH = package.path,
        LUA_CPATH = package.cpath, LD_PRELOAD = os.getenv "LD_PRELOAD", ASAN_OPTIONS = os.getenv "ASAN_OPTIONS" } }))
      assert.equal("gone\n", r.stdout)
      assert.equal(65, #lines(read(dir .. "/pids")))
    end)
  end)

  it("ends with this program, however that ends", function()
    for _, last in ipairs { "", "os.exit(true, true)", "os.exit(true)", "error('enough', 0)" } do
      local file = assert(io.open(dir .. "/host.lua", "w"))
      file:write(([[
        local core, wait = require "koine.core", require "koine.wait"
        running = core.process { argv = { "sh", "-c", "echo $$ > pids; exec sleep 1000" }, cwd = %q }
        repeat
          wait.block({}, 0.01)
          local file = io.open(%q)
        until file and file:read "l"
        %s]]):format(dir, dir .. "/pids", last))
      file:close()
      os.execute(("%s %s/host.lua 2>/dev/null"):format(LUA, dir))
      assert.equal(1, #lines(read(dir .. "/pids")))
      repeat until survivors(dir .. "/pids") == 0
      os.remove(dir .. "/pids")
    end
  end)

  describe("under koine.run", function()
    it("runs beside others: each of two waits for the other", function()
      assert(os.execute("mkfifo " .. dir .. "/there " .. dir .. "/back"))
      local a, b = loop.gather(
        function() return assert(sh("echo ping > there; cat back", { cwd = dir })).stdout end,
        function() return assert(sh("cat there; echo pong > back", { cwd = dir })).stdout end)
      assert.same({ "pong\n", "ping\n" }, { a, b })
    end)

    it("lets the others go on", function()
      local order = {}
      loop.gather(
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
      loop.run(function()
        local task = loop.spawn(function()
          results = table.pack(sh("(setsid sleep 1000 & echo $! >> pids); echo $$ >> pids; sleep 1000",
            { cwd = dir, grace = SAFETY }))
        end)
        repeat loop.sleep(0.01) until #lines(read(dir .. "/pids")) == 2
        assert.is_true(task:cancel())
        assert.equal(0, survivors(dir .. "/pids"))
        assert.equal("cancelled", select(2, task:wait()).kind)
      end)
      assert.is_nil(results)
    end)

    it("ends the tree when others fail", function()
      local ok, err = pcall(loop.gather,
        function() sh("echo $$ > pids; sleep 1000", { cwd = dir }) end,
        function()
          repeat loop.sleep(0.01) until #lines(read(dir .. "/pids")) == 1
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
      return nil, require("koine.errors").new { kind = "cancelled", message = "enough" }
    end }
    local r, err = sh("echo $$ > pids; sleep 1000", { cwd = dir })
    assert.is_nil(r)
    assert.equal("enough", err.message)
    assert.equal(0, survivors(dir .. "/pids"))
  end)

  it("leaks no descriptor", function()
    assert(sh "true")
    local before = descriptors()
    for _ = 1, 20 do
      assert(sh("cat", { stdin = "x" }))
      assert.is_nil((process.run { "koine-no-such-program" }))
      assert(sh("echo x", { merge = true }))
    end
    assert.equal(before, descriptors())
  end)

  describe("the userdata", function()
    local SPEC = { argv = { "sh", "-c", "echo $$ > pids; echo out; exec sleep 1000" }, output_max = 100, grace = 0 }

    local function start()
      SPEC.cwd = dir
      local running = assert(core.process(SPEC))
      assert.is_false(running:poll())
      assert.equal("koine.process", tostring(running))
      repeat wait.block({}, 0.01) until #lines(read(dir .. "/pids")) == 1
      return running
    end

    it("kills when it is closed, any number of times", function()
      local running = start()
      running:close()
      assert.equal(0, survivors(dir .. "/pids"))
      running:close()
      running:stop()
      assert.equal("koine.process (closed)", tostring(running))
      assert.equal("cancelled", select(2, running:poll()).kind)
    end)

    it("kills when it goes out of scope, or is collected", function()
      do local _ <close> = start() end
      assert.equal(0, survivors(dir .. "/pids"))
      os.remove(dir .. "/pids")
      start()
      collectgarbage()
      collectgarbage()
      assert.equal(0, survivors(dir .. "/pids"))
    end)

    it("is a token of the engine, once", function()
      local running, seen = start(), 0
      running:stop()
      while running:poll() == false do
        for _, token in ipairs((core.engine():step(SAFETY))) do seen = seen + (token == running and 1 or 0) end
      end
      assert.equal(1, seen)
      assert.same({ 15, "out\n" }, { running:poll().signal, running:poll().stdout })
      assert.same({ 15, "out\n" }, { running:poll().signal, running:poll().stdout })
      running:close()
    end)

    it("checks what it is given", function()
      raises("argv", core.process, {})
      raises("argv", core.process, { argv = {} })
      raises("argv", core.process, { argv = { "a\0b" } })
      raises("env", core.process, { argv = { "true" }, env = { 7 } })
      raises("cwd", core.process, { argv = { "true" }, cwd = 7 })
      raises("input", core.process, { argv = { "true" }, input = 7 })
      raises("timeout", core.process, { argv = { "true" }, timeout = -1 })
      raises("output_max", core.process, { argv = { "true" }, output_max = -1 })
    end)
  end)

  describe("engine:step", function()
    it("with a budget of 0 ends one process a step at most", function()
      local running, seen, left = {}, {}, 5
      for i = 1, left do running[i] = assert(core.process { argv = { "true" } }) end
      while left > 0 do
        local ready = core.engine():step(SAFETY, { budget_ms = 0 })
        assert.is_true(#ready <= 1)
        local token = ready[1]
        if token then
          assert.is_nil(seen[token])
          seen[token], left = token:poll(), left - 1
        end
      end
      for i = 1, 5 do
        assert.equal(0, seen[running[i]].code)
        running[i]:close()
      end
    end)

    it("refuses other options", function()
      local engine = core.engine()
      raises("budget", engine.step, engine, 0, { budget = 1 })
      raises("budget_ms", engine.step, engine, 0, { budget_ms = -1 })
      raises("budget_ms", engine.step, engine, 0, { budget_ms = "1" })
      raises("options", engine.step, engine, 0, 7)
      raises("seconds", engine.step, engine, 0 / 0)
      raises("options", engine.step, engine, 0, { 1 })
      assert.same({}, engine:step(0, {}))
      assert.same({}, engine:step(0, { budget_ms = 2.5 }))
    end)
  end)
end)
