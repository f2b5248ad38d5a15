-- A script with an agent of ACP, which is a program. It knows nothing of the loop that it runs in, and prints what
-- happens. Its arguments are those of mcp.lua; it uses the interpreter and the folder.

local _, interpreter, folder = ...
local koine = require "koine"

local AGENT = ("FOLDER = %q\n"):format(folder) .. [[
  alive = io.open(FOLDER .. "/alive", "w") -- who reads it knows when this program has ended
  local OPTIONS = array { { optionId = "a", name = "Allow", kind = "allow_once" },
    { optionId = "r", name = "Reject", kind = "reject_once" } }
  local plays = {}
  function plays.write(id)
    update(id, { sessionUpdate = "tool_call", toolCallId = "t1", title = "Write", kind = "edit",
      rawInput = { path = "a.txt" } })
    local reply = ask("session/request_permission", { sessionId = id, toolCall = { toolCallId = "t1" },
      options = OPTIONS })
    local may = reply.outcome.optionId == "a"
    update(id, { sessionUpdate = "tool_call_update", toolCallId = "t1", status = may and "completed" or "failed" })
    text(id, may and "Written." or "I may not.")
    return "end_turn"
  end
  function plays.wait(id)
    text(id, "I wait.")
    until_cancelled(id)
    text(id, " I am told to stop.")
    return "cancelled"
  end
  function plays.die(id)
    text(id, "I go.")
    io.stderr:write "I am gone\n"
    os.exit(7)
  end
  prompt(function(words, id)
    if plays[words] then return plays[words](id) end
    text(id, "You said: " .. words)
    return "end_turn"
  end)
]]

local environment = {}
for _, variable in ipairs { "LUA_PATH", "LUA_CPATH", "LD_PRELOAD", "ASAN_OPTIONS" } do
  environment[variable] = os.getenv(variable)
end

local path = folder .. "/agent.lua"
do
  local file <close> = assert(io.open(path, "w"))
  file:write(AGENT)
end

-- Asks somebody who takes a while.
local function permission(request)
  koine.sleep(0.002)
  print("may it?", request.title, request.input.path)
  return request.options[1].id
end

local connection = assert(koine.acp.connect { command = interpreter, permission = permission, grace = 0.1,
  args = { "spec/lua/protocol/acp/fake_agent.lua", path, folder .. "/heard" }, env = environment })
print(connection.agent.name, connection.agent.version)
local session = assert(connection:new())

local function show(event)
  print("event", event.kind, event.kind == "tool_call" and event.tool_name .. " " .. event.tool_input or event.content)
end

local function play(words)
  local result, err = session:prompt(words, { on_event = show })
  if err then
    print(words, err.class, err.kind, err.partial and err.partial.text)
  else
    print(words, result.status, result.stop_reason, result.text, result.reset)
  end
  return err
end

play "write"

-- A turn that is cancelled while the agent says nothing, then one that waits for its end.
koine.run(function()
  local begun = {}
  local turn = koine.spawn(function()
    local result, err = session:prompt("wait", { on_delta = function()
      begun.yes = true
      koine.wake(begun)
    end })
    print("wait", result, err.class, err.kind, err.partial.text)
  end)
  local behind = koine.spawn(play, "and then?")
  while not begun.yes do assert(koine.park(begun, 60)) end
  print("cancel", session:cancel())
  turn:wait()
  behind:wait()
end)
play "next"

-- An agent that ends in the middle of a turn; the next prompt starts another one.
print(play "die".message)
play "are you there?"
session:close()
print(session.state)
connection:close()
play "gone"
