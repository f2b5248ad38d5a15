-- Programs: results, refusals, limits. Beside it process_end_spec and process_core_spec.

local kit = require "spec.lua.system.process_kit"
local process = require "koine.system.process"
local strerror = require "spec.support.strerror"

local lines, raises, read, resident, sh, SAFETY = kit.lines, kit.raises, kit.read, kit.resident, kit.sh, kit.SAFETY

describe("process", function()
  local dir

  before_each(function() dir = kit.begin() end)
  after_each(function() kit.finish(dir) end)

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
      assert.equal(0, assert(sh("true", { stdin = ("x"):rep(1 << 20) })).code) -- the program does not read it
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

  describe("a program that cannot be started", function()
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
      assert.equal("cannot run koine-no-such-program: " .. strerror "ENOENT", err.message)
      assert.equal("absent", refusal({ "/etc/passwd/none" }).code)
      err = refusal { "/etc/passwd" }
      assert.is_nil(err.code)
      assert.equal("cannot run /etc/passwd: " .. strerror "EACCES", err.message)
      err = refusal({ "true" }, { cwd = dir .. "/none" })
      assert.is_nil(err.code)
      assert.equal("cannot run true in " .. dir .. "/none: " .. strerror "ENOENT", err.message)
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
      raises("argv[2]", process.run, { "echo", nil, "x" })
      raises("argv[2]", process.run, { [1] = "echo", [3] = "x" })
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

    it("flows while 1 MiB goes in: neither waits for the other", function()
      local bytes = ("0123456789abcdef"):rep(1 << 16)
      local r = assert(sh("head -c 1048576 /dev/zero; cat; head -c 1048576 /dev/zero >&2",
        { stdin = bytes, output_max = 4 << 20 }))
      assert.equal(("\0"):rep(1 << 20) .. bytes, r.stdout)
      assert.equal(1 << 20, #r.stderr)
    end)
  end)
end)
