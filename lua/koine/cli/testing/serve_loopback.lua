--- The loopback provider for other programs, until Ctrl-C.

local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

local serve_loopback = {}

--- The command `serve-loopback`: prints the address and does not come back.
function serve_loopback.command(args)
  local server <close>, err = koine.testing.start { port = args.port,
    script = args.script and input.read_json(args.script) or "echo" }
  if not server and args.port and err.message:find("EADDRINUSE", 1, true) then
    failure.fail(failure.FAILED, "--port: free port expected, %d is in use (without --port koine finds one)", args.port)
  end
  if not server then error(err, 0) end
  terminal.out(server.url .. "\n")
  while true do koine.sleep(3600) end
end

return serve_loopback
