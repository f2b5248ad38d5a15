--- The process that serves the scripts beside this file: the loopback provider, and an MCP server of the modern era
-- over Streamable HTTP. arg[1] is the folder that the scripts share with their servers; the arguments behind it are
-- names of runs, each of which finds the provider's answers at a path of its own. Prints both ports on one line, and
-- serves until it is killed.

local core = require "koine.core"
local http = require "koine.net.http"
local http_server = require "koine.net.http_server"
local koine = require "koine"
local loopback = require "koine.testing.loopback.service"
local uv = require "luv"

local folder = arg[1]
local answer, tools = {}, {}
local left = 0 -- calls of `hang` whose callers are gone

local function json(status, value)
  local body = core.encode(value)
  return http_server.head(status, { { "content-type", "application/json" }, { "content-length", #body } }) .. body
end

local function result(message, value)
  value.resultType = value.resultType or "complete"
  return { jsonrpc = "2.0", id = message.id, result = value }
end

local function text(words) return { content = core.array { { type = "text", text = words } } } end

local function chunk(value)
  local record = "data: " .. core.encode(value) .. "\n\n"
  return ("%x\r\n%s\r\n"):format(#record, record)
end

-- Begins an event stream with the progress of a call.
local function begin(conn, message)
  conn:send(http_server.head(200, { { "content-type", "text/event-stream" }, { "transfer-encoding", "chunked" } })
    .. chunk { jsonrpc = "2.0", method = "notifications/progress", params = { progress = 1, total = 2,
      progressToken = message.params._meta.progressToken } })
end

-- Waits until the other server was called as well.
function tools.meet(conn, message)
  local run = message.params.arguments.run
  begin(conn, message)
  io.open(folder .. "/far-" .. run, "w"):close()
  while not uv.fs_access(folder .. "/near-" .. run, "R") do
    if not conn:pause(1) then return nil end
  end
  conn:send(chunk(result(message, text "far was there")) .. "0\r\n\r\n")
  return true
end

function tools.ask(conn, message)
  local replies = message.params.inputResponses
  if replies then
    conn:send(json(200, result(message, text("far heard " .. replies.who.content.name))))
  else
    conn:send(json(200, result(message, { resultType = "input_required", requestState = "asked", inputRequests = {
      who = { method = "elicitation/create", params = { mode = "form", message = "Who is at far?", requestedSchema = {
        type = "object", properties = { name = { type = "string" } } } } } } })))
  end
  return true
end

function tools.hang(conn, message)
  begin(conn, message)
  conn:hang()
  left = left + 1
end

-- Answers once so many callers of `hang` have left.
function tools.left(conn, message)
  while left < message.params.arguments.calls do
    if not conn:pause(1) then return nil end
  end
  conn:send(json(200, result(message, text "far was left")))
  left = 0
  return true
end

-- Ends the connection in the middle of the answer.
function tools.die(conn, message) begin(conn, message) end

answer["server/discover"] = function(message)
  return result(message, { supportedVersions = core.array { "2026-07-28" },
    capabilities = { tools = core.decode "{}" } })
end

answer["tools/list"] = function(message)
  local list = core.array {}
  for _, name in ipairs { "meet", "ask", "hang", "left", "die" } do
    list[#list + 1] = { name = name, inputSchema = { type = "object" } }
  end
  return result(message, { tools = list })
end

local function far(conn, request)
  local message = request.body ~= "" and core.decode(request.body) or {}
  if message.method == "tools/call" then return tools[message.params.name](conn, message) end
  if not answer[message.method] then return conn:send(http_server.head(405, { { "content-length", 0 } })) end
  conn:send(json(200, answer[message.method](message)))
  return true
end

-- The provider's answers to one run of the script.
local function answers(name)
  local path = "/" .. name .. "/v1/messages"
  local function both(tool, arguments)
    return { { type = "tool_use", name = "near_" .. tool, arguments = arguments },
      { type = "tool_use", name = "far_" .. tool, arguments = arguments } }
  end
  local meet, hang = both("meet", { run = name }), both("hang", {})
  return { path = path, content = meet }, { path = path, content = "Both were there." }, { path = path, content = hang }
end

koine.hosts.luv.install()
local broken = uv.new_signal()
broken:start("sigpipe", function() end) -- callers leave in the middle of an answer
local provider, server = http_server.listen(loopback.new(), 0), http_server.listen(far, 0)

coroutine.wrap(function()
  local script = core.array {}
  for _, name in ipairs { table.unpack(arg, 2) } do
    for _, one in ipairs { answers(name) } do script[#script + 1] = one end
  end
  local reply = assert(http.send { method = "POST", url = ("http://127.0.0.1:%d/__koine/script"):format(provider),
    body = core.encode(script), headers = { ["content-type"] = "application/json" } })
  assert(reply.status == 200, reply.body)
  io.stdout:write(("%d %d\n"):format(provider, server)):flush()
end)()
uv.run()
