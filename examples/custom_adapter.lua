-- custom_adapter.lua: an adapter written in Lua. It implements only open; koine.custom_adapter adds chat and stream.
-- It answers from a table of replies and needs no network.
local koine = require "koine"

local replies = { hello = "Hello to you.", bye = "Good bye." }

local parrot = koine.custom_adapter {
  name = "parrot",
  options = { model = "parrot-1" },
  open = function(_, messages)
    local last = messages[#messages].content
    local text = replies[last] or ("You said: %s"):format(last)
    local deltas = { { type = "text_start" }, { type = "text_delta", text = text }, { type = "text_end" } }
    local i = 0
    return {
      next = function() i = i + 1; return deltas[i] end,
      response = function()
        return koine.response { content = text, model = "parrot-1", stop_reason = "end_turn", usage = {} }
      end,
      close = function() i = #deltas end,
    }
  end,
}

for _, line in ipairs { "hello", "What is Koine?", "bye" } do
  print("> " .. line)
  print(assert(parrot:chat(line)):text())
end
