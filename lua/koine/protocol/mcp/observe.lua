--- What observers are told of the requests that a client makes: a span for each, and what its records say. A watch is
-- {span, …} of one request; its span begins when the request gets its id, and ends by `over`, or when the watch is
-- closed. Nothing here fails.

local core = require "koine.core"
local observer = require "koine.data.observer"

local observe = {}

local methods = {}
local metatable = { __index = methods }

function metatable.__close(self, raised)
  if self.span then self.span:break_off(raised) end
end

--- The watch of a request. `opts` are those of send.request, with `parent`: a context, nil for none.
function observe.request(connection, method, opts)
  return setmetatable({ connection = connection, method = method, opts = opts, span = nil, progress = 0 }, metatable)
end

--- The request has its id (nil: it could not be made). Returns the traceparent that goes out with it: of a call that
-- is all that a tool does, the tool's, as traces have one span for both.
function methods:begin(id)
  local connection, parent = self.connection, self.opts.parent
  local options, transport = connection.options, connection.transport
  self.span = observer.start(options.observer, parent, "mcp", { server = connection.name, method = self.method,
    target = self.opts.name, transport = transport and transport.kind or options.url and "http" or "stdio",
    version = connection.known.version, request_id = id and tostring(id) })
  local is_tool = self.method == "tools/call" and parent and parent.type == "tool"
  return tostring(self.span and not is_tool and self.span:context() or parent)
end

--- The request is over: with its result (table), or with nil and its error.
function methods:over(result, err)
  if not self.span and result == nil then self:begin(nil) end
  if not self.span then return end
  if result == nil then return self.span:finish({ error_code = err.code, progress = self.progress }, err) end
  local is_error
  if self.method == "tools/call" then is_error = result.isError == true end
  self.span:finish { progress = self.progress, bytes = #core.encode(result), is_error = is_error }
end

return observe
