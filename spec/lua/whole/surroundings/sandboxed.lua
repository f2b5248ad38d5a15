-- sandboxed.lua URL NAME…: what a script does with Koine in a host that left these names of Lua's out: "os",
-- "debug.getinfo". Prints "done" at the end.

local write, exit = io.write, os.exit
local url = arg[1]
for i = 2, #arg do
  local library, field = arg[i]:match "^(%w+)%.(%w+)$"
  if library then _G[library][field] = nil
  else _G[arg[i]], package.loaded[arg[i]] = nil, nil end
end

local function work()
  local koine = require "koine"
  local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = url, retry = false }
  local function says(text, value, err) assert(value == text, ("%s, %s"):format(tostring(value), tostring(err))) end

  says("You said: one", assert(claude:chat "one"):text())
  local text = ""
  for delta in claude:stream "two" do text = text .. (delta.text or "") end
  says("You said: two", text)
  local a, b = koine.gather(function() return assert(claude:chat "a"):text() end,
    function() return assert(claude:chat "b"):text() end)
  says("You said: aYou said: b", a .. b)

  local tool = koine.tool { name = "fails", description = "Fails.", parameters = { type = "object" },
    run = function() error "no luck" end }
  local playbook = (io and os) and koine.testing.playbook
  if playbook then
    local agent = koine.agent { adapter = playbook { steps = {
      { step = 1, type = "tool_calls", tool_calls = { { id = "c1", name = "fails", arguments = {} } } },
      { step = 2, type = "message", content = "Well." } } },
      tools = { tool } }
    local result, err = agent:run "Go."
    says("Well.", result and result.text, err)
  end

  -- errors: of wrong use, of a task, of an adapter without a key
  local ok, err = pcall(koine.anthropic, { model = 1 })
  assert(not ok and err.class == "ArgumentError" and tostring(err):find "model", tostring(err))
  ok, err = pcall(koine.run, function() error "in a task" end)
  assert(not ok and tostring(err):find "in a task", tostring(err))
  ok, err = pcall(koine.run, function() koine.anthropic { model = 1 } end)
  assert(not ok and err.class == "ArgumentError" and err.traceback, tostring(err))
  local keyless = koine.anthropic { model = "claude-sonnet-4-5", base_url = url, retry = false }
  local answer
  answer, err = keyless:chat "one"
  assert(answer == nil and err.class == "AuthenticationError", tostring(err))
  says(nil, (koine.timeout(0.01, koine.sleep, 10)))

  if not os then -- no variable of the environment is known
    local observer = assert(koine.observe.from_env())
    observer:close()
    if io then
      local servers = assert(koine.mcp.load "spec/lua/whole/surroundings/servers.json")
      local failed = servers.failed.one
      assert(failed and failed.message:find("the variable KOINE_SPEC_ABSENT is not set", 1, true), tostring(failed))
    end
  end
end

local ok, err = pcall(work)
write(ok and "done" or "failed: " .. tostring(err), "\n")
exit(ok)
