-- One script in five worlds: plain Lua that blocks, koine.run, cqueues, luv, and a C program with an epoll loop of its
-- own. Each is a process of its own against a real provider, and each prints the same, which stands here by hand.

local embed = require "spec.lua.whole.embed"
local koine = require "koine"

local LUA = os.getenv "KOINE_LUA" or "lua5.4"
local SCRIPT = "spec/lua/whole/scenario.lua"
local SILENT_AFTER = 1800 -- bytes of the body: the first delta of 1000, and not the second

local function at(path, answer)
  answer.path = path
  return answer
end

local ADD = { type = "tool_use", id = "call_1", name = "add", arguments_json = '{"a": 19, "b": 23}' }

local ANSWERS = {
  at("/one/v1/messages", { content = "one", chunk = 1, usage = { input_tokens = 11, output_tokens = 1 } }),
  at("/two/chat/completions", { content = "one two", chunk = 4, usage = { input_tokens = 12, output_tokens = 2 } }),
  at("/three/responses", { content = "one two three", chunk = 5, usage = { input_tokens = 13, output_tokens = 3 } }),
  at("/tools/v1/messages", { content = { { type = "text", text = "Let me see." }, ADD } }),
  at("/tools/v1/messages", { content = "It is 42." }),
  at("/silent/v1/messages", { content = ("x"):rep(4000), chunk = 1000, fault = { stall_after = SILENT_AFTER } }),
  at("/mute/v1/messages", { content = "late", fault = { stall_after = 0 } }),
  at("/mute/v1/messages", { content = "late", fault = { stall_after = 0 } }),
  at("/full/responses", { error = { status = 429, message = "Slow down." } }),
  at("/busy/chat/completions", { error = { status = 503, headers = { ["retry-after-ms"] = "1" } } }),
  at("/busy/chat/completions", { content = "Here I am." }),
}

local TRANSCRIPT = [[
chat 1: one [end_turn, 11 in, 1 out, 3 pieces]
chat 2: one two [end_turn, 12 in, 2 out, 2 pieces]
chat 3: one two three [end_turn, 13 in, 3 out, 3 pieces]
tool: add({"a": 19, "b": 23}) = 42
tool: It is 42.
silence: heard 1000 bytes, cancelled true, closed true
silence: nil, CancelledError
deadline: ConnectionError, timeout, status nil: no answer within 0.050 s (first_byte)
timeout: ConnectionError, timeout, status nil: no result within 0.05 s
error: RateLimitError, rate_limit, status 429: Slow down.
retried: Here I am. after overloaded
]]

describe("the scenario", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)

  -- Waits until the server has noticed that the silent request's caller left, and returns the request.
  local function left()
    while true do
      for _, request in ipairs(assert(server:requests())) do
        if request.path == "/silent/v1/messages" and request.closed_after then return request end
      end
      koine.sleep(0.005)
    end
  end

  local function play(world, program)
    assert(server:reset())
    assert(server:script(ANSWERS))
    local pipe = assert(io.popen(("%s %s %s %s"):format(program, SCRIPT, world, server.url)))
    local text = pipe:read "a"
    assert.is_true(pipe:close(), text)
    assert.are.equal(TRANSCRIPT, text)
    assert.are.equal(SILENT_AFTER, left().closed_after)
    for _, request in ipairs(assert(server:requests())) do assert.are.same({}, request.problems) end
  end

  it("in plain Lua", function() play("plain", LUA) end)
  it("in koine.run", function() play("run", LUA) end)
  it("in cqueues", function() play("cqueues", LUA) end)
  it("in luv", function() play("luv", LUA) end)
  it("in a C program with a loop of its own", function() play("embed", embed() .. " 2>/dev/null") end)
end)
