--- Koine in tests: a provider on the loopback interface, and a switch that forbids every other connection.
--
--     local server <close> = assert(koine.testing.start())
--     server:script { { content = "Hello." }, { error = { status = 429, headers = { ["retry-after"] = "2" } } } }
--     local adapter = koine.anthropic { model = "m", base_url = server.url, key = "k" }
--
-- The provider is a child process on lua-luv. It speaks real HTTP/1.1: POST …/messages, …/messages/count_tokens and
-- …/chat/completions, GET …/models (25 of them; Anthropic's list is paged), …/models/ID. It judges requests strictly:
-- what is wrong is listed in the request's `problems` and answered 400 in the wire's own shape; such a request uses up
-- no turn. When the script is exhausted the answer is 500 and says so. The child ends when its standard input closes:
-- with `stop`, with the server object, or with this process. It can also be run by hand: `lua5.4 -l koine.testing.main`
-- prints "PORT PID".
--
-- A TURN is a table with exactly one of
--   content       string, or array of blocks: {type="text", text}, {type="thinking", thinking, signature},
--                 {type="redacted_thinking", data}, {type="tool_use", id, name, arguments | arguments_json},
--                 {type="refusal", text}, {type="opaque", raw = the wire's block}; ids and signatures are made up when
--                 absent, from the request alone, so that the same request gets the same answer, streamed or plain
--   error         {status=, headers=, type=, code=, message=, param=, body = raw text instead}: an error answer; with
--                 status 200, an error body behind a 200
--   replay        path of a recording ({response = {status, headers, body}}): its bytes, as they are
--   reply         {status=, headers=, body = text or a table sent as JSON}: any answer, for paths that are no face
-- and beside content
--   stop_reason   canonical, or any word of the wire (inferred when absent); stop_sequence
--   usage         {input_tokens=, output_tokens=, cache_read_tokens=, cache_creation_tokens=, reasoning_tokens=},
--                 or false: the wire says nothing
--   model, id     as the answer reports them;  headers  further response headers
--   chunk         bytes per fragment of text and arguments (two or more fragments otherwise)
--   interleave    true: the fragments of neighbouring tool calls come in turns
--   reasoning_field  where the Chat wire puts thinking: reasoning_content (default), reasoning, reasoning_text,
--                 reasoning_details (with signatures) or content (an array)
--   stream_error  {type=, code=, message=, status=, after = number of deltas first}: an error inside the 200 stream; a
--                 plain answer gets the status that it maps to
-- and on any turn
--   path          this turn serves only requests to exactly this path, in their own order
--   fault         {delay_ms=, write_bytes=, split_at={offsets}, stall_after=, reset_after=, truncate_after=,
--                 end_after=, content_type=, gzip=true, gzip_bomb=bytes, echo_authorization=true}; offsets count
--                 bytes of the body as it travels, 0 is before the status line. `truncate_after` closes in the middle
--                 of the HTTP body, `end_after` ends it properly but early; `gzip_bomb` puts so many bytes of
--                 compressed spaces before the body; `echo_authorization` repeats the caller's credential in the error
--                 body (a 401 unless the turn is an error of its own)
--
-- May call: koine.core, errors, wait.

local core = require "koine.core"
local errors = require "koine.errors"
local wait = require "koine.wait"

local testing = {}

local TIMEOUT = 60 -- seconds, for one exchange with the child

local methods = {}
local Server = { __index = methods, __name = "koine.testing.server" }

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- The interpreter for the child: KOINE_LUA, else the one that runs this script, else lua5.4.
local function interpreter()
  local chosen = os.getenv("KOINE_LUA")
  local args = rawget(_G, "arg")
  if not chosen and type(args) == "table" then
    local i = 0
    while args[i - 1] do
      i = i - 1
    end
    chosen = i < 0 and args[i] or nil
  end
  return chosen or "lua5.4"
end

local function failure(text)
  return nil, errors.new { kind = "connect", message = "the loopback provider did not start: " .. text }
end

--- Starts the child with its standard input in our hand and its standard output in a fifo. Returns the handle and the
-- line it printed, or nil, err.
local function launch()
  local base = os.tmpname()
  local directory = base .. ".d"
  local fifo = directory .. "/line"
  local made = os.execute(("umask 077; mkdir %s && mkfifo %s"):format(quote(directory), quote(fifo)))
  os.remove(base)
  if not made then
    return failure("cannot make a fifo in " .. directory)
  end
  local program = ("package.path, package.cpath = %q, %q; require 'koine.testing.main'")
    :format(package.path, package.cpath)
  local handle, err = io.popen(("exec %s -e %s > %s"):format(quote(interpreter()), quote(program), quote(fifo)), "w")
  local line
  if handle then
    local reader = assert(io.open(fifo, "r"))
    line = reader:read("l")
    reader:close()
  end
  os.remove(fifo)
  os.remove(directory)
  if not handle then
    return failure(err)
  elseif not line or line:find("^error: ") then
    handle:close()
    return failure(line and line:sub(8) or ("%s printed nothing"):format(interpreter()))
  end
  return handle, line
end

--- Starts a loopback provider. `opts.script`: as for server:script. Returns the server: `url`
-- ("http://127.0.0.1:PORT"), `port`, `pid`, and the methods below; closing it (a to-be-closed variable, `stop`, or the
-- collector) ends the child. nil and a ConnectionError when the child cannot start, e.g. without lua-luv. Raises an
-- ArgumentError for a wrong script.
function testing.start(opts)
  for name in pairs(opts or {}) do
    if name ~= "script" then
      errors.argument("opts", "no option but script", name)
    end
  end
  local handle, line = launch()
  if not handle then
    return nil, line
  end
  local port, pid = line:match("^(%d+) (%d+)$")
  local server = setmetatable({ handle = handle, port = math.tointeger(tonumber(port)),
    pid = math.tointeger(tonumber(pid)), url = "http://127.0.0.1:" .. tostring(port) }, Server)
  if opts and opts.script then
    local ok, done, err = pcall(server.script, server, opts.script)
    if not ok or not done then
      server:stop()
    end
    if not ok then
      error(done, 0)
    elseif not done then
      return nil, err
    end
  end
  return server
end

--- With true: from now on every connection of this Lua state to a host that is not loopback fails at once, before its
-- name is looked up. With false: as usual again.
function testing.offline(on)
  if type(on) ~= "boolean" then
    errors.argument("on", "boolean", on)
  end
  core.offline(on)
end

--- One exchange with the child: the decoded JSON answer and its status; nil, err when the child does not answer.
local function control(server, method, path, body)
  if not server.handle then
    errors.argument("server", "a running server", "a stopped one")
  end
  local request, err = core.request(core.engine(), { method = method, url = server.url .. path, body = body,
    headers = { ["content-type"] = "application/json" }, timeouts = { total = TIMEOUT } })
  if not request then
    return nil, err
  end
  local answer
  repeat
    local _
    answer, err = request:poll()
    if answer == false then
      _, err = wait.park(request)
    end
  until answer or err
  request:close()
  if not answer then
    return nil, err
  end
  return core.decode(answer.body), answer.status
end

--- Sets the script: an array of turns, played in order, or "echo": every request is answered with a text made from its
-- last user message. Requests seen and signatures issued stay remembered. true, or nil, err; raises an ArgumentError
-- that names the turn and the field when the script is wrong.
function methods:script(turns)
  if type(turns) ~= "table" and turns ~= "echo" then
    errors.argument("turns", "array of turns or \"echo\"", turns)
  end
  local body = core.encode(turns == "echo" and turns or core.array(table.move(turns, 1, #turns, 1, {})))
  local answer, status = control(self, "POST", "/__koine/script", body)
  if not answer then
    return nil, status
  elseif status ~= 200 then
    core.raise(errors.new { kind = "argument", message = answer.error })
  end
  return true
end

--- Every request so far, oldest first, as an array of {method, path, target (path with query), headers (lower-case
-- names), body (text), problems (array of lines), status (as answered), request_id, connection (number: requests with
-- the same one shared a connection), closed_after (body bytes sent when the peer left before the end; else nil)}.
-- nil, err when the child does not answer.
function methods:requests()
  return control(self, "GET", "/__koine/requests")
end

--- Forgets the script, the requests and the signatures issued. true, or nil, err.
function methods:reset()
  local answer, err = control(self, "POST", "/__koine/reset", "")
  if not answer then
    return nil, err
  end
  return true
end

--- Ends the child and waits for its end. Any number of times.
function methods:stop()
  local handle = self.handle
  self.handle = nil
  if handle and io.type(handle) == "file" then
    handle:close()
  end
end

Server.__close = methods.stop
Server.__gc = methods.stop

return testing
