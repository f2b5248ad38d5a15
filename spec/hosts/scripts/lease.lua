-- lease.lua: for dnsmasq's --dhcp-luascript: asks about each lease, and appends what came of it to the file KOINE_OUT.
-- dnsmasq calls it in a process of its own, one event after the other.
-- luacheck: globals init shutdown lease
local koine = require "koine"

local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "k", base_url = os.getenv "KOINE_URL",
  retry = false }

local function note(what, question)
  local response, err = koine.timeout(3, claude.chat, claude, question)
  local file <close> = assert(io.open(os.getenv "KOINE_OUT", "a"))
  file:write(what, ": ", response and response:text() or err.kind, "\n")
end

function init() note("init", "init") end
function lease(op, data) note(op, data.hostname) end
function shutdown() note("shutdown", "bye") end
