--- The other side of a remote executor (remote.lua has the wire): serves an executor's tools over HTTP, as a program of
-- its own, for example in a container. GET /health is open; every other call needs the token. Calls run at once; one
-- whose caller goes away is ended, with all that it started.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local hosts = require "koine.task.hosts"
local scheduler = require "koine.task.scheduler"
local remote = require "koine.system.executor.remote"
local wait = require "koine.task.wait"

local service = {}

-- Limits of peers: seconds, and connections without the token at once; one more ends the oldest.
local HEAD, BODY, CLOSE, WAITING = 10, 120, 30, 64

local OPTIONS = check.options { token = remote.token, port = check.required(check.integer(0, 65535)),
  executor = check.required(check.method("run", "executor (a table with a function run)")),
  address = check.default(check.string, "127.0.0.1") }

-- Equality that takes as long for every wrong guess of a length.
local function same(guess, token)
  local differing = #guess ~ #token
  for i = 1, #guess do differing = differing | guess:byte(i) ~ token:byte((i - 1) % #token + 1) end
  return differing == 0
end

-- Whether a request may call; without a token none may.
local function admitted(request, token)
  local guess = (request.headers.authorization or ""):match "^[Bb]earer +(.+)$"
  return token ~= nil and guess ~= nil and same(guess, token)
end

-- Calls -------------------------------------------------------------------------------------------------------------

-- The tool's name and input of a request; nil, status and what is wrong with it.
local function parse(request, token)
  local name = request.path:match "^/v1/([%w-]+)$"
  if not name then return nil, 404, "no such path" end
  if not request.admitted then
    return nil, 401, token and "missing or wrong token" or "the service has no token"
  end
  if request.method ~= "POST" then return nil, 405, "POST expected" end
  local body = core.decode(request.body)
  if type(body) ~= "table" then return nil, 400, "a JSON object expected" end
  local input = body.input
  if input == nil then input = body end -- the arguments themselves, as a simpler client sends them
  if type(input) ~= "table" then return nil, 400, "input: an object expected" end
  return name:gsub("-", "_"), input
end

-- Calls the executor in a task that ends when the caller hangs up: what pcall gives, or nil, err when it did.
local function run(conn, executor, name, input)
  local task
  conn.wake = function() task:cancel() end
  return scheduler.run(function()
    task = wait.task()
    return pcall(executor.run, name, input, {})
  end)
end

-- Turns the results of a call into status and body.
local function outcome(ok, said, info)
  if not ok then return 500, { error = tostring(said) } end
  if type(said) ~= "string" then return 500, { error = tostring(info or "the executor gave no text") } end
  info = type(info) == "table" and info or {}
  return 200, { output = said, is_error = info.is_error and true or nil, blocked = info.blocked and true or nil,
    reason = info.reason ~= nil and tostring(info.reason) or nil,
    exit_code = math.type(info.exit_code) == "integer" and info.exit_code or nil }
end

-- Answers one request.
local function answer(executor, token, conn, request)
  if request.path == "/health" and request.method == "GET" then return 200, { status = "ok" } end
  local name, input, problem = parse(request, token)
  if not name then return input, { error = problem } end
  return outcome(run(conn, executor, name, input))
end

--- The handler of connections (net/http_server.lua) for an executor; `token` nil: refuses all.
function service.handler(executor, token)
  local http_server = require "koine.net.http_server"
  return function(conn, request)
    local status, body = answer(executor, token, conn, request)
    local text = core.encode(body)
    conn:send(http_server.head(status, { { "content-type", "application/json" }, { "content-length", #text },
      { "connection", "close" } }) .. text)
    return false
  end
end

--- The bounds that go with the handler: how long a peer may take, and which peers are admitted.
function service.bounds(token)
  return { head = HEAD, body = BODY, close = CLOSE, waiting = WAITING,
    admits = function(request) return admitted(request, token) end }
end

-- The program -------------------------------------------------------------------------------------------------------

local function signal(uv, name, f)
  local handle = uv.new_signal()
  handle:start(name, f)
  handle:unref()
end

--- Serves until SIGTERM or SIGINT: true; nil, err when it cannot listen. See koine.executor.serve.
function service.serve(opts)
  local kept = OPTIONS(opts)
  local found, uv = pcall(require, "luv")
  if not found then return nil, errors.new { kind = "other", message = "executor: the module luv is missing" } end
  local listens, port = pcall(require("koine.net.http_server").listen, service.handler(kept.executor, kept.token),
    kept.port, kept.address, service.bounds(kept.token))
  if not listens then
    return nil, errors.new { kind = "connect", message = ("executor: %s:%d: %s"):format(kept.address, kept.port,
      tostring(port):gsub("^.-:%d+: ", "")) }
  end
  hosts.luv.install()
  signal(uv, "sigpipe", function() end) -- who leaves in the middle of an answer is no reason to end
  for _, name in ipairs { "sigterm", "sigint" } do signal(uv, name, function() uv.stop() end) end
  io.stdout:write(("listening at %s:%d\n"):format(kept.address, port)):flush()
  uv.run()
  return true
end

return service
