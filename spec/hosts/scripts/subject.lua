-- subject.lua: for NeoMutt's lua-source: asks once, streams once, and writes both to the file KOINE_OUT. NeoMutt has
-- one Lua state, and waits while a script runs.
local koine = require "koine"

local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = os.getenv "KOINE_URL",
  retry = false }

local function ask(question)
  local response, err = koine.timeout(3, claude.chat, claude, question)
  return response and response:text() or err.kind
end

local pieces = {}
local asked = ask "Hello"
if asked ~= "timeout" then
  for delta in claude:stream "again" do pieces[#pieces + 1] = delta.text end
end
local file <close> = assert(io.open(os.getenv "KOINE_OUT", "a"))
file:write(asked, " | ", table.concat(pieces, "/"), "\n")
