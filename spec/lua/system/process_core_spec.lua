-- Programs as the core has them: the userdata, the engine's steps, descriptors.

local core = require "koine.core"
local kit = require "spec.lua.system.process_kit"
local process = require "koine.system.process"
local wait = require "koine.task.wait"

local lines, raises, read = kit.lines, kit.raises, kit.read
local survivors, SAFETY = kit.survivors, kit.SAFETY

describe("process", function()
  local dir

  before_each(function() dir = kit.begin() end)
  after_each(function() kit.finish(dir) end)

  it("leaks no descriptor", function()
    -- In a program of its own: what tests before this one left to the collector may be closed meanwhile.
    local counted = assert(process.run { os.getenv "KOINE_LUA" or "lua5.4", "-e", [[
      local kit, process = require "spec.lua.system.process_kit", require "koine".process
      assert(kit.sh "true")
      local before = kit.descriptors()
      for _ = 1, 20 do
        assert(kit.sh("cat", { stdin = "x" }))
        assert(not process.run { "koine-no-such-program" })
        assert(kit.sh("echo x", { merge = true }))
      end
      print(before == kit.descriptors() or before .. " before, " .. kit.descriptors() .. " behind")
    ]] })
    assert.are.same({ 0, "true\n", "" }, { counted.code, counted.stdout, counted.stderr })
  end)

  describe("the userdata", function()
    local SPEC = { argv = { "sh", "-c", "echo out; echo $$ > pids; exec sleep 1000" }, output_max = 100, grace = 0 }

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
