-- chat_bridge_acp.lua: people and a coding agent in a chat whose threads are the agent's sessions. A line of the
-- terminal is a message: the thread, who speaks, and the words ("!new": forget the thread's session).
--   lua examples/chat_bridge_acp.lua claude-agent-acp
--   deploy alice What does this repository do?
local koine = require "koine"

local command = assert(arg[1], "usage: chat_bridge_acp.lua PROGRAM ARGUMENT…")
local function show(thread, name, text) print(("#%s %s: %s"):format(thread, name, text)) end

-- The agent may look; for all else it needs a person's yes.
local LOOKS = { read = true, search = true, fetch = true, think = true }

local function permission(request)
  local yes = LOOKS[request.kind]
  if not yes then
    show(request.key:match "[^:]*$", "agent", ("(may I: %s? y/n)"):format(request.title))
    yes = io.read "l" == "y"
  end
  for _, option in ipairs(request.options) do
    if yes and option.kind == "allow_once" then return option.id end
  end
  return nil, "a person said no"
end

-- A process for each thread, four at most. The ids of sessions are in a file: tomorrow's bot goes on with them.
local target <close> = koine.dispatcher.acp { command = command, args = { table.unpack(arg, 2) }, cwd = ".",
  permission = permission, max_sessions = 4, file = os.getenv "KOINE_SESSIONS" }

local bridge = koine.dispatcher {
  mode = "per-thread",
  target = target,
  on_done = function(_, thread, result)
    if result.session_reset then show(thread.thread_id, "agent", "(I have lost what we said before)") end
    show(thread.thread_id, "agent", result.text)
  end,
  on_warning = function(text, thread) show(thread.thread_id, "agent", "(failed: " .. text .. ")") end,
}

for line in io.lines() do
  local id, name, text = line:match "^(%S+)%s+(%S+)%s+(.+)$"
  local thread = { platform = "terminal", thread_id = id }
  if text == "!new" then
    bridge:reset(thread)
  elseif text then
    assert(bridge:submit(thread, { prompt = text, sender = { sender_id = "U-" .. name, sender_name = name,
      display_name = name, channel = "terminal", channel_id = id, is_bot = false } }))
    while bridge:step() do end -- luacheck: ignore 542
  end
end
bridge:shutdown()
