-- chat_bridge.lua: two people and a bot in one thread of a chat, and an agent that answers them.
-- Messages that arrive while the agent is busy go into its next turn, each with its sender's name. Without a key
-- (ANTHROPIC_API_KEY) Koine's loopback provider answers.
local koine = require "koine"

local key, url = os.getenv "ANTHROPIC_API_KEY", os.getenv "KOINE_BASE_URL"
local server <close> = not key and assert(koine.testing.start { script = {
  { content = "Only if the build is green, Alice. Is it?", chunk = 8 },
  { content = "Then no, Bob: build 117 failed, as ci says. Let us wait for 118.", chunk = 8 },
} }) or nil
local claude = koine.anthropic { model = "claude-sonnet-4-5", key = key or "loopback",
  base_url = server and server.url or url }

-- The chat platform: here, the terminal.
local thread = { platform = "terminal", thread_id = "deploy", channel_id = "ops" }
local function show(name, text) print(("%-6s %s"):format(name .. ":", text)) end

local bridge, say
local answered = 0

bridge = koine.dispatcher {
  mode = "per-thread",
  target = koine.dispatcher.agents(function()
    return koine.agent { adapter = claude, system = "You take part in a group chat. Be brief." }
  end),
  on_queued = function(message)
    show("agent", "(reads " .. message.sender.display_name .. "'s message)")
    if message.sender.display_name == "alice" then -- the agent is busy now: these two share its next turn
      say("bob", "I would rather not. Why not?")
      say("ci", "build 117 failed", true)
    end
  end,
  on_done = function(_, _, result) show("agent", result.text) end,
  on_warning = function(text) show("agent", "(failed: " .. text .. ")") end,
  on_dispatch = function(record)
    print(("[a turn of %d, %s]"):format(record.events_per_dispatch, table.concat(record.senders, " and ")))
    answered = answered + record.events_per_dispatch
    if answered == 3 then bridge:shutdown() end
  end,
}

-- A platform's message handler.
function say(name, text, is_bot)
  show(name, text)
  assert(bridge:submit(thread, { prompt = text, sender = { sender_id = "U-" .. name, sender_name = name,
    display_name = name, channel = thread.platform, channel_id = thread.channel_id, is_bot = is_bot or false } }))
end

say("alice", "Shall we deploy today?")
bridge:run()
