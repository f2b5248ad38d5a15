--- nghttpx as a front before a loopback provider: TLS, HTTP/2 and HTTP/1.1 on one port. The provider sees the header
-- forwarded: for=NAME, where NAME is another one for each of the front's connections.

local certificate = require "spec.interop.support.certificate"
local program = require "spec.interop.support.program"

local nghttpx = {}

local methods = {}
local Front = { __index = methods, __name = "nghttpx" }

local COMMAND = "nghttpx --conf=/dev/null --no-ocsp --workers=1 --frontend=127.0.0.1,%d --backend=127.0.0.1,%d "
  .. "--add-forwarded=for --accesslog-file=access --accesslog-format='$remote_port $alpn $status' --errorlog-file=log "
  .. "--log-level=WARN %s server.key server.pem"

-- Starts it on self.port.
local function start(self, options)
  return program.start(self.folder, COMMAND:format(self.port, self.provider, options),
    function() return program.listens(self.port) end)
end

--- Starts nghttpx before 127.0.0.1:`provider`, with further options (a line). Fields: url, port, ca_file, folder,
-- program.
function nghttpx.start(provider, options)
  local folder = program.folder()
  local self = setmetatable({ folder = folder, provider = provider, ca_file = certificate.make(folder) }, Front)
  for _ = 1, 5 do -- another program may take the port meanwhile
    self.port = program.free_port()
    local ok, started = pcall(start, self, options or "")
    self.program, self.failure = ok and started or nil, not ok and started or nil
    if ok then break end
  end
  if not self.program then error(self.failure, 2) end
  self.url = ("https://127.0.0.1:%d"):format(self.port)
  return self
end

--- Starts it anew on the same port.
function methods:restart(options)
  self.program:stop()
  self.program = start(self, options or "")
end

--- Ends it and takes its folder away.
function methods:stop()
  if self.program then self.program:stop() end
  os.execute("rm -rf " .. program.quote(self.folder))
end

Front.__close = methods.stop

return nghttpx
