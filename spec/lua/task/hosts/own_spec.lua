-- Koine inside other event loops, what each of them has of its own: cqueues, luv, and the loop of its own on select.

local cqueues = require "cqueues"
local host_kit = require "spec.lua.task.hosts.kit"
local koine = require "koine"
local socket = require "socket"
local uv = require "luv"
local wait = require "koine.task.wait"

describe("hosts", function()
  local kit = host_kit()
  local adapter, left, silent = kit.adapter, kit.left, kit.silent

  describe("together", function()
    local hosts = { "cqueues", "luv", "poll" }
    after_each(function()
      for _, name in ipairs(hosts) do koine.hosts[name].uninstall() end
    end)

    it("are one at a time: another one over one that is installed is refused, the same one again is not", function()
      local own = { park = wait.block, wake = function() end }
      for _, name in ipairs(hosts) do
        local host = koine.hosts[name]
        host.install()
        host.install()
        for _, other in ipairs(hosts) do
          if other ~= name then
            local ok, err = pcall(koine.hosts[other].install)
            assert.are.same({ false, "ArgumentError", "host" }, { ok, err.class, err.field })
            koine.hosts[other].uninstall() -- was none, and leaves the one that is alone
          end
        end
        assert.are.equal("host", select(2, pcall(koine.set_host, own)).field)
        host.uninstall()
        host.uninstall()
      end
    end)

    it("say that poll is not installed", function()
      local poll = koine.hosts.poll
      local calls = { spawn = function() poll.spawn(print) end, step = function() poll.step(0) end,
        await = function() poll.await({}, "r") end,
        task = function() koine.run(function() poll.await({}, "r") end) end }
      for name, f in pairs(calls) do
        local ok, err = pcall(f)
        assert.are.same({ false, "ArgumentError", "poll" }, { ok, err.class, err.field }, name)
      end
      poll.run()
    end)

    it("keep who waits when they are installed again", function()
      koine.hosts.luv.install()
      local done = false
      coroutine.wrap(function() done = koine.sleep(0.001) end)()
      koine.hosts.luv.install()
      uv.run()
      assert.is_true(done)
      koine.hosts.luv.uninstall()
      koine.hosts.poll.install()
      koine.hosts.poll.spawn(function() done = not koine.sleep(0.001) end)
      koine.hosts.poll.install()
      koine.hosts.poll.run()
      assert.is_false(done)
    end)

    it("cannot be uninstalled while somebody waits, who then goes on", function()
      local starts = { luv = function(f) coroutine.wrap(f)() end, poll = koine.hosts.poll.spawn }
      local runs = { luv = uv.run, poll = koine.hosts.poll.run }
      for name, start in pairs(starts) do
        local host, done = koine.hosts[name], 0
        host.install()
        for _ = 1, 2 do
          start(function()
            koine.sleep(0.001)
            done = done + 1
          end)
        end
        local ok, err = pcall(host.uninstall)
        assert.are.same({ false, "ArgumentError", "uninstall" }, { ok, err.class, err.field })
        assert.is_truthy(err.message:find("2 coroutines", 1, true), err.message)
        runs[name]()
        assert.are.equal(2, done)
        host.uninstall()
      end
    end)

    it("may be uninstalled in cqueues: who waits goes on all the same", function()
      koine.hosts.cqueues.install()
      local controller, done = cqueues.new(), false
      controller:wrap(function() done = koine.sleep(0.001) == true and koine.sleep(0.001) end)
      assert(controller:step(0))
      koine.hosts.cqueues.uninstall()
      assert(controller:loop())
      assert.is_true(done)
    end)

    it("may be uninstalled by the last one who runs", function()
      koine.hosts.poll.install()
      koine.hosts.poll.spawn(function()
        koine.sleep(0.001)
        koine.hosts.poll.uninstall()
      end)
      koine.hosts.poll.run()
      koine.hosts.luv.install()
      coroutine.wrap(function()
        koine.sleep(0.001)
        koine.hosts.luv.uninstall()
      end)()
      uv.run()
      koine.hosts.cqueues.install() -- nothing is there any more
    end)
  end)

  describe("cqueues", function()
    before_each(koine.hosts.cqueues.install)
    after_each(koine.hosts.cqueues.uninstall)

    it("hands errors to the controller", function()
      local controller = cqueues.new()
      controller:wrap(function()
        koine.sleep(0.001)
        error("oh no", 0)
      end)
      local ok, err = controller:loop()
      assert.is_false(ok)
      assert.are.equal("oh no", err)
      assert.is_true(controller:loop()) -- the pump ends too
    end)

    it("runs controllers side by side", function()
      assert(kit.server:script "echo")
      local outer, inner, answers = cqueues.new(), cqueues.new(), {}
      inner:wrap(function() answers.inner = assert(adapter():chat "inner"):text() end)
      outer:wrap(function() answers.outer = assert(adapter():chat "outer"):text() end)
      outer:wrap(function() assert(inner:loop()) end)
      assert(outer:loop())
      assert.are.same({ inner = "You said: inner", outer = "You said: outer" }, answers)
    end)

    it("ends its pump when the last that was parked is closed", function()
      local controller, token, sleeper = cqueues.new(), {}, nil
      controller:wrap(function()
        sleeper = coroutine.running()
        wait.park(token)
      end)
      assert(controller:step(0))
      assert(controller:step(0))
      assert.are.equal(2, controller:count())
      assert(coroutine.close(sleeper))
      wait.wake(token) -- the waiter is gone
      local turns = 0
      while controller:count() > 1 and turns < 5 do -- cqueues itself keeps the one that was closed
        assert(controller:step(0))
        turns = turns + 1
      end
      assert.are.equal(1, controller:count())
    end)

    it("cancels what a controller that is dropped waited for", function()
      assert(kit.server:script { silent "/a" })
      local controller, deltas = cqueues.new(), 0
      controller:wrap(function()
        for _ in adapter "/a":stream "Hi" do deltas = deltas + 1 end
      end)
      while deltas < 2 do assert(controller:step(60)) end
      assert(controller:step(0))
      controller:close()
      controller = nil -- luacheck: ignore
      collectgarbage()
      collectgarbage()
      assert.is_true(left().closed_after <= 1800) -- so many there are
    end)
  end)

  describe("luv", function()
    before_each(koine.hosts.luv.install)
    after_each(koine.hosts.luv.uninstall)

    it("hands errors of coroutines to luv, with their traceback", function()
      local program = [[
        local koine, uv = require "koine", require "luv"
        koine.hosts.luv.install()
        local function fails()
          koine.sleep(0.001)
          error(koine.errors.new { kind = "other", message = "oh no" })
        end
        coroutine.wrap(function() %s end)()
        uv.run()
        print "not reached"]]
      for _, body in ipairs { "fails()", "koine.run(function() fails() end)" } do
        local command = ("%s -e '%s' 2>&1"):format(os.getenv "KOINE_LUA" or "lua5.4", program:format(body))
        local pipe = assert(io.popen(command))
        local text = pipe:read "a"
        assert.is_nil(pipe:close())
        assert.is_truthy(text:find("Uncaught Error: oh no", 1, true), text)
        assert.is_truthy(text:find("in upvalue 'fails'", 1, true), text)
        assert.is_nil(text:find("not reached", 1, true))
      end
    end)

    it("hands on what the engine fails with", function()
      local pipe = assert(io.popen((os.getenv "KOINE_LUA" or "lua5.4") .. [[ -e '
        local koine, uv = require "koine", require "luv"
        koine.hosts.luv.install()
        coroutine.wrap(function() koine.sleep(0.001) end)()
        local fails = function() error(koine.errors.new { kind = "other", message = "no descriptor" }) end
        require("koine.core").turn = fails
        uv.run()' 2>&1]]))
      local text = pipe:read "a"
      assert.is_nil(pipe:close())
      assert.is_truthy(text:find("Uncaught Error: no descriptor", 1, true), text)
    end)

    it("forgets a coroutine that was closed", function()
      local woken = false
      local co = coroutine.create(function() woken = wait.park({}, 3600) end)
      assert(coroutine.resume(co))
      assert(coroutine.close(co))
      uv.run() -- no coroutine is parked any more
      assert.is_false(woken)
    end)

    it("says that a parked coroutine is the host's to resume", function()
      local co = coroutine.create(function() koine.sleep(3600) end)
      assert(coroutine.resume(co))
      local ok, err = coroutine.resume(co)
      assert.is_false(ok)
      assert.are.equal("coroutine", err.field)
      uv.run() -- no coroutine is parked any more
    end)

    it("lets the other handles of the loop work meanwhile", function()
      assert(kit.server:script { silent "/a" })
      local stream, kind, timer = assert(adapter "/a":open "Hi"), nil, uv.new_timer()
      coroutine.wrap(function()
        local delta, err
        repeat delta, err = stream:next() until not delta
        kind = err.kind
      end)()
      timer:start(1, 1, function()
        if stream:stats().events < 3 then return end
        stream:close()
        timer:close()
      end)
      uv.run()
      assert.are.equal("cancelled", kind)
    end)
  end)

  describe("poll", function()
    local poll = koine.hosts.poll
    before_each(poll.install)
    after_each(poll.uninstall)

    it("compares what it waits for with nothing of its own", function()
      local listener <close> = setmetatable({ socket = assert(socket.bind("127.0.0.1", 0)) }, {
        __eq = function() error "compared" end, __close = function(self) self.socket:close() end })
      function listener.getfd() return listener.socket:getfd() end
      function listener.dirty() return false end
      local _, port = listener.socket:getsockname()
      local client, ready = assert(socket.connect("127.0.0.1", port)), nil
      poll.spawn(function() ready = poll.await(listener, "r", 60) end)
      poll.run()
      client:close()
      assert.is_true(ready)
    end)

    it("waits for descriptors beside chats", function()
      assert(kit.server:script { silent "/a", { content = "Here." } })
      local listener = assert(socket.bind("127.0.0.1", 0))
      local _, port = listener:getsockname()
      local stream, err, got, ready = nil, nil, nil, false
      poll.spawn(function()
        stream = assert(adapter "/a":open "Hi")
        local delta
        repeat delta, err = stream:next() until not delta
      end)
      poll.spawn(function()
        assert.is_false(poll.await(listener, "r", 0.001))
        ready = true
        assert.is_true(poll.await(listener, "r", 60))
        local peer = assert(listener:accept())
        assert.is_true(koine.run(poll.await, peer, "r", 60))
        got = peer:receive()
        peer:close()
        stream:close()
      end)
      poll.spawn(function()
        local text = assert(adapter():chat "Hi"):text()
        while not ready or stream:stats().events < 3 do assert(koine.sleep(0.001)) end
        local client = assert(socket.connect("127.0.0.1", port))
        assert.is_true(poll.await(client, "w", 60))
        assert(client:send(text .. "\n"))
        client:close()
      end)
      poll.run()
      listener:close()
      assert.are.equal("Here.", got)
      assert.are.equal("cancelled", err.kind)
    end)

    it("raises what a coroutine raises, with its traceback; the others go on", function()
      local function fails() error "oh no" end
      local done = false
      poll.spawn(function()
        koine.sleep(0.001)
        fails()
      end)
      poll.spawn(function()
        koine.sleep(0.01)
        done = true
      end)
      local ok, err = pcall(poll.run)
      assert.is_false(ok)
      assert.is_truthy(err:find("oh no\nstack traceback", 1, true), err)
      assert.is_truthy(err:find("'fails'", 1, true), err)
      poll.run()
      assert.is_true(done)
    end)

    it("blocks in a generator of the user's own", function()
      assert(kit.server:script "echo")
      local answer
      poll.spawn(function() answer = coroutine.wrap(function() return assert(adapter():chat "Hi"):text() end)() end)
      poll.run()
      assert.are.equal("You said: Hi", answer)
    end)

    it("refuses a descriptor that select cannot watch; the others go on", function()
      local done, err = false, nil
      poll.spawn(function()
        local high = { getfd = function() return 1024 end, dirty = function() return false end }
        err = select(2, pcall(poll.await, high, "r", 60))
      end)
      poll.spawn(function()
        koine.sleep(0.001)
        done = true
      end)
      poll.run()
      assert.are.equal("object", err.field)
      assert.is_true(done)
    end)

    it("says that its own descriptor is too high, and goes on without those of the program", function()
      local pipe = assert(io.popen("ulimit -n 2048 2>&1 && " .. (os.getenv "KOINE_LUA" or "lua5.4") .. [[ -e '
        local socket = require "socket"
        local listener, files = assert(socket.bind("127.0.0.1", 0)), {}
        for i = 1, 1100 do files[i] = assert(io.open "/dev/null") end
        local koine = require "koine"
        local poll = koine.hosts.poll
        poll.install()
        poll.spawn(function()
          local ok, err = pcall(poll.await, listener, "r", 60)
          print(ok, err.class, err.message)
        end)
        poll.spawn(function() print(koine.sleep(0.001)) end)
        poll.run()' 2>&1]]))
      local text, ended = pipe:read "a", pipe:close()
      if text:find "ulimit" then return pending "only where a program may have 2,048 descriptors" end
      assert.is_true(ended, text)
      assert.is_truthy(text:find("^false\tArgumentError\t[^\n]*1024[^\n]*\ntrue\n$"), text)
    end)

    it("raises for wrong use", function()
      local listener = assert(socket.bind("127.0.0.1", 0))
      local function field(f, ...)
        local ok, err = pcall(f, ...)
        assert.is_false(ok)
        return err.field
      end
      assert.are.equal("f", field(poll.spawn, "no function"))
      assert.are.equal("mode", field(poll.await, listener, "x"))
      assert.are.equal("await", field(poll.await, listener, "r"))
      listener:close()
    end)
  end)
end)
