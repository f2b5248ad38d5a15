-- chat.lua: a script for the program embed: three concurrent questions, each in a coroutine of the program.
-- Usage: make examples && LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='build/?.so;;' \
--          build/examples/embed examples/embed/chat.lua [provider/model]
local koine = require "koine"
local embed = require "embed" -- the program's own module

local adapter = koine.adapter(... or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })

for _, question in ipairs { "Name a river.", "Name a mountain.", "Name a sea." } do
  embed.spawn(function(asked)
    print(asked, assert(adapter:chat(asked)):text()) -- waits here; the others run
  end, question)
end
