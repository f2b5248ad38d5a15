--- Koine in tests: a provider on the loopback interface, and a switch that forbids every other connection.
--
--     local server <close> = assert(koine.testing.start())
--     server:script { { content = "Hello." }, { error = { status = 429, headers = { ["retry-after"] = "2" } } } }
--     local adapter = koine.anthropic { model = "m", base_url = server.url, key = "k" }
--
-- The provider is a child process on lua-luv. It speaks real HTTP/1.1: POST …/messages, …/messages/count_tokens,
-- …/chat/completions, …/responses and …/responses/input_tokens, GET …/models (25 of them; Anthropic's list is paged),
-- …/models/ID, embeddings at the paths of every dialect (made-up vectors of the words in a text, 64 numbers wide unless
-- the request says so, without a script; answers of a script come first), Ollama's POST /api/chat, /api/show and
-- /api/pull and GET /api/tags, where … is what the providers' own base URLs have (see loopback/paths.lua), or what an
-- answer's path has; any other path is answered 404, which names it and those there are. It checks requests strictly:
-- it lists what is wrong in the request's `problems` and answers 400
-- in the wire's own shape; such a request uses up no answer. When the script is exhausted the answer is 500 and
-- says so. An answer that the wire cannot play (arguments that are not JSON or an opaque block where it has no place
-- for them, content for a path that is no chat's) is 500, too, and says which one and why: "the script
-- cannot be played: answers[2]: …". Neither is retried: the call fails at once, and the next answer is left for the
-- next call. The child ends when its standard input closes: with `stop`, with the server object, or with this process.
-- A shell can also start it: `lua5.4 -l koine.testing.loopback.main` prints "PORT PID".
--
-- An ANSWER is a table with exactly one of
--   content       string, or array of blocks: {type="text", text}, {type="thinking", thinking, signature},
--                 {type="redacted_thinking", data}, {type="tool_use", id, name, arguments | arguments_json},
--                 {type="refusal", text}, {type="opaque", raw = the wire's block}; ids and signatures are made up when
--                 absent, from the request alone, so that the same request gets the same answer, streamed or plain
--   echo          true: repeats the user's last text or a tool's result; where the request asks for a value of a
--                 schema, such a value, whose texts are that. As the last answer it answers all further requests, too
--   error         {status=, headers=, type=, code=, message=, param=, body = raw text instead, copilot = see below}: an
--                 error answer; with status 200, an error body behind a 200
--   replay        path of a recording ({response = {status, headers, body}}), or of a cassette: its bytes, as they are;
--                 `exchange` is the number of the cassette's exchange (default 1)
--   embeddings    true: the made-up vectors, for requests of embeddings
--   reply         {status=, headers=, body = text or a table sent as JSON}: any answer, for paths that are no endpoint
-- and beside content
--   stop_reason   canonical, or any word of the wire (inferred when absent); stop_sequence
--   container     where the answer ran code: {id, expires_at, …}; Messages only
--   usage         {input_tokens=, output_tokens=, cache_read_tokens=, cache_creation_tokens=, reasoning_tokens=},
--                 or false: the wire says nothing
--   model, id     as the answer reports them;  headers  further response headers
--   chunk         bytes per fragment of text and arguments (two or more fragments otherwise)
--   interleave    true: the fragments of neighbouring tool calls come in turns
--   reasoning_field  where the Chat wire puts thinking: reasoning_content (default), reasoning, reasoning_text,
--                 reasoning_details (with signatures) or content (an array)
--   rotate_ids    true: on the Responses wire an item has another id in every event (Copilot's way, and the default
--                 there: false turns it off). Only the id of output_item.done or of the last event can
--                 be sent back
--   split_choices  true: on the Chat wire tool calls come in a choice of their own, as Copilot's Claude models do it
--   stream_error  {type=, code=, message=, param=, status=, after = number of deltas first}: an error inside the 200
--                 stream; a plain answer gets the status that it maps to. On the Responses wire `shape` says how the
--                 event before response.failed is written: "nested" (default) or "flat"
-- and on any answer
--   path          this answer serves only requests to exactly this path, in their own order; the path's prefix is
--                 served from then on, with counts and models
--   fault         {delay_ms=, pause_ms=, write_bytes=, split_at={offsets}, stall_after=, reset_after=,
--                 truncate_after=, end_after=, content_type=, gzip=true, gzip_bomb=bytes, echo_authorization=true};
--                 offsets count bytes of the body as it travels, 0 is before the status line. `pause_ms` waits between
--                 two pieces of the body: of a stream, between two events. `truncate_after` closes in the middle
--                 of the HTTP body, `end_after` ends it properly but early; `gzip_bomb` puts so many bytes of
--                 compressed spaces before the body; `echo_authorization` repeats the caller's credential in the error
--                 body (a 401 unless the answer is an error of its own)
--
-- On the Responses wire neighbouring texts and refusals are the parts of one message, every other block is an item; a
-- thinking text is a summary, in several parts where it has blank lines; signatures and redacted data travel as
-- encrypted_content, where the request includes it. stop_reason max_tokens and sensitive end as incomplete, as does any
-- word of the wire, which is then the reason.
--
-- COPILOT. With `copilot = {...}` (of start, beside the answers of a script, or server:copilot) the server is GitHub
-- too, at POST /login/device/code, POST /login/oauth/access_token, GET /copilot_internal/v2/token and
-- GET /copilot_internal/user, and the chat host, at GET /models, POST /chat/completions and POST /responses (with a
-- Copilot token at no other path), which plays the same answers. It judges headers and models as well. The fields, of
-- which all may be missing:
--   github_tokens  accepted by the exchange, beside those that the device flow hands out: { "ghu_loopback" }. One that
--                  begins with gho_ is answered 404 there and accepted by the chat host, with github_pat_ 403 and 400
--   client_id      the only one that the device flow accepts; any when absent
--   device_flow    what each poll is answered, the last one again and again: an error word ("authorization_pending",
--                  "slow_down", "expired_token", "access_denied", …), {error=, interval=}, {access_token=},
--                  {status=, body=}; a table may have a `fault`. Default: the first of github_tokens
--   interval, expires_in  seconds, as the device flow says: 5, 900
--   token_lifetime, refresh_in  seconds, of each token exchanged: 1500, and 300 less
--   expire         true: tokens exchanged so far are refused from now on, as expired
--   chat_enabled, endpoints  false: the exchange refuses; names no endpoints (else: this server)
--   proxy_ep       the host that tokens name in their field proxy-ep: GitHub's for the plan; "" leaves the field out
--   plan, sku, reset_date, quota  of the account; plan "free" has the shape of free accounts; quota = {NAME =
--                  {entitlement=, remaining=, unlimited=, overage_permitted=, overage_count=}, …} with the names
--                  premium_interactions, chat, completions
--   editors, integrations  names before the slash of Editor-Version, Copilot-Integration-Ids: others are unknown
--   models         array of models, see loopback/copilot/data.lua
-- An answer's error = {copilot = …} is one of the chat host's own refusals: rate_limited, quota_exceeded, weekly,
-- monthly (prose, no Retry-After), payment (402), client_too_old (466), wrong_host (421).

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local http = require "koine.net.http"

local testing = {}

local OPTIONS = { "copilot", "script", copilot = true, script = true } -- of start, in the order of their use
local PORT = check.default(check.integer(0, 65535), 0)
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

--- Starts the child: a pipe is its standard input, a fifo its standard output. Returns the pipe's handle and the line
-- that it printed, or nil, err.
local function launch(port)
  if package.loaded["koine.testing.loopback.main"] then
    return nil, errors.new { kind = "connect", message = "a script that starts a loopback provider has the name of a "
      .. "module that the provider needs, and was loaded in its place" }
  end
  local base = os.tmpname()
  local directory = base .. ".d"
  local fifo = directory .. "/line"
  local made = os.execute(("umask 077; mkdir %s && mkfifo %s"):format(quote(directory), quote(fifo)))
  os.remove(base)
  if not made then
    return failure("cannot make a fifo in " .. directory)
  end
  local program = ("package.path, package.cpath = %q, %q; require 'koine.testing.loopback.main'")
    :format(package.path, package.cpath)
  local handle, err = io.popen(("exec env KOINE_LOOPBACK_PORT=%d %s -e %s > %s"):format(port, quote(interpreter()),
    quote(program), quote(fifo)), "w")
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

--- Starts a loopback provider. `opts.script` and `opts.copilot` are for server:script and server:copilot, `opts.port`
-- (integer) is where it listens; nil = at a free port. Returns the server: `url` ("http://127.0.0.1:PORT"), `port`,
-- `pid`, and the methods below; closing it (a to-be-closed variable, `stop`, or the collector) ends the child. nil and
-- a ConnectionError when the child cannot start, e.g. without lua-luv. Raises an ArgumentError for a wrong script or
-- wrong settings.
function testing.start(opts)
  if opts == nil then opts = {} end
  for name in pairs(check.table(opts, "opts")) do
    if not OPTIONS[name] and name ~= "port" then
      errors.argument("opts", "no options but script, copilot and port", name)
    end
  end
  local handle, line = launch(PORT(opts.port, "port"))
  if not handle then
    return nil, line
  end
  local port, pid = line:match("^(%d+) (%d+)$")
  local server = setmetatable({ handle = handle, port = math.tointeger(tonumber(port)),
    pid = math.tointeger(tonumber(pid)), url = "http://127.0.0.1:" .. tostring(port) }, Server)
  for _, name in ipairs(OPTIONS) do
    local given = opts[name]
    local ok, done, err = true, true, nil
    if given then
      ok, done, err = pcall(methods[name], server, given)
    end
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
  core.offline(check.boolean(on, "on"))
end

--- One exchange with the child: the decoded JSON answer and its status; nil, err when the child does not answer.
local function control(server, method, path, body)
  if not server.handle then
    errors.argument("server", "a running server", "a stopped one")
  end
  local answer, err = http.send { method = method, url = server.url .. path, body = body,
    headers = { ["content-type"] = "application/json" }, timeouts = { total = TIMEOUT } }
  if not answer then
    return nil, err
  end
  return core.decode(answer.body), answer.status
end

-- Raises the child's objection to a value: "FIELD: what is wrong".
local function refuse(problem)
  core.raise(errors.new { kind = "argument", message = problem, field = problem:match "^([%w_.%[%]]+): ",
    expected = problem:match ": (.-) expected" })
end

--- Hands a value to a control path: true, or nil, err; raises an ArgumentError with the child's objection.
local function hand_over(server, path, value)
  local answer, status = control(server, "POST", path, core.encode(value))
  if not answer then
    return nil, status
  elseif status ~= 200 then
    refuse(answer.error)
  end
  return true
end

local BESIDE = { copilot = true } -- settings beside the answers of a script

-- The answers of a script, without the settings beside them.
local function list_of(answers)
  if type(answers) ~= "table" then errors.argument("script", "array of answers or \"echo\"", answers) end
  local list = core.array {}
  for key, answer in next, answers do
    if not BESIDE[key] then list[key] = answer end
  end
  if not check.is_list(list) then
    local single = answers[1] == nil and type(next(list)) == "string"
    core.raise_argument("script", "array of answers", single and "a single answer: write { { … } }"
      or "a table with holes or other keys")
  end
  return list
end

--- Sets the script: an array of answers, played in order, or "echo": every request is answered with a text made from
-- its last user message. A field `copilot` beside the answers is handed to server:copilot first. Requests seen and
-- signatures issued stay remembered. true, or nil, err; raises an ArgumentError that names the answer and the field
-- when the script is wrong.
function methods:script(answers)
  local list = answers == "echo" and answers or list_of(answers)
  if list ~= answers and answers.copilot then
    local ok, err = self:copilot(answers.copilot)
    if not ok then
      return nil, err
    end
  end
  return hand_over(self, "/__koine/script", list)
end

--- With settings: the server is GitHub Copilot too, from now on, with these settings over the ones it had (see above);
-- true, or nil, err. Without: what was counted since the start or the last reset: {device_codes, polls, exchanges,
-- tokens (issued), users, lists (of models), chats = array of {path, status, model, stream, initiator, vision,
-- editor_version, integration_id (headers as sent), image (true when the body has one)}}; nil, err when the child does
-- not answer. Raises an ArgumentError for wrong settings, and for none where there never were any.
function methods:copilot(settings)
  if settings ~= nil then
    return hand_over(self, "/__koine/copilot", check.table(settings, "settings"))
  end
  local answer, status = control(self, "GET", "/__koine/copilot")
  if answer and status ~= 200 then
    refuse(answer.error)
  end
  return answer, not answer and status or nil
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

-- The rest of the room, loaded on first use: testing.playbook, contract, store_contract, cassette.
local PARTS = { playbook = true, contract = true, store_contract = true, cassette = true }

return setmetatable(testing, { __index = function(_, name)
  if not PARTS[name] then return nil end
  testing[name] = require("koine.testing." .. name)
  return testing[name]
end })
