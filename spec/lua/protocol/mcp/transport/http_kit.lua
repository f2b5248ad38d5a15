--- Helpers of the specs of the HTTP transport: a server within the spec's process that answers each request as the spec
-- says, and logs what it was asked.

local core = require "koine.core"
local served = require "spec.lua.net.served"
local transport = require "koine.protocol.mcp.transport.http"

local kit = {}

--- Seconds that nothing here takes.
kit.SAFETY = 30

--- The version of each era.
kit.MODERN, kit.LEGACY = "2026-07-28", "2025-11-25"

--- Runs f(transport, log) beside a server: answer(request, conn) returns the bytes of an answer, or nil where it sent
-- all itself. A request has `message`, its decoded body, too. `options` and `handlers` go over those of the transport;
-- an `era` among the options is set. The transport is closed behind f.
function kit.run(answer, f, options, handlers)
  local log = {}
  served.run(function(conn, request)
    request.message = request.body ~= "" and core.decode(request.body) or nil
    log[#log + 1] = request
    local bytes = answer(request, conn)
    if bytes then return conn:send(bytes) end
  end, function(url)
    local all = { url = url .. "/mcp" }
    for name, value in pairs(options or {}) do all[name] = value end
    local era, version = all.era, all.version
    all.era, all.version = nil, nil
    local opened <close> = transport.open(all, handlers or {})
    if era then opened:set_version(era, version or era == "modern" and kit.MODERN or kit.LEGACY) end
    f(opened, log)
  end)
  return log
end

--- The answer that says a result, as JSON.
function kit.json(request, result, headers)
  return served.answer(200, core.encode { jsonrpc = "2.0", id = request.message.id, result = result }, nil, headers)
end

--- The answer that is an error of JSON-RPC, with that status; `id` may be nil.
function kit.failure(status, code, message, id, headers)
  return served.answer(status, core.encode { jsonrpc = "2.0", id = id or core.null,
    error = { code = code, message = message } }, nil, headers)
end

--- The answer to a notification.
kit.accepted = served.answer(202, "")

--- A record of an event stream: its data as a table, and more fields of the record, lines of text.
function kit.record(value, fields)
  return ("%sdata: %s\n\n"):format(fields or "", type(value) == "table" and core.encode(value) or value or "")
end

--- The record that answers a request.
function kit.result(request, result, fields)
  return kit.record({ jsonrpc = "2.0", id = request.message.id, result = result }, fields)
end

--- A whole event stream of these records.
function kit.stream(...)
  return served.stream_head() .. served.chunk(table.concat { ... }) .. served.chunk ""
end

--- Its beginning, behind which more may come.
function kit.begin_stream(...) return served.stream_head() .. served.chunk(table.concat { ... }) end

kit.chunk, kit.answer = served.chunk, served.answer

--- A server of the legacy era with a session: it answers initialize, the notification behind it and the end, and has no
-- standing stream; `answer` hears the rest.
function kit.legacy(answer)
  return function(request, conn)
    local method = request.message and request.message.method
    if method == "initialize" then
      return kit.json(request, { protocolVersion = kit.LEGACY }, { { "mcp-session-id", "s-1" } })
    elseif method == "notifications/initialized" then
      return kit.accepted
    elseif request.method == "DELETE" or request.method == "GET" and not request.headers["last-event-id"] then
      return kit.answer(405, "")
    end
    return answer(request, conn)
  end
end

--- Begins a session with such a server.
function kit.begin(opened)
  opened:set_version("legacy", nil)
  assert(opened:request("initialize", { protocolVersion = kit.LEGACY }, {}))
  opened:set_version("legacy", kit.LEGACY)
  assert(opened:notify "notifications/initialized")
end

return kit
