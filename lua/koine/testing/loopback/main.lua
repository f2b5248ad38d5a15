--- The process of the loopback provider: listens (at KOINE_LOOPBACK_PORT, or at a free port), prints "PORT PID" on one
-- line, serves until its standard input ends. When it cannot start, it prints the reason on that line instead, after
-- "error: ".

-- In this process koine.testing starts no other one: else a script that starts one, and that has the name of a module
-- which is needed here, would begin a chain of processes without end.
package.loaded["koine.testing.loopback.main"] = true

local function serve()
  local found, uv = pcall(require, "luv")
  if not found then
    if not tostring(uv):find("module 'luv' not found", 1, true) then
      error(uv, 0)
    end
    error("the module 'luv' is missing (Debian: lua-luv; LuaRocks: luv): the loopback provider needs it", 0)
  end
  local http_server = require "koine.net.http_server"
  local service = require "koine.testing.loopback.service"
  local port = http_server.listen(service.new(), tonumber(os.getenv "KOINE_LOOPBACK_PORT") or 0)
  local kind = uv.guess_handle(0)
  if kind == "pipe" or kind == "tty" then
    local input = kind == "tty" and uv.new_tty(0, true) or uv.new_pipe(false)
    if kind == "pipe" then
      assert(input:open(0))
    end
    input:read_start(function(_, chunk)
      if not chunk then
        os.exit(0)
      end
    end)
  end
  -- Without this, a caller that closes in the middle of an answer would end the process; the write reports it.
  local left = uv.new_signal()
  left:start("sigpipe", function() end)
  left:unref()
  -- Ctrl-C goes to the whole process group: the program that owns the pipe decides, else this one ends.
  local interrupted = uv.new_signal()
  interrupted:start("sigint", function()
    if kind ~= "pipe" then os.exit(130) end
  end)
  interrupted:unref()
  io.stdout:write(("%d %d\n"):format(port, uv.os_getpid())) -- luv may give it as a float
  io.stdout:flush()
  uv.run()
end

local ok, err = pcall(serve)
if not ok then
  io.stdout:write("error: ", (tostring(err):gsub("%s*\n%s*", " ")), "\n")
  os.exit(1)
end
