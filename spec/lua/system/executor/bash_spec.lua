-- The executor's tool bash: what a command is given, what comes back, and that nothing of it is left.

local folder = require "spec.support.folder"
local koine = require "koine"
local lfs = require "lfs"
local mixed_width = require "spec.lua.system.executor.mixed_width"
local wait = require "koine.task.wait"

describe("the executor's bash (107)", function()
  local directory, ex

  local function get(path)
    local file = io.open(path, "rb")
    if not file then return "" end
    local bytes = file:read "a"
    file:close()
    return bytes
  end

  local function put(name, bytes)
    local file <close> = assert(io.open(directory .. "/" .. name, "wb"))
    assert(file:write(bytes))
  end

  local function bash(command, more)
    local input = { command = command }
    for name, value in pairs(more or {}) do input[name] = value end
    return ex.run("bash", input)
  end

  local function new(opts)
    opts.workdir = opts.workdir or directory
    return assert(koine.executor(opts))
  end

  before_each(function()
    directory = folder.new()
    ex = new { timeout = 60 }
  end)

  after_each(function() folder.remove(directory) end)

  it("returns stdout, then stderr", function()
    assert.are.same({ "hi\n", { exit_code = 0 } }, { bash "echo hi" })
    assert.are.equal("out\nerr\n", (bash "echo err >&2; echo out"))
    assert.are.equal("out\nerr", (bash "printf err >&2; printf out"))
  end)

  it("says the exit code unless it is 0, which is not the tool's failure", function()
    assert.are.same({ "x\n[exit code 3]", { exit_code = 3 } }, { bash "printf x; exit 3" })
    local text, info = bash "no-such-program"
    assert.is_truthy(text:find "no%-such%-program.*\n%[exit code 127%]$")
    assert.is_nil(info.is_error)
  end)

  it("says (no output) when there is none", function()
    assert.are.same({ "(no output)", { exit_code = 0 } }, { bash "true" })
    assert.are.equal("[exit code 1]", (bash "false"))
  end)

  it("runs in the working directory, every time", function()
    assert.are.equal(ex.workdir .. "\n", (bash "pwd -P; cd /"))
    assert.are.equal(ex.workdir .. "\n", (bash "pwd -P"))
    bash "echo made > here"
    assert.are.equal("made\n", get(directory .. "/here"))
  end)

  it("answers restart with a notice, without a command", function()
    local text, info = ex.run("bash", { restart = true })
    assert.are.equal("Every command has a new shell: there is nothing to restart.", text)
    assert.is_nil(info)
    text, info = ex.run("bash", {})
    assert.are.equal("Error: command: string expected, got nothing", text)
    assert.is_true(info.is_error)
    assert.is_true(select(2, bash "a\0b").is_error)
  end)

  it("answers a command that is too long with words, not with the end of the run", function()
    local longest = 128 * 1024 - 1 -- what Linux takes for one argument
    local said, info = bash("echo " .. ("x"):rep(longest - 5))
    assert.are.same({ 0, "xxx" }, { info.exit_code, said:sub(1, 3) })
    for _, more in ipairs { 1, 1 << 20, 8 << 20 } do
      said, info = bash("echo " .. ("x"):rep(longest - 5 + more))
      assert.are.same({ is_error = true }, info)
      assert.are.equal(("Error: command: at most 131071 bytes expected, got %d; put it into a file"):format(longest
        + more), said)
    end
  end)

  it("answers a command that is too long beside its environment with words, too", function()
    local set = {}
    for i = 1, 64 do set["V" .. i] = ("x"):rep(130000) end -- more than Linux takes for all arguments
    local crowded <close> = new { set_env = set }
    local said, info = crowded.run("bash", { command = "echo " .. ("x"):rep(100000) })
    assert.are.same({ is_error = true }, info)
    assert.are.equal("Error: command: too long for this system; put it into a file", said)
    local nothing, err = crowded.run("bash", { command = "echo" })
    assert.are.same({ nil, "executor" }, { nothing, err.kind })
  end)

  it("has nothing to read and no terminal", function()
    assert.are.equal("no terminal\n", (bash "cat; tty -s || echo no terminal"))
  end)

  it("says which signal ended a command", function()
    local text, info = bash "kill -9 $$"
    assert.are.equal("[killed by signal 9]", text)
    assert.is_true(info.is_error)
  end)

  it("repairs output that is no UTF-8", function()
    assert.are.equal("caf\u{FFFD}", (bash "printf 'caf\\351'"))
  end)

  describe("output", function()
    it("is capped, what is left out counted, the exit code still said", function()
      ex = new { output_max = 1000 }
      local text = bash "head -c 5000 /dev/zero | tr '\\0' x; echo problem >&2; exit 4"
      assert.are.equal(("x"):rep(992) .. "\n[4008 more bytes of stdout left out]\nproblem\n[exit code 4]", text)
      text = bash "head -c 5000 /dev/zero | tr '\\0' x | tee /dev/stderr"
      assert.are.equal(("x"):rep(500) .. "\n[4500 more bytes of stdout left out]\n" .. ("x"):rep(500)
        .. "\n[4500 more bytes of stderr left out]\n", text)
      text = bash "head -c 5000 /dev/zero | tr '\\0' x >&2; echo hi"
      assert.are.equal("hi\n" .. ("x"):rep(997) .. "\n[4003 more bytes of stderr left out]\n", text)
    end)

    it("is not cut inside a character", function()
      ex = new { output_max = 999 }
      assert.are.equal(("é"):rep(499) .. "\n[1002 more bytes of stdout left out]\n",
        (bash "for i in $(seq 1000); do printf 'é'; done"))
    end)

    it("of 256 MiB does not grow the memory", function()
      local reset = io.open("/proc/self/clear_refs", "w")
      if not reset then return pending "only where /proc can measure it" end
      local function peak() return tonumber(get("/proc/self/status"):match "VmHWM:%s*(%d+) kB") end
      bash "head -c 1000000 /dev/zero | tr '\\0' x"
      collectgarbage()
      assert(reset:write "5" and reset:close()) -- the peak counts from now on
      local before = peak()
      local text = bash "head -c 268435456 /dev/zero | tr '\\0' x"
      assert.is_true(peak() - before < 4096, ("%d KiB more"):format(peak() - before))
      assert.are.equal("[268369920 more bytes of stdout left out]", text:match "\n(.*)\n$")
      assert.are.equal(65536 + #"\n[268369920 more bytes of stdout left out]\n", #text)
    end)
  end)

  describe("environment", function()
    -- Names and values that a command sees in an executor made with `opts` (Lua source), in a program whose own
    -- environment holds credentials.
    local function seen(opts)
      local script = directory .. "/script.lua"
      local file <close> = assert(io.open(script, "w"))
      file:write(([[local koine = require "koine"
        io.write((assert(koine.executor(%s)).run("bash", { command = "env" })))]]):format(opts))
      file:close()
      local pipe = assert(io.popen(("SOME_API_KEY=sk-do-not-show GH_TOKEN=gh-do-not-show OTHER=do-not-show LANG=C "
        .. "%s '%s'"):format(os.getenv "KOINE_LUA" or "lua5.4", script)))
      local said, names = pipe:read "a", {}
      pipe:close()
      assert.is_nil(said:find("do-not-show", 1, true), said)
      for name, value in said:gmatch "([%w_]+)=([^\n]*)" do names[name] = value end
      for _, own in ipairs { "PWD", "OLDPWD", "SHLVL", "_" } do names[own] = nil end -- the shell's own
      return names
    end

    it("holds what is on the list, nothing else", function()
      local names = seen(("{ workdir = %q }"):format(directory))
      local list = " PATH HOME LANG LC_ALL TERM TMPDIR TZ USER LOGNAME SHELL "
      for name in pairs(names) do assert.is_truthy(list:find(" " .. name .. " ", 1, true), name) end
      assert.are.equal("C", names.LANG)
      assert.are.equal(os.getenv "PATH", names.PATH)
    end)

    it("holds a list of one's own, and what is set", function()
      local names = seen(("{ workdir = %q, env = { 'LANG' }, set_env = { MY_TOKEN = 'given', PATH = '/bin' } }")
        :format(directory))
      names.SHELL, names.TERM = nil, nil -- some shells set these themselves
      assert.are.same({ LANG = "C", MY_TOKEN = "given", PATH = "/bin" }, names)
    end)
  end)

  describe("time", function()
    it("over: the model is told, with the output so far", function()
      local timeout, text, info = 0.1
      repeat -- a slow machine gets more time to begin
        timeout = timeout * 2
        ex = new { timeout = timeout }
        text, info = bash "echo before; echo problem >&2; exec sleep 1000"
        assert.is_true(info.is_error)
      until text:find "problem" or timeout > 100
      assert.are.equal(("before\nproblem\n[timed out after %g seconds; the command and all it started were killed]")
        :format(timeout), text)
    end)

    it("may be asked for, up to the executor's limit", function()
      assert.is_truthy(bash("sleep 1000", { timeout = 0.1 }):find("after 0.1 seconds", 1, true))
      ex = new { timeout = 0.1 }
      assert.is_truthy(bash("sleep 1000", { timeout = 1000 }):find("after 0.1 seconds", 1, true))
    end)

    -- Starts 64 sleepers, one in a session of its own and one that ignores SIGTERM, writes their process ids to a file,
    -- and waits for them.
    local TREE = [[
      for i in $(seq 1 62); do sleep 1000 & echo $! >> pids; done
      (trap '' TERM; sleep 1000) & echo $! >> pids
      setsid sh -c 'echo $$ >> pids; exec sleep 1000' &
      wait
    ]]

    it("over: a tree of 64 children is gone", function()
      local timeout, pids = 0.5
      repeat -- a slow machine gets more time to start them
        os.remove(directory .. "/pids")
        timeout = timeout * 2
        assert.is_true(select(2, bash(TREE, { timeout = timeout })).is_error)
        pids = {}
        for pid in get(directory .. "/pids"):gmatch "%d+" do pids[#pids + 1] = pid end
        for _, pid in ipairs(pids) do
          assert.is_nil(lfs.attributes("/proc/" .. pid), pid .. " is still there")
        end
      until #pids == 64 or timeout > 100
      assert.are.equal(64, #pids)
    end)

    it("within it nothing is left either: what runs in the background ends with the command", function()
      local text = bash "sleep 1000 > /dev/null 2>&1 & echo $!"
      assert.is_nil(lfs.attributes("/proc/" .. text:match "%d+"))
    end)
  end)

  it("gives nil, err (kind executor) when the working directory is gone", function()
    assert(os.execute(("rm -rf '%s'"):format(directory)))
    local text, err = bash "true"
    assert.is_nil(text)
    assert.are.equal("executor", err.kind)
    assert.are.equal("Error", err.class)
  end)

  it("gives nil, err (kind executor) when another directory has taken its place", function()
    finally(function() os.execute(("rm -rf '%s.away'"):format(directory)) end)
    put("f", "the first")
    assert.are.same({ "(no output)", { exit_code = 0 } },
      { bash(('cd / && mv "%s" "%s.away" && mkdir "%s"'):format(ex.workdir, ex.workdir, ex.workdir)) })
    put("f", "the second")
    local text, err = bash "cat f"
    assert.is_nil(text)
    assert.are.equal("executor", err.kind)
    assert.is_truthy(err.message:find("no longer the directory that was opened", 1, true))
    assert.are.equal("the first", (ex.run("read_file", { path = "f" })))
    os.execute(("rm -r '%s' && mv '%s.away' '%s'"):format(ex.workdir, ex.workdir, ex.workdir))
    assert.are.equal("the first", (bash "cat f"))
  end)

  it("raises once the executor is closed", function()
    ex:close()
    local ok, err = pcall(bash, "true")
    assert.is_false(ok)
    assert.are.equal("ArgumentError", err.class)
  end)

  it("gives nil, err when the caller is cancelled, and ends the command", function()
    local park = wait.park
    finally(function() wait.park = park end)
    local cancelled = koine.errors.new { kind = "cancelled", message = "cancelled" }
    wait.park = function() -- a host that cancels once the command has begun
      repeat wait.block({}, 0.01) until get(directory .. "/pid"):find "\n"
      return nil, cancelled
    end
    local text, err = bash "echo $$ > pid; exec sleep 1000"
    assert.is_nil(text)
    assert.are.equal(cancelled, err)
    assert.is_nil(lfs.attributes("/proc/" .. get(directory .. "/pid"):match "%d+"))
  end)

  it("runs the commands of two executors at once, and keeps them apart (108)", function()
    local other = directory .. "/other"
    assert(lfs.mkdir(other))
    assert(os.execute(("mkfifo '%s/there' '%s/back'"):format(directory, directory)))
    local a, b = new { set_env = { WHO = "a" } }, new { workdir = other, set_env = { WHO = "b" } }
    local first, second = koine.run(function() -- each waits for the other's bytes
      local one, two = koine.gather(
        function() return (a.run("bash", { command = "echo from $WHO > there; cat back; pwd -P > mine" })) end,
        function() return (b.run("bash", { command = "cat ../there; echo from $WHO > ../back; pwd -P > mine" })) end)
      return one, two
    end)
    assert.are.equal("from b\n", first)
    assert.are.equal("from a\n", second)
    assert.are.equal(a.workdir .. "\n", get(directory .. "/mine"))
    assert.are.equal(b.workdir .. "\n", get(other .. "/mine"))
  end)

  describe("and the keys of this process", function()
    -- A host with a key in its environment, whose command looks for it: the environment of its supervisor, which is its
    -- parent, and that one's parent, which is the host. Behind it stands the value of the host's own os.getenv then.
    local HOST = [[
      local koine = require "koine"
      local ex = assert(koine.executor { workdir = os.getenv "WORKDIR", policy = {}, protect = %s })
      io.write((ex.run("bash", { command = "read -r s </proc/$PPID/stat; s=${s##*) }; set -- $s; "
        .. "cat /proc/$PPID/environ /proc/$2/environ 2>/dev/null | grep -ac koine-test-key || true" })))
      io.write(os.getenv "KOINE_TEST_KEY", "\n")
    ]]

    local function host(protect)
      local env = { PATH = os.getenv "PATH", LUA_PATH = os.getenv "LUA_PATH", LUA_CPATH = os.getenv "LUA_CPATH",
        WORKDIR = directory, KOINE_TEST_KEY = "koine-test-key" }
      for _, name in ipairs { "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS" } do env[name] = os.getenv(name) end
      return assert(koine.process.run({ os.getenv "KOINE_LUA" or "lua5.4", "-e", HOST:format(protect) },
        { env = env, timeout = 60 })).stdout
    end

    it("does not find them in /proc", function()
      if mixed_width() then pending "a program of 32 bits on a kernel of 64" end
      assert.are.equal("0\nkoine-test-key\n", host(true))
    end)

    it("finds them where protect = false", function() assert.are.equal("1\nkoine-test-key\n", host(false)) end)

    it("raises for what is no boolean", function()
      local ok, err = pcall(koine.executor, { workdir = directory, protect = 1 })
      assert.is_false(ok)
      assert.are.equal("protect", err.field)
      ok, err = pcall(koine.process.run, { "true" }, { protect = "no" })
      assert.is_false(ok)
      assert.are.equal("protect", err.field)
    end)
  end)
end)
