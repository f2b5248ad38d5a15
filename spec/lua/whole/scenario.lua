-- The scenario: one script in five worlds. Usage: lua5.4 spec/lua/whole/scenario.lua WORLD URL with the worlds plain,
-- run, cqueues and luv, or the program of examples/embed in the place of lua5.4, and embed. It makes the calls that
-- scenario_spec.lua scripts at URL, and prints a transcript that is the same everywhere: nothing in it depends on time
-- or order.

local koine = require "koine"
local wait = require "koine.task.wait"

local world, url = ...

local lines = {}
local function say(...) lines[#lines + 1] = (...):format(select(2, ...)) end

-- The adapter for the answers at /PATH.
local function adapter(constructor, path, opts)
  local options = { model = "m", key = "k", retry = false, base_url = url .. path }
  for name, value in pairs(opts or {}) do options[name] = value end
  return koine[constructor](options)
end

-- Worlds: what runs the functions to their ends, at once where there is a scheduler ---------------------------------

local function in_turn(...)
  for _, f in ipairs { ... } do f() end
end

-- With a host's own coroutines: `spawn` starts one.
local function with(spawn)
  return function(...)
    local left, done = select("#", ...), {}
    for _, f in ipairs { ... } do
      spawn(function()
        f()
        left = left - 1
        if left == 0 then wait.wake(done) end
      end)
    end
    while left > 0 do wait.park(done) end
  end
end

local worlds = {
  plain = function(main) main(in_turn) end,
  run = function(main) koine.run(main, koine.gather) end,
  embed = function(main) main(with(require("embed").spawn)) end,
  cqueues = function(main)
    koine.hosts.cqueues.install()
    local controller = require("cqueues").new()
    controller:wrap(main, with(function(f) controller:wrap(f) end))
    assert(controller:loop())
  end,
  luv = function(main)
    koine.hosts.luv.install()
    coroutine.wrap(main)(with(function(f) coroutine.wrap(f)() end))
    require("luv").run()
  end,
}

-- The calls ---------------------------------------------------------------------------------------------------------

-- Three chats on three wires, told in order whoever is first.
local function chats(together)
  local told = {}
  local function chat(i, constructor, path)
    return function()
      local stream <close> = assert(adapter(constructor, path):open("Count to " .. i .. "."))
      local said = {}
      for delta in stream.next, stream do said[#said + 1] = delta.text end
      local r = assert(stream:response())
      told[i] = ("chat %d: %s [%s, %d in, %d out, %d pieces]"):format(i, table.concat(said), r.stop_reason,
        r.usage.input_tokens, r.usage.output_tokens, #said)
    end
  end
  together(chat(1, "anthropic", "/one"), chat(2, "compatible", "/two"), chat(3, "openai", "/three"))
  for _, line in ipairs(told) do say("%s", line) end
end

-- A model that calls a tool until it is content, within a timeout that is not needed.
local function tool_loop()
  local add = { name = "add", description = "Adds.", parameters = { type = "object",
    properties = { a = { type = "number" }, b = { type = "number" } }, required = { "a", "b" } } }
  local claude, history = adapter("anthropic", "/tools"), { { role = "user", content = "19 and 23?" } }
  koine.timeout(600, function()
    local r
    repeat
      r = assert(claude:chat(history, { tools = { add } }))
      history[#history + 1] = r:message()
      local results = {}
      for i, call in ipairs(r.tool_calls) do
        local sum = tostring(call.arguments.a + call.arguments.b)
        say("tool: %s(%s) = %s", call.name, call.arguments_json, sum)
        results[i] = { type = "tool_result", tool_use_id = call.id, content = sum }
      end
      history[#history + 1] = #results > 0 and { role = "user", content = results } or nil
    until r.stop_reason ~= "tool_use"
    say("tool: %s", r:text())
  end)
end

-- A provider that falls silent after the first delta; the reader's task is cancelled while it waits.
local function cancel_in_silence()
  koine.run(function()
    local heard, closed = 0, false
    local task = koine.spawn(function()
      local _ <close> = setmetatable({}, { __close = function() closed = true end })
      for delta in adapter("anthropic", "/silent"):stream "Hi" do heard = heard + #(delta.text or "") end
      say "silence: the reader went on"
    end)
    while heard == 0 do koine.sleep(0.001) end
    say("silence: heard %d bytes, cancelled %s, closed %s", heard, task:cancel(), closed)
    local result, err = task:wait()
    say("silence: %s, %s", result, err.class)
  end)
end

local function describe(what, response, err)
  assert(response == nil)
  say("%s: %s, %s, status %s: %s", what, err.class, err.kind, err.status_code, err)
end

-- A provider that never answers: the core's deadline, then one around the call.
local function timeouts()
  describe("deadline", adapter("anthropic", "/mute", { timeout = { first_byte = 0.05 } }):chat "Hi")
  local mute = adapter("anthropic", "/mute")
  describe("timeout", koine.timeout(0.05, function() return mute:chat "Hi" end))
end

-- A refusal, and one that a retry helps.
local function failures()
  describe("error", adapter("openai", "/full"):chat "Hi")
  local r = assert(adapter("compatible", "/busy", { retry = { max = 1 } }):chat "Hi")
  say("retried: %s after %s", r:text(), r.attempts[1].kind)
end

worlds[world](function(together)
  chats(together)
  tool_loop()
  cancel_in_silence()
  timeouts()
  failures()
  print(table.concat(lines, "\n"))
end)
