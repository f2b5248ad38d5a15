--- A server of a spec's within its own process: both live in libuv's loop, so neither waits for a time.

local http_server = require "koine.net.http_server"
local koine = require "koine"
local uv = require "luv"

local served = {}

-- The handles that the loop has, as a set.
local function handles()
  local set = {}
  uv.walk(function(handle) set[handle] = true end)
  return set
end

-- Closes the handles that came since: luv does not survive their end together with that of its state.
local function close_others(before)
  uv.walk(function(handle)
    if not before[handle] and not handle:is_closing() then handle:close() end
  end)
  uv.run()
end

--- Runs f(url) in a coroutine of the loop, with Koine's host for it, beside a server whose connections
-- handler(connection, request) serves as koine.net.http_server says. Raises what f raises. Handlers that still run are
-- left.
function served.run(handler, f)
  koine.hosts.luv.install()
  local before = handles()
  local port = http_server.listen(handler, 0)
  local ok, err
  coroutine.wrap(function()
    ok, err = xpcall(f, function(raised)
      return type(raised) == "string" and debug.traceback(raised, 2) or raised
    end, "http://127.0.0.1:" .. port)
    uv.stop()
  end)()
  if ok == nil then uv.run() end
  close_others(before)
  koine.hosts.luv.uninstall()
  if not ok then error(err, 0) end
end

--- The bytes of a chunk of a chunked body; with "" the last one.
function served.chunk(bytes) return ("%x\r\n%s\r\n"):format(#bytes, bytes) end

--- The head of an event stream, chunked; `headers` (nil: none) is an array of {name, value} that go with it.
function served.stream_head(headers)
  local all = { { "content-type", "text/event-stream" }, { "transfer-encoding", "chunked" } }
  for _, header in ipairs(headers or {}) do all[#all + 1] = header end
  return http_server.head(200, all)
end

--- A whole answer: status, body, content type (nil: JSON) and more headers.
function served.answer(status, body, content_type, headers)
  local all = { { "content-type", content_type or "application/json" }, { "content-length", #body } }
  for _, header in ipairs(headers or {}) do all[#all + 1] = header end
  return http_server.head(status, all) .. body
end

return served
