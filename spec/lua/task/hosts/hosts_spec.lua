-- Koine inside other event loops, what is the same in all of them: cqueues, luv, and the loop of its own on select.
-- The coroutines of the hosts here would never end if one of them blocked the others.

local host_kit = require "spec.lua.task.hosts.kit"
local koine = require "koine"
local loops = require "spec.lua.task.hosts.loops"
local wait = require "koine.task.wait"

describe("hosts", function()
  local kit = host_kit()
  local adapter, left, silent = kit.adapter, kit.left, kit.silent

  for _, name in ipairs { "cqueues", "luv", "poll" } do
    local run = loops[name]
    describe(name, function()
      local host = koine.hosts[name]
      before_each(host.install)
      after_each(host.uninstall)

      -- Runs the functions at once and raises what one of them raised: a host may do something else with it.
      local function together(...)
        local functions, failed = { ... }, nil
        for i, f in ipairs(functions) do
          functions[i] = function()
            local ok, err = xpcall(f, function(err)
              return type(err) == "string" and debug.traceback(err) or err
            end)
            if not ok then failed = failed or { err } end
          end
        end
        run(table.unpack(functions))
        if failed then error(failed[1], 0) end
      end

      it("chats while a stream is silent, and closing the stream wakes its reader", function()
        assert(kit.server:script { silent "/a", { content = "Here." } })
        local stream, err, answer
        together(function()
          stream = assert(adapter "/a":open "Hi")
          local delta
          repeat delta, err = stream:next() until not delta
        end, function()
          answer = assert(adapter():chat "Hi"):text()
          while stream:stats().bytes < 1800 do assert(koine.sleep(0.001)) end
          stream:close()
        end)
        assert.are.equal("Here.", answer)
        assert.are.equal("cancelled", err.kind)
        assert.are.equal(1800, left().closed_after)
      end)

      it("runs two calls at once on one engine", function()
        assert(kit.server:script "echo")
        local answers = {}
        together(function() answers[1] = assert(adapter():chat "one"):text() end,
          function() answers[2] = assert(adapter():chat "two"):text() end)
        assert.are.same({ "You said: one", "You said: two" }, answers)
      end)

      it("sleeps without stopping the others", function()
        local here, there = false, false
        together(function()
          here = true
          while not there do assert.is_true(koine.sleep(0.001)) end
        end, function()
          there = true
          while not here do assert.is_true(koine.sleep(0.001)) end
        end)
      end)

      it("wakes for the core's deadlines, though nothing else happens", function()
        assert(kit.server:script { { content = "late", fault = { stall_after = 0 } } })
        together(function()
          local response, err = adapter(nil, { timeout = { first_byte = 0.02 } }):chat "Hi"
          assert.is_nil(response)
          assert.are.equal("timeout", err.kind)
        end)
      end)

      it("gives up what takes too long", function()
        assert(kit.server:script { silent "/a" })
        together(function()
          local response, err = koine.timeout(0.05, function() return adapter "/a":chat("Hi", { stream = true }) end)
          assert.is_nil(response)
          assert.are.equal("timeout", err.kind)
        end)
      end)

      it("gathers inside a coroutine, while another one chats", function()
        assert(kit.server:script "echo")
        local answers = {}
        local function say(word)
          return function() return assert(adapter():chat(word)):text() end
        end
        together(function() answers.a, answers.b = koine.gather(say "a", say "b") end,
          function() answers.c = say "c"() end,
          function() answers.d, answers.e = koine.gather(say "d", say "e") end)
        for word, answer in pairs(answers) do assert.are.equal("You said: " .. word, answer) end
        assert.are.equal(5, #assert(kit.server:requests()))
      end)

      it("keeps who is parked through a collection", function()
        assert(kit.server:script { { content = "Here.", fault = { delay_ms = 20 } } })
        local answer
        together(function() answer = assert(adapter():chat "Hi"):text() end, function()
          while not answer do
            collectgarbage()
            koine.sleep(0.002)
          end
        end)
        assert.are.equal("Here.", answer)
      end)

      it("wakes every coroutine that waits for the same", function()
        local token, woken = {}, 0
        local function waiter()
          if wait.park(token, 60) then woken = woken + 1 end
        end
        together(waiter, waiter, function()
          koine.sleep(0.001)
          wait.wake(token)
        end)
        assert.are.equal(2, woken)
      end)

      it("tells who was woken from whose time was over", function()
        local token, over = {}, {}
        together(function() over[1] = wait.park(token, 0.001) end, function() over[2] = wait.park(token, 60) end,
          function()
            koine.sleep(0.02)
            while over[1] == nil do koine.sleep(0.001) end
            wait.wake(token)
          end)
        assert.are.same({ false, true }, over)
      end)

      it("parks for longer than any loop can count", function()
        local token, over = {}, nil
        together(function() over = wait.park(token, 1e300) end, function()
          koine.sleep(0.001)
          wait.wake(token)
        end)
        assert.is_true(over)
      end)

      it("knows where it suspends", function()
        local inside, cannot
        together(function()
          inside = wait.suspends()
          table.sort({ 1, 2 }, function(x, y)
            cannot = wait.suspends()
            return x < y
          end)
        end)
        assert.is_true(inside)
        assert.is_false(cannot)
        assert.is_false(wait.suspends())
      end)

      if name ~= "luv" then
        it("knows that it blocks in other people's coroutines", function()
          local within
          together(function() within = coroutine.wrap(wait.suspends)() end)
          assert.is_false(within)
          assert.is_false(coroutine.wrap(wait.suspends)())
        end)
      end

      it("goes on after its loop has ended, with a stream left open", function()
        assert(kit.server:script { silent "/a", { content = "One." }, { content = "Two." } })
        local stream
        together(function()
          stream = assert(adapter "/a":open "Hi")
          assert(stream:next())
        end)
        together(function() assert.are.equal("One.", assert(adapter():chat "Hi"):text()) end)
        together(function() assert.are.equal("Two.", assert(adapter():chat "Hi"):text()) end)
        stream:close()
      end)

      it("keeps a generator of the user's own", function()
        assert(kit.server:script { { content = "some words in pieces", chunk = 4 } })
        local function pieces()
          return coroutine.wrap(function()
            for delta in adapter():stream "Hi" do
              if delta.text then coroutine.yield(delta.text) end
            end
          end)
        end
        together(function()
          koine.run(function()
            local said = {}
            for piece in pieces() do said[#said + 1] = piece end
            assert.are.equal("some words in pieces", table.concat(said))
          end)
        end)
      end)

      it("blocks where Lua cannot yield", function()
        assert(kit.server:script "echo")
        local words, answers = { "b", "a" }, {}
        together(function()
          table.sort(words, function(x, y)
            answers[#answers + 1] = assert(adapter():chat(x)):text()
            return x < y
          end)
        end)
        assert.are.same({ "a", "b" }, words)
        assert.is_truthy(answers[1]:find "^You said: [ab]$")
      end)

      it("blocks where there is no coroutine, and waits as before once it is gone", function()
        assert(kit.server:script "echo")
        assert.are.equal("You said: Hi", assert(adapter():chat "Hi"):text())
        host.uninstall()
        assert.are.equal("You said: Hi", assert(adapter():chat "Hi"):text())
      end)
    end)
  end

  it("has no others", function() assert.is_nil(koine.hosts.none) end)
end)
