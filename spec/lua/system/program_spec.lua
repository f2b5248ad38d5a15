-- Live programs: what is said and heard, standard error, who waits for whom; in plain Lua, tasks and hosts. Their ends
-- are program_end_spec's; lines cut at every byte, and what only C can see, c/process/program's.

local kit = require "spec.lua.system.process_kit"
local koine = require "koine"
local peers = require "spec.lua.net.peers"
local process = require "koine.system.process"
local wait = require "koine.task.wait"

local raises, read, SAFETY = kit.raises, kit.read, kit.SAFETY

describe("a live program", function()
  local dir, p

  before_each(function() dir = kit.begin() end)
  after_each(function()
    if p then p:close() end
    p = nil
    kit.finish(dir)
  end)

  -- A script of the shell, which ends at SIGTERM at once.
  local function open(script, opts)
    opts = opts or {}
    opts.cwd, opts.grace = opts.cwd or dir, opts.grace or SAFETY
    p = assert(process.open({ "sh", "-c", script }, opts))
    return p
  end

  local function touch(name) assert(io.open(dir .. "/" .. name, "w")):close() end

  local ECHO = 'while read -r x; do echo "<$x>"; done'
  local UNTIL_TOLD = "while [ ! -e go ]; do sleep 0.005; done; "

  describe("talks", function()
    it("line by line", function()
      open(ECHO .. "; echo bye; exit 3")
      for i = 1, 100 do
        assert.is_true(p:write(i .. "\n"))
        assert.same({ ("<%d>"):format(i), n = 1 }, table.pack(p:line()))
      end
      p:close_input()
      assert.equal("bye", p:line())
      for _ = 1, 2 do assert.same({ n = 1 }, table.pack(p:line())) end
      assert.same({ code = 3, stdout = "", stderr = "", timed_out = false, dropped = { stdout = 0, stderr = 0 } },
        p:result())
    end)

    it("with LF and CR LF, empty lines, and a rest without either", function()
      open [[printf 'one\r\n\ntwo\n\r\n\0three\rfour\nrest\r']]
      local lines = {}
      for line in p.line, p do lines[#lines + 1] = line end
      assert.same({ "one", "", "two", "", "\0three\rfour", "rest\r" }, lines)
    end)

    it("in bytes as they are", function()
      open "cat"
      local all = {}
      for i = 0, 255 do all[#all + 1] = i ~= 10 and string.char(i) or "" end
      local bytes = table.concat(all):rep(400)
      assert(p:write(bytes .. "\n"))
      assert.equal(bytes, p:line())
    end)

    it("where it is told to, with the environment it is given", function()
      open("pwd; exec env", { env = { NAME = "a value" } })
      assert.equal(dir, p:line())
      local seen = {}
      for line in p.line, p do seen[line] = true end
      assert.is_true(seen["NAME=a value"])
      assert.is_nil(seen["HOME=" .. tostring(os.getenv "HOME")])
    end)

    it("with another one", function()
      open("read -r n; while [ $n -lt 200 ]; do echo $((n + 1)); read -r n || exit 9; done; echo end $n")
      local other <close> = assert(process.open({ "sh", "-c", 'while read -r n; do echo $((n + 1)); done' }))
      assert(p:write "0\n")
      local last
      for line in p.line, p do
        last = line
        if line:find "^end" then break end
        assert(other:write(line .. "\n"))
        assert(p:write(assert(other:line()) .. "\n"))
      end
      assert.equal("end 200", last)
    end)

    it("in a line of 10 MiB, and one that is too long ends it", function()
      open("head -c 10485760 /dev/zero | tr '\\0' x; echo; echo next")
      assert.equal(("x"):rep(10 << 20), p:line())
      assert.equal("next", p:line())
      p:close()
      open("echo fine; exec cat /dev/zero", { line_max = 100000 })
      assert.equal("fine", p:line())
      for _ = 1, 2 do
        local line, err = p:line()
        assert.is_nil(line)
        assert.same({ "limit", "line", "a line exceeds 100000 bytes" }, { err.kind, err.code, err.message })
      end
      assert.equal(15, p:result().signal)
    end)
  end)

  describe("waits", function()
    it("for its reader: the pipe is full, and no more is kept here", function()
      open("i=0; while [ $i -lt 200 ]; do printf '%010000d\\n' $i; i=$((i + 1)); echo $i > count; done")
      assert.equal(10000, #p:line())
      local before, count
      repeat
        before = count or -1
        wait.block({}, 0.1)
        count = tonumber(read(dir .. "/count"))
      until count == before
      assert.is_true(count < 20, count)
      local n = 1
      for _ in p.line, p do n = n + 1 end
      assert.equal(200, n)
    end)

    it("never with its standard error", function()
      open("head -c 10000000 /dev/zero >&2; seq 1 20000 >&2; echo done")
      assert.equal("done", p:line())
      local r = p:result()
      assert.equal(64 << 10, #r.stderr)
      assert.equal("\n19999\n20000\n", r.stderr:sub(-13))
      assert.equal(10000000 + 108894 - (64 << 10), r.dropped.stderr)
    end)

    it("until there is room: a writer parks, others go on", function()
      open(UNTIL_TOLD .. "wc -c", { high_water = 1000 })
      local bytes, order = ("x"):rep(1 << 20), {}
      koine.run(function()
        koine.gather(function()
          assert(p:write(bytes))
          order[#order + 1] = "written"
        end, function()
          koine.sleep(0.02)
          order[#order + 1] = "other"
          touch "go"
        end)
      end)
      p:close_input()
      assert.same({ "other", "written" }, order)
      assert.equal(1 << 20, tonumber(p:line()))
    end)

    it("for one reader at a time", function()
      open(ECHO)
      koine.run(function()
        local task = koine.spawn(function() return p:line() end)
        koine.sleep(0)
        raises("program", p.line, p)
        assert(p:write "mine\n")
        assert.equal("<mine>", task:wait())
        assert(p:write "x\n")
        assert.equal("<x>", p:line())
      end)
    end)

    it("no longer for a task that was cancelled, and is as before", function()
      open(UNTIL_TOLD .. ECHO, { high_water = 1 })
      koine.run(function()
        local reader = koine.spawn(function() return p:line() end)
        local writer = koine.spawn(function() return p:write(("w"):rep(1 << 18) .. "\n") end)
        local ender = koine.spawn(function() return p:result() end)
        koine.sleep(0.01)
        for _, task in ipairs { reader, writer, ender } do assert.is_true(task:cancel()) end
        touch "go"
        assert.equal((1 << 18) + 2, #p:line()) -- what the writer had queued
        assert(p:write "more\n")
        assert.equal("<more>", p:line())
      end)
    end)
  end)

  describe("standard error", function()
    it("is told line by line to whoever waits", function()
      local told = {}
      open("for i in 1 2 3; do echo err $i >&2; read x; done; printf 'b\\r\\nlast' >&2",
        { on_stderr = function(line) told[#told + 1] = line end })
      for i = 1, 3 do
        while #told < i do
          koine.timeout(0.01, function() p:line() end)
        end
        assert(p:write "\n")
      end
      local r = p:result()
      assert.same({ "err 1", "err 2", "err 3", "b", "last" }, told)
      assert.equal("err 1\nerr 2\nerr 3\nb\r\nlast", r.stderr)
    end)

    it("is told to its last words by close", function()
      local told = {}
      local q <close> = assert(process.open({ "sh", "-c", "cat; echo bye >&2" },
        { on_stderr = function(line) told[#told + 1] = line end }))
      q:close()
      assert.same({ "bye" }, told)
    end)

    it("is told in order, though the function waits, and calls back", function()
      local told, heard = {}, nil
      open("echo 1 >&2; echo 2 >&2; read x; echo $x; echo 3 >&2", { on_stderr = function(line)
        if line == "1" then
          koine.sleep(0.01)
          assert(p:write "from within\n")
        end
        told[#told + 1] = line
      end })
      koine.run(function()
        koine.gather(function() heard = p:line() end, function() assert(p:result()) end)
      end)
      assert.same({ "from within", { "1", "2", "3" } }, { heard, told })
    end)

    it("is lost but for the end where no method waits", function()
      local told = {}
      open("seq 1 1000 >&2; echo x", { stderr_max = 10, on_stderr = function(line) told[#told + 1] = line end })
      local r = p:result()
      assert.equal("999\n1000\n", r.stderr:sub(-9))
      assert.equal("1000", told[#told])
      assert.equal(10, #r.stderr)
    end)

    it("may raise: who waits has it, and nothing is lost but that line", function()
      local fine
      open("echo one >&2; read x; echo out; echo two >&2", { on_stderr = function(line)
        if line == "one" then error("no", 0) end
        fine = line
      end })
      assert.same({ false, "no" }, { pcall(p.line, p) })
      assert(p:write "\n")
      assert.equal("out", p:line())
      assert.equal(0, p:result().code)
      assert.equal("two", fine)
    end)
  end)

  describe("that cannot be started", function()
    it("is the error that run has", function()
      for _, case in ipairs { { { "koine-no-such-program" } }, { { "/etc/passwd" } }, { { "true" }, "/nowhere" } } do
        local got, err = process.open(case[1], { cwd = case[2] })
        assert.is_nil(got)
        local _, same = process.run(case[1], { cwd = case[2] })
        for _, field in ipairs { "class", "kind", "code", "message", "retryable" } do
          assert.equal(same[field], err[field])
        end
      end
    end)
  end)

  it("checks what it is given", function()
    raises("argv", process.open, {})
    raises("argv[2]", process.open, { "echo", 7 })
    raises("options", process.open, { "true" }, 3)
    raises("cwd", process.open, { "true" }, { cwd = 7 })
    raises("env.A", process.open, { "true" }, { env = { A = 1 } })
    raises("on_stderr", process.open, { "true" }, { on_stderr = "print" })
    for _, name in ipairs { "stderr_max", "line_max", "high_water" } do
      for _, value in ipairs { 0, -1, 1.5, "1" } do raises(name, process.open, { "true" }, { [name] = value }) end
    end
    raises("grace", process.open, { "true" }, { grace = -1 })
    raises("timeout", process.open, { "true" }, { timeout = 1 })
    open "cat"
    raises("bytes", p.write, p, 7)
    raises("bytes", p.write, p)
    assert.equal("koine.program", tostring(p))
  end)

  for name, together in pairs(peers.loops()) do
    it("waits in " .. name .. " while others work, a reader and a writer at once", function()
      local BYTES, heard, said, code = 4 << 20, 0, nil, nil
      together(function()
        local q <close> = assert(process.open({ "sh", "-c", UNTIL_TOLD .. "cat; echo err >&2; exit 7" },
          { cwd = dir, on_stderr = function(line) said = line end }))
        koine.gather(function()
          for line in q.line, q do heard = heard + #line + 1 end
          code = q:result().code
        end, function()
          local line = ("z"):rep(1023) .. "\n"
          assert(q:write(line:rep(BYTES // 1024)))
          q:close_input()
        end)
      end, function()
        wait.park({}, 0.02)
        touch "go"
      end)
      assert.same({ BYTES, "err", 7 }, { heard, said, code })
    end)
  end
end)
