--- nghttpx as a front before a loopback provider: TLS, HTTP/2 and HTTP/1.1 on one port. The provider sees the header
-- forwarded: for=NAME, where NAME is another one for each of the front's connections.

local front = require "spec.interop.support.front"
local program = require "spec.interop.support.program"

local nghttpx = {}

local COMMAND = "nghttpx --conf=/dev/null --no-ocsp --workers=1 --frontend=127.0.0.1,%d --backend=127.0.0.1,%d "
  .. "--add-forwarded=for --accesslog-file=access --accesslog-format='$remote_port $alpn $status' --errorlog-file=log "
  .. "--log-level=WARN %s server.key server.pem"

local function launch(self, options)
  return program.start(self.folder, COMMAND:format(self.port, self.provider, options),
    function() return program.listens(self.port) end)
end

--- Starts nghttpx before 127.0.0.1:`provider`, with further options (a line); what front.start returns.
function nghttpx.start(provider, options) return front.start({ provider = provider, launch = launch }, options) end

return nghttpx
