--- The loopback provider for other programs, until Ctrl-C.

local input = require "koine.cli.input"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

local serve_loopback = {}

--- The command `serve-loopback`: prints the address and does not come back.
function serve_loopback.command(args)
  local server <close>, err = koine.testing.start { port = args.port,
    script = args.script and input.read_json(args.script) or "echo" }
  if not server then error(err, 0) end
  terminal.out(server.url .. "\n")
  while true do koine.sleep(3600) end
end

return serve_loopback
