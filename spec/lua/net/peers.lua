--- The other end of connections: a listener in this process, which the system serves while Lua does something else.

local socket = require "socket"

local peers = {}

--- A listener on the loopback interface: accept() → a luasocket, is_waiting() (whether one can be accepted now), port,
-- close().
function peers.listen()
  local listener = assert(socket.bind("127.0.0.1", 0))
  listener:settimeout(10)
  local _, port = listener:getsockname()
  return {
    port = math.tointeger(tonumber(port)),
    accept = function() return assert(listener:accept()) end,
    is_waiting = function() return #socket.select({ listener }, nil, 0) > 0 end,
    close = function() listener:close() end,
  }
end

--- Functions by name, each of which runs its arguments at once and raises what one of them raised: tasks of koine.run,
-- and coroutines of each host.
function peers.loops()
  local cqueues, koine, uv = require "cqueues", require "koine", require "luv"
  local function hosted(name, run)
    return function(...)
      local host, failed, functions = koine.hosts[name], nil, { ... }
      host.install()
      for i, f in ipairs(functions) do
        functions[i] = function()
          local ok, err = xpcall(f, function(err) return type(err) == "string" and debug.traceback(err) or err end)
          if not ok then failed = failed or { err } end
        end
      end
      run(functions)
      host.uninstall()
      if failed then error(failed[1], 0) end
    end
  end
  return {
    run = function(...)
      local functions = { ... }
      koine.run(function() koine.gather(table.unpack(functions)) end)
    end,
    cqueues = hosted("cqueues", function(functions)
      local controller = cqueues.new()
      for _, f in ipairs(functions) do controller:wrap(f) end
      assert(controller:loop())
    end),
    luv = hosted("luv", function(functions)
      for _, f in ipairs(functions) do coroutine.wrap(f)() end
      uv.run()
    end),
    poll = hosted("poll", function(functions)
      for _, f in ipairs(functions) do koine.hosts.poll.spawn(f) end
      koine.hosts.poll.run()
    end),
  }
end

return peers
