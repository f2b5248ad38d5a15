--- A server at a URL: Streamable HTTP, in both eras of MCP. Each message is a POST of its own, and the answer is one
-- message or an event stream. In the legacy era a session may span the requests, and a standing stream tells the rest.
--
-- It has the methods of every transport (see ../stdio.lua). Errors are those of protocol/rpc, and those of answers:
-- with status_code; of kind auth or permission with `challenge`, `resource_metadata` and `scope` as the server says
-- them; code "session_gone" where the server has forgotten the session, after which the transport is of no use; code
-- "http_sse" for a server of the old transport. The transport owns its peer, which owns all streams.

local check = require "koine.data.check"
local http = require "koine.net.http"
local net_transport = require "koine.net.transport"
local headers = require "koine.protocol.mcp.transport.http.headers"
local post = require "koine.protocol.mcp.transport.http.post"
local rpc = require "koine.protocol.rpc"
local failure = require "koine.protocol.mcp.transport.http.failure"
local standing = require "koine.protocol.mcp.transport.http.standing"
local text = require "koine.data.text"
local unhurried = require "koine.protocol.mcp.transport.unhurried"
local wait = require "koine.task.wait"

local transport = {}

local methods = {}
local metatable = { __index = methods, __name = "koine.mcp.http", __close = function(self) self:close() end }

local CLOSE_SECONDS = 5   -- for the end of a session
local HURRIED_SECONDS = 1 -- the same where the wait stops all others: a task that is cancelled closes its transport
local GOODBYE_MAX = 64 << 10 -- bytes of the answer to the end of a session, which nobody reads

local HEADERS = check.secret(check.map(check.secret(check.text), "table of strings by name"))

local OPTIONS = check.options { url = check.required(check.exact_url), headers = HEADERS,
  token = check.secret(check.either("string or function", check.key, check.func)),
  proxy = check.text, ca_file = check.path, http2 = check.boolean, limits = check.table,
  transport = net_transport.option }

-- Requests whose answer settles the era, and those that need no cancelling.
local UNCANCELLED = { initialize = true, ["server/discover"] = true }

local function progress(method, params)
  if method == "notifications/progress" and type(params) == "table" then return params.progressToken end
end

--- Asks, and waits for the answer: what rpc's request returns. `params` as that takes them. `opts`:
--   timeout, idle  seconds, or nil; a stream is silent for 300 s at most, or for `idle` where that is longer
--   on_progress    function(params)
--   name           of the tool or prompt, or the URI of the resource
--   headers        {name = string, integer or boolean} that the tool wants
--   listens        true: the stream may be silent for ever
-- A call that is left closes its stream; in the legacy era the server is told, too.
function methods:request(method, params, opts)
  return self.peer:request(method, params, { timeout = opts.timeout, idle = opts.idle,
    on_progress = opts.on_progress,
    about = { name = opts.name, headers = opts.headers, idle = opts.idle, listens = opts.listens } })
end

--- Tells, and waits until the server has accepted that, for at most `seconds`: true, or nil, err.
function methods:notify(method, params, seconds) return self.peer:notify(method, params, { timeout = seconds }) end

--- Ends the work on a request of the server's, by its id. Does not wait; returns nothing.
function methods:abort(id) self.peer:abort(id) end

--- Hears and answers the server until the session is gone or the transport closed: nil, err.
function methods:serve()
  local ok, err = self.peer:serve(function() return self.is_gone end)
  if not ok then return nil, err end
  return nil, failure.session_gone()
end

--- Which era ("legacy" or "modern") and version (nil: not agreed on yet) requests are of from now on.
function methods:set_version(era, version) self.era, self.version = era, version end

--- Whether the server can be asked, as far as it is known. Does not wait.
function methods:is_alive() return not self.closed and not self.is_gone and self.peer:poll() end

--- nil: a server at a URL has no standard error.
function methods.tail() return nil end

-- Seconds that the end of a session may take: `seconds` (nil: no such limit) at most.
local function close_seconds(seconds)
  local stops_others = not wait.alone() and not wait.suspends()
  return math.min(stops_others and HURRIED_SECONDS or CLOSE_SECONDS, seconds or CLOSE_SECONDS)
end

--- Ends all calls, then the session, for which it waits 5 seconds at most, and no longer than `seconds` (nil: no such
-- limit; 0: the server is not told). `has_ended` true: the session ended by itself, which is what calls that are
-- pending fail with; else they are cancelled. Returns nothing; any number of times.
function methods:close(has_ended, seconds)
  if self.closed then return end
  self.closed = true
  if has_ended then self.peer:fail("connect", "the session ended before the answer", "closed") end
  self.peer:close()
  seconds = close_seconds(seconds)
  if not self.session or seconds == 0 then return end
  local options = self.options
  http.send { method = "DELETE", url = options.url, proxy = options.proxy, ca_file = options.ca_file,
    transport = options.transport, headers = headers.of(self, { accept = "*/*" }, self.authorization),
    secrets = text.first_secrets(self.peer:secrets()), timeouts = { total = seconds },
    limits = { body = GOODBYE_MAX, decoded = GOODBYE_MAX } }
  self.session = nil
end

-- For the files beside this one ---------------------------------------------------------------------------------------

--- Begins the session with that id; it goes on every later request.
function methods:begin_session(id)
  self.session = id
  self:hide(id)
end

--- The server has forgotten the session.
function methods:forget_session() self.session, self.is_gone = nil, true end

--- Opens the standing stream of a session of the legacy era, where anybody wants to hear what comes there.
function methods:listen()
  if self.era == "legacy" and self.wants_stream then self.peer:spawn(standing, self) end
end

--- Adds a string that no error shows.
function methods:hide(secret) self.peer:hide(secret) end

-- Whether anybody wants to hear what the server says of its own accord; pings do not count.
local function wants_stream(handlers)
  for method in next, handlers.requests or {} do
    if method ~= "ping" then return true end
  end
  return next(handlers.notifications or {}) ~= nil
end

--- A transport to the server at a URL; nothing is sent yet. Options:
--   url             http:// or https://
--   headers         {name = value} that go on every request
--   token           goes as "Authorization: Bearer …": a string, or a function(challenge) that returns one (nil: none)
--                   or nil, err. It is called for each request, without a challenge, and once more where the server
--                   answers 401, with what that says: {scheme, resource_metadata, scope, …}. It may wait
--   proxy, ca_file, http2, limits, transport   as of adapters
-- `handlers`: requests and notifications as rpc takes them, secrets (array of strings that no error shows),
-- warn(warning) (nil: not told), which is told of a standing stream that fails. Raises an ArgumentError.
function transport.open(options, handlers)
  local kept = OPTIONS(options)
  local self = setmetatable({ kind = "http", options = kept, closed = false, is_gone = false, session = nil, era = nil,
    version = nil, authorization = nil, wants_stream = wants_stream(handlers),
    warn = handlers.warn or false }, metatable)
  local function cancel(id, method)
    if self.era ~= "legacy" or not self.version or UNCANCELLED[method] then return nil end
    return "notifications/cancelled", { requestId = id, reason = "the client no longer waits" }
  end
  local wire = { post = function(_, whole, item) return post(self, whole, item) end }
  self.peer = rpc.new(wire, { requests = unhurried(self, handlers.requests), notifications = handlers.notifications,
    progress = progress, cancel = cancel, batches = true, secrets = handlers.secrets or {} })
  return self
end

return transport
