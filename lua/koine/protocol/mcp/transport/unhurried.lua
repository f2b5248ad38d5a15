--- The server's requests, which may ask a person: while one is handled, the calls of ours do not count as idle.

local defer = require "koine.task.defer"

--- The handlers of requests (a table by method, or nil) for the peer of a transport, which gets that field later.
return function(transport, requests)
  local handlers = {}
  for method, handler in next, requests or {} do
    handlers[method] = method == "ping" and handler or function(...)
      local calls = transport.peer.calls
      local done <close> = defer(function() calls:resume() end) -- luacheck: ignore done
      calls:rest()
      return handler(...)
    end
  end
  return handlers
end
