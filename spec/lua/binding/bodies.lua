--- Bodies of answers as the core holds them: a server in a process of its own sends back whatever it is sent.

local core = require "koine.core"
local http = require "koine.net.http"
local quote = require("spec.lua.system.repository").quote

local SERVER = [[
  local http, uv = require "koine.net.http_server", require "luv"
  print((http.listen(function(conn, request)
    conn:send(http.head(200, { { "content-length", #request.body } }) .. request.body)
    return true
  end, 0)))
  io.stdout:flush()
  uv.run()]]

local bodies = {}

--- Starts the server: an object with these functions.
function bodies.start()
  local pipe = assert(io.popen(("echo $$; LUA_PATH=%s LUA_CPATH=%s exec %s -e %s 2>&1"):format(quote(package.path),
    quote(package.cpath), os.getenv "KOINE_LUA" or "lua5.4", quote(SERVER))))
  local pid, port = pipe:read("n", "n")
  local server = { url = ("http://127.0.0.1:%d/"):format(port or error(pipe:read "a")) }

  --- A request that is over: its answer's body is this text. `more`: further fields of the call; nil: hold_body.
  function server.request(text, more)
    local call = { method = "POST", url = server.url, body = text }
    for name, value in pairs(more or { hold_body = true }) do call[name] = value end
    local request = assert(core.request(core.engine(), call))
    while request:poll() == false do core.engine():step(60) end
    return request
  end

  --- A body with this text.
  function server.body(text)
    return assert(http.send { method = "POST", url = server.url, body = text, hold_body = true }).body
  end

  function server.stop()
    os.execute("kill " .. pid)
    pipe:close()
  end

  return server
end

return bodies
