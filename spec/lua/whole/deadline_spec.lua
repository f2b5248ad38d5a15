-- Every call ends within its `total`, whatever the other side does: each fault that the loopback provider knows, plain
-- and streamed, on each wire, with a total of two seconds and a watchdog of four.

local core = require "koine.core"
local koine = require "koine"

local TOTAL, WATCHDOG = 2, 4 -- seconds

local WIRES = {
  anthropic = { new = koine.anthropic, base = "", path = "/v1/messages", model = "claude-sonnet-4-5" },
  chat = { new = koine.openai, api = "chat", base = "/v1", path = "/v1/chat/completions", model = "gpt-4.1" },
  responses = { new = koine.openai, api = "responses", base = "/v1", path = "/v1/responses", model = "gpt-4.1" },
}

local LONG = ("word "):rep(400)

-- Name → answer, and whether the call has to fail. All of them would take longer than the watchdog, or for ever, but
-- the last ones, which end by themselves.
local ANSWERS = {
  ["no answer"] = { { content = LONG, fault = { delay_ms = 30000 } }, true },
  ["silence before the status line"] = { { content = LONG, fault = { stall_after = 0 } }, true },
  ["silence in the head"] = { { content = LONG, fault = { stall_after = 1 } }, true },
  ["silence in the body"] = { { content = LONG, fault = { stall_after = 300 } }, true },
  ["compressed, then silence"] = { { content = LONG, fault = { gzip = true, stall_after = 60 } }, true },
  ["260 MB of white space"] = { { content = LONG, fault = { gzip_bomb = 260 * 1000 * 1000 } }, true },
  ["a reset"] = { { content = LONG, fault = { reset_after = 300 } }, true },
  ["a cut"] = { { content = LONG, fault = { truncate_after = 300 } }, true },
  ["an early end"] = { { content = LONG, fault = { end_after = 300 } }, true },
  ["another content type"] = { { content = LONG, fault = { content_type = "text/html" } }, false },
  ["an echo of the credential"] = { { content = LONG, fault = { echo_authorization = true } }, true },
  ["a stream error"] = { { content = LONG, stream_error = { type = "server_error", message = "no", after = 1 } },
    true },
}

describe("a call", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  -- One call in a task of its own: what came of it, and the seconds that it took.
  local function call(wire, place, streaming)
    local adapter = wire.new { model = wire.model, api = wire.api, key = "test-key", retry = { max = 3 },
      timeout = TOTAL, base_url = server.url .. place .. wire.base }
    local began = core.monotonic()
    local response, err = adapter:chat("Hi", { stream = streaming, max_tokens = 100 })
    return { response = response, err = err, took = core.monotonic() - began }
  end

  for wire_name, wire in pairs(WIRES) do
    it("ends within its total on the wire of " .. wire_name, function()
      local script, tasks, names = {}, {}, {}
      for name, case in pairs(ANSWERS) do
        for _, streaming in ipairs { false, true } do
          local place = "/" .. wire_name .. "-" .. #tasks
          for _ = 1, 4 do -- every attempt fails the same way
            local answer = { path = place .. wire.path }
            for key, value in pairs(case[1]) do answer[key] = value end
            script[#script + 1] = answer
          end
          names[#names + 1] = ("%s, %s"):format(name, streaming and "streamed" or "plain")
          tasks[#tasks + 1] = function() return call(wire, place, streaming) end
        end
      end
      assert(server:script(script))
      local outcomes = koine.run(function() return table.pack(koine.gather(table.unpack(tasks))) end)
      for i, outcome in ipairs(outcomes) do
        local name = names[i]
        assert(outcome.took < WATCHDOG, ("%s: took %.1f s"):format(name, outcome.took))
        if ANSWERS[name:match "^(.*), %l+$"][2] then
          assert(outcome.err, name .. ": an error expected")
          assert.is_true(outcome.err:is "Error", name)
        end
      end
    end)
  end

  it("fails for white space without end, plain or streamed, also where a little inflates to much", function()
    local LUA = os.getenv "KOINE_LUA" or "lua5.4"
    local bomb <close> = assert(io.popen(LUA .. " spec/lua/whole/bomb.lua 2"))
    local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "test-key", retry = false, timeout = 60,
      base_url = "http://127.0.0.1:" .. bomb:read "l" }
    for _, streaming in ipairs { false, true } do
      local turns, done, err = 0, false, nil
      koine.run(function()
        local asking = koine.spawn(function()
          err = select(2, claude:chat("Hi", { stream = streaming, max_tokens = 100 }))
          done = true
        end)
        while not done do -- others go on meanwhile
          turns = turns + 1
          koine.sleep(0)
        end
        asking:wait()
      end)
      assert(err, "an answer came")
      assert.are.equal("limit", err.kind)
      assert(turns >= 64 / 8, ("%d turns of another task while 64 MB were read"):format(turns))
    end
  end)
end)
