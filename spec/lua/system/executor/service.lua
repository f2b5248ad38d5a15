-- Services of executors for specs: real programs that serve over HTTP, each a process of its own.
--
--   local service <close> = services.start [[{ executor = assert(koine.executor { workdir = "…" }), token = "t" }]]
--   service.url, service.pid

local quote = require("spec.lua.system.repository").quote

local LUA = os.getenv "KOINE_LUA" or "lua5.4"

local services = {}

local methods = {}
local metatable = { __index = methods }

--- Ends the service, by a signal's name ("TERM" by default), and waits for it: what os.execute says of its end.
function methods:stop(signal)
  if not self.pipe then return nil end
  os.execute(("kill -%s %d"):format(signal or "TERM", self.pid))
  local pipe = self.pipe
  self.pipe = nil
  pipe:read "a"
  return pipe:close()
end

metatable.__close = function(self) self:stop() end

--- Starts a service with these options of koine.executor.serve, as Lua source; `environment` is {NAME = value} beside
-- what Lua needs. Raises with what the program says when it does not listen.
function services.start(options, environment)
  local words = { "exec env -i PATH=" .. quote(os.getenv "PATH"), "LUA_PATH=" .. quote(package.path),
    "LUA_CPATH=" .. quote(package.cpath) }
  for _, name in ipairs { "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS" } do
    if os.getenv(name) then words[#words + 1] = name .. "=" .. quote(os.getenv(name)) end
  end
  for name, value in pairs(environment or {}) do words[#words + 1] = name .. "=" .. quote(value) end
  words[#words + 1] = quote(LUA)
  words[#words + 1] = "-e " .. quote(([[
    local koine = require "koine"
    local options = %s
    options.port = 0
    assert(koine.executor.serve(options))]]):format(options))
  local pipe = assert(io.popen("echo $$; " .. table.concat(words, " ") .. " 2>&1"))
  local made = setmetatable({ pipe = pipe, pid = assert(pipe:read "n") }, metatable)
  pipe:read "l"
  local line = pipe:read "l"
  local address, port = (line or "nothing"):match "^listening at ([%d.]+):(%d+)$"
  if not port then error(line .. "\n" .. pipe:read "a") end
  made.port = math.tointeger(tonumber(port))
  made.url = ("http://%s:%d"):format(address, port)
  return made
end

return services
