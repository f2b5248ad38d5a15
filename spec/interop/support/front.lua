--- A server program as a front before a loopback provider, with TLS by a certificate of its own: what nginx.lua and
-- nghttpx.lua have in common.

local certificate = require "spec.interop.support.certificate"
local program = require "spec.interop.support.program"

local front = {}

local methods = {}
local Front = { __index = methods, __name = "front" }

--- Starts a front on a free port. `fields` are {provider = port on 127.0.0.1, launch = function(self, options) that
-- starts the program for self.port in self.folder and returns it, or raises, …}; `options` (text) go to it. Fields of
-- the result beside these: url, port, ca_file, folder, program. Raises when it cannot be started.
function front.start(fields, options)
  local self = setmetatable(fields, Front)
  self.folder = program.folder()
  self.ca_file = certificate.make(self.folder)
  local ok, started
  for _ = 1, 5 do -- another program may take the port meanwhile
    self.port = program.free_port()
    ok, started = pcall(self.launch, self, options or "")
    if ok then break end
  end
  if not ok then error(started, 2) end
  self.program, self.url = started, ("https://127.0.0.1:%d"):format(self.port)
  return self
end

--- Ends it and starts it anew on the same port, with other options.
function methods:restart(options)
  self.program:stop()
  self.program = self:launch(options or "")
end

--- Ends it and takes its folder away.
function methods:stop()
  if self.program then self.program:stop() end
  os.execute("rm -rf " .. program.quote(self.folder))
end

Front.__close = methods.stop

return front
