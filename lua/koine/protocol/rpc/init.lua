--- The peer of JSON-RPC 2.0, which MCP and ACP stand on: both sides ask, answer and notify.
--
--   local peer <close> = rpc.new(wire, { requests = { ping = function() return {} end } })
--   local result = assert(peer:request("tools/list", {}, { timeout = 60 }))
--
-- A wire is an object with line() (the next line; nil at the end; nil, err) and write(bytes) (true, or nil, err; may
-- wait), as koine.process.open gives; it stays its owner's. Without line, messages come by `receive`. A wire with
-- post(text, item) (true, or nil, err) in place of write takes each message by itself: see posts.lua. It ends by
-- item.deadline (seconds of the monotonic clock; nil: it sees to an end by itself).
-- The peer has tasks of its own: one reads, one writes, and each request of the other side has one. They go on while
-- anybody waits in `request`, `notify`, `serve` or `settle`, and rest in between.

local check = require "koine.data.check"
local calls = require "koine.protocol.rpc.calls"
local defer = require "koine.task.defer"
local dispatch = require "koine.protocol.rpc.dispatch"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.rpc.failure"
local inboxes = require "koine.protocol.rpc.inbox"
local message = require "koine.protocol.rpc.message"
local outboxes = require "koine.protocol.rpc.outbox"
local posts = require "koine.protocol.rpc.posts"
local redact = require("koine.data.text").redact
local served = require "koine.protocol.rpc.served"
local shared_run = require "koine.task.shared_run"
local wait = require "koine.task.wait"

local rpc = {}

local QUEUE_MAX = 10000   -- notifications of a session that nobody has taken
local QUEUE_BYTES = 64 << 20 -- of those of all sessions
local HANDLERS_MAX = 1000 -- requests of the other side at once
local HANDLERS_BYTES = 256 << 20 -- of these
local HIDDEN_MAX = 256    -- secrets that came by `hide`
local CANCEL_SECONDS = 30 -- that a wire's post has to tell that a call was left
local MESSAGES_MAX = 100  -- that are read before others have their turn

local methods = {}
local metatable = { __index = methods, __name = "koine.rpc", __close = function(self) self:close() end }

local HANDLERS = check.default(check.map(check.func, "table of functions by method"), function() return {} end)

local OPTIONS = check.options { requests = HANDLERS, notifications = HANDLERS, session = check.func,
  progress = check.func, cancel = check.func, batches = check.boolean,
  secrets = check.default(check.secret(check.list(check.secret(check.string))), function() return {} end),
  queue_max = check.default(check.integer(1), QUEUE_MAX), queue_bytes = check.default(check.integer(1), QUEUE_BYTES),
  handlers_max = check.default(check.integer(1), HANDLERS_MAX),
  handlers_bytes = check.default(check.integer(1), HANDLERS_BYTES) }

local REQUEST = check.options { timeout = check.seconds, idle = check.seconds, on_progress = check.func,
  session = check.any, about = check.any }

local NOTIFY = check.options { timeout = check.seconds }

-- Wakes those who wait for something else than an answer.
local function wake_all(self)
  for token in next, self.others do self.shared:wake(token) end
end

-- Waits until is_done(), as shared_run's await.
local function await_other(self, token, is_done)
  local gone <close> = defer(function() self.others[token] = nil end) -- luacheck: ignore gone
  self.others[token] = true
  return self.shared:await(token, is_done)
end

--- Breaks the peer: all that wait, and whoever comes, get this error; the first one counts. `words` are the message;
-- what the other side said last that was no message is told with it.
function methods:fail(kind, words, code)
  if self.err then return end
  self.err = errors.new { kind = kind, code = code, retryable = false,
    message = failure.with_last_words(redact(words, self.options.secrets), self.said, self.options.secrets) }
  self.calls:fail_all(self.err)
  wake_all(self)
end

-- The error of a wire: what it said, or its end.
local function break_off(self, err)
  if err == nil then
    self.ended = true
    return self:fail("connect", "the other side ended the connection", "closed")
  end
  self:fail(errors.is_error(err) and err.kind or "other", errors.words(err), errors.is_error(err) and err.code or nil)
end

-- Reads for ever: what a task runs.
local function read(self)
  local n = 0
  while not self.err do
    n = n + 1
    if n % MESSAGES_MAX == 0 then wait.sleep(0) end
    local ran, line, err = pcall(self.wire.line, self.wire)
    if not ran then return break_off(self, line) end
    if line == nil then return break_off(self, err) end
    dispatch.take(self, line)
  end
end

-- Takes what belongs to no session, for ever: what a task runs.
local function take_common(self)
  local token = {}
  local watching <close> = self.inbox:watch(false, token) -- luacheck: ignore watching
  while true do
    while self.inbox:has(false) do
      local ok = pcall(self.inbox.empty, self.inbox, false)
      if not ok then self.counts.raised = self.counts.raised + 1 end
    end
    wait.park(token)
  end
end

--- Takes the text of one message, for wires without `line`: true; of a wire with `post` also nil, err, where it is no
-- JSON (kind protocol) or beyond the limits (kind limit). Waits while a queue is full or too many requests of the other
-- side run, so call it in a task. Raises an ArgumentError for what is no string.
function methods:receive(whole)
  check.string(whole, "text")
  if self.err then return true end
  return dispatch.take(self, whole)
end

--- Starts f(…) as a task of the peer's, which goes on while anybody waits for the peer: the task, which has begun. A
-- task that raises ends all. Raises an ArgumentError after close.
function methods:spawn(f, ...)
  local task = self.shared:spawn(f, ...)
  self.shared:turn()
  return task
end

--- Adds a string that no error shows. Of those added here, 256 are known at once: a further one takes the place of the
-- oldest. Returns nothing.
function methods:hide(secret)
  local secrets = self.options.secrets
  for _, known in ipairs(secrets) do
    if known == secret then return end
  end
  secrets[self.secrets_given + self.hidden % HIDDEN_MAX + 1] = secret
  self.hidden = self.hidden + 1
end

--- The strings that no error shows now: an array, which stays the peer's.
function methods:secrets() return self.options.secrets end

--- The end of a wire without `line`: all calls fail. `err` (nil: an end in order) says why.
function methods:finish(err) break_off(self, err) end

-- Takes what is there for a call, in its caller's own coroutine.
local function take_all(self, call)
  local params = call.progress:pop()
  while params do
    call.on_progress(params)
    params = call.progress:pop()
  end
  if call.session ~= nil then self.inbox:empty(call.session) end
end

local function has_news(self, call)
  return call.progress:count() > 0 or call.session ~= nil and self.inbox:has(call.session)
end

-- Waits for the answer of a call, and takes meanwhile what belongs to it: the result, or nil, err.
local function await_answer(self, call)
  local function is_ready() return call.done or has_news(self, call) end
  while true do
    local ok, err = self.shared:await(call, is_ready)
    if ok then take_all(self, call) end
    if ok and not call.done then err = select(2, wait.sleep(0)) end -- the other side may never pause
    if err then return nil, err end
    if call.done and not has_news(self, call) then
      if call.err then return nil, call.err end
      return call.result
    end
    if not ok then
      return nil, errors.new { kind = "timeout", code = call.idled and "idle" or "total", retryable = false,
        message = ("%s: no answer in time"):format(call.method) }
    end
  end
end

-- Forgets a call whose caller has left, and has that told to the other side, without waiting. A post whose call was
-- answered otherwise ends with it: what is answered to that one may never end.
local function leave(self, call, item)
  self.calls:forget(call)
  if call.done and self.wire.post and not item.done then self.outbox:take_back(item) end
  if call.done or self.err or self.shared.closed or self.outbox:take_back(item) then return end
  local cancel = self.options.cancel
  local method, params
  if cancel then method, params = cancel(call.id, call.method) end
  if not method then return end
  self.outbox:put { text = message.call(nil, method, params), method = method, deadline = wait.now() + CANCEL_SECONDS }
  self.shared:turn()
end

local function check_params(params)
  if params ~= nil and type(params) ~= "table" then errors.argument("params", "table", params) end
  return params
end

--- Asks the other side, and waits for its answer: the result (null is koine.null), or nil, err: of kind invalid_request
-- (-32600, -32602), not_found (-32601) or server, with the answer's `code` as a string of digits and its `data`; of
-- kind protocol for a malformed answer; timeout (code "total" or "idle", and "lock" where a caller that blocks the
-- thread would wait for ever); cancelled, where a host cancelled the caller or the peer was closed; connect (code
-- "closed") at the end of the connection; that of the wire's post; and that of a broken peer. `params` is a table, nil,
-- or a function(id) that returns one of these or JSON, a string without LF. Options:
--   timeout      seconds until the answer; nil: no limit
--   idle         seconds without progress; nil: no limit
--   on_progress  function(params), called for each progress message
--   session      a key: the notifications of that session are taken by this caller, before the answer
--   about        any value, which the wire's post gets as item.about
-- A caller that is cancelled or late is forgotten at once, and the other side is told as `cancel` says. Raises an
-- ArgumentError, and what on_progress and the handlers of these notifications raise.
function methods:request(method, params, opts)
  check.string(method, "method")
  local options = REQUEST(opts or {})
  if self.err then return nil, failure.copy(self.err) end
  local id = self.calls:next_id()
  local made = params
  if type(params) == "function" then made = params(id) end
  if made == params or type(made) ~= "string" then check_params(made) end
  local item = { text = message.call(id, method, made), method = method, about = options.about }
  local call = self.calls:add(id, method, options.timeout, options.idle)
  local left <close> = defer(function() leave(self, call, item) end) -- luacheck: ignore left
  call.on_progress, call.session, item.call = options.on_progress, options.session, call
  local watching <close> = -- luacheck: ignore watching
    call.session ~= nil and self.inbox:watch(call.session, call) or nil
  self.outbox:put(item)
  return await_answer(self, call)
end

--- Tells the other side, and waits until that is written: true, or nil, err: of kind timeout, cancelled, that of the
-- wire, and that of a broken peer. `params` is a table or nil; opts.timeout in seconds (nil: no limit), after which it
-- is not sent unless that has begun. Raises an ArgumentError.
function methods:notify(method, params, opts)
  check.string(method, "method")
  local options = NOTIFY(opts or {})
  if self.err then return nil, failure.copy(self.err) end
  local item = { text = message.call(nil, method, check_params(params)), method = method,
    deadline = options.timeout and wait.now() + options.timeout }
  self.outbox:put(item)
  local ok, err = await_other(self, item, function() return item.done or self.err end)
  if err then return nil, err end
  if item.done then
    if item.err then return nil, failure.copy(item.err) end
    return true
  end
  self.outbox:take_back(item)
  if self.err then return nil, failure.copy(self.err) end
  if not ok then
    return nil, errors.new { kind = "timeout", code = "total", retryable = false,
      message = method .. ": not written in time" }
  end
end

--- Calls, in order, the handlers of the notifications that came for a session (nil: for none) and were not taken yet.
-- Does not wait for more. Raises what they raise.
function methods:take(session)
  if session == nil then session = false end
  self.inbox:empty(session)
end

--- Drops the notifications of a session that were not taken.
function methods:drop(session) self.inbox:drop(session) end

--- Ends the handler of a request of the other side by its id, and answers with `err` ({code, message, data} or an
-- error; nil: -32800): true, or false where no such request waits for its answer. Does not wait.
function methods:abort(id, err)
  local found = self.served:abort(id, err)
  self.shared:turn()
  return found
end

--- Has the peer's tasks do what they can now; does not wait.
function methods:turn() self.shared:turn() end

--- Waits until is_done() returns true: true; false when the time is later than token.deadline (seconds of the monotonic
-- clock, which may change meanwhile; nil: no limit); or nil, err as a request has it. The peer's tasks go on meanwhile.
-- `token` is a table of the caller's own, which `wake` wakes.
function methods:await(token, is_done) return self.shared:await(token, is_done) end

--- Wakes who waits with that token.
function methods:wake(token) self.shared:wake(token) end

--- Whether the peer can still be asked.
function methods:is_open() return not self.err end

--- The error of a wire that takes no more, or nil.
function methods:write_error() return self.outbox.err or nil end

--- Reads and serves until the connection ends, or is_over() (nil: no such function) says so after a message was
-- written: true, or nil, err: the error that broke the peer, or of kind cancelled.
function methods:serve(is_over)
  local _, err = await_other(self, {}, function() return self.err or is_over and is_over() end)
  if err then return nil, err end
  if self.ended or not self.err then return true end
  return nil, failure.copy(self.err)
end

--- Takes what has come, without waiting for more: whether the connection goes on.
function methods:poll()
  self.shared:turn()
  wait.park({}, 0)
  self.shared:turn()
  return not self.err
end

--- Waits until every request of the other side has been answered, and all is written, for at most `seconds` (nil: no
-- limit): true, false when the time is over, or nil, err of kind cancelled. Also after the end of the connection.
function methods:settle(seconds)
  return await_other(self, { deadline = seconds and wait.now() + seconds },
    function() return self.served.count == 0 and self.outbox:is_empty() end)
end

--- Ends the peer: calls fail with kind cancelled, handlers of the other side's requests are cancelled, and what was not
-- written is dropped. The wire stays open. Returns nothing; any number of times.
function methods:close()
  self:fail("cancelled", "the peer was closed")
  self.shared:close()
end

--- A peer on a wire. Options:
--   requests       {method = function(params, request) → result (nil: null), or nil, err}; err is {code = integer,
--                  message, data}, an error of Koine's, or a text. Each call runs in a task of its own. `request` has
--                  method, params, id
--   notifications  {method = function(params)}; those that belong to a session are called by who waits for it
--   session        function(method, params) → the key of the session that a notification belongs to, or nil
--   progress       function(method, params) → the id of the call that a notification tells the progress of, or nil
--   cancel         function(id, method) → method and params of the notification that cancels a call; nil: none is sent
--   batches        true: an array of messages is taken apart
--   secrets        strings that no error shows
--   queue_max      notifications that may wait for a session, 10000; then reading pauses
--   queue_bytes    bytes of those of all sessions together, 64 MiB; then reading pauses
--   handlers_max   requests of the other side at once, 1000; then reading pauses
--   handlers_bytes bytes of these together, 256 MiB; what comes then is answered by an error, -32000
-- `peer.counts` has how many messages were dropped: unknown (notifications), late (answers, progress), stray (no
-- JSON, no object), invalid (objects that are no message), dropped (progress that nobody took in time), and raised
-- (handlers of notifications without a session, `session` and `progress` that raised). Raises an ArgumentError.
function rpc.new(wire, opts)
  local options = OPTIONS(opts or {})
  local shared = shared_run()
  local function spawn(...) return shared:spawn(...) end
  local self = setmetatable({ wire = wire, options = options, shared = shared, err = false, ended = false,
    others = {}, strays = 0, said = false, secrets_given = #options.secrets, hidden = 0,
    counts = { unknown = 0, late = 0, stray = 0, invalid = 0, dropped = 0, raised = 0 } }, metatable)
  local function wake(token) shared:wake(token) end
  self.calls, self.inbox = calls(wake, options.secrets), inboxes(options.queue_max, options.queue_bytes, wake)
  self.outbox = (wire.post and posts or outboxes)(wire, function(item)
    if item.call and item.err then self.calls:fail(item.call, item.err) end
    wake(item)
    wake_all(self)
  end, spawn)
  self.served = served(options.requests, self.outbox, spawn, function(token)
    wake(token)
    wake_all(self)
  end, options.secrets, options.handlers_max, options.handlers_bytes)
  if self.outbox.run then spawn(self.outbox.run, self.outbox) end
  spawn(take_common, self)
  if wire.line then spawn(read, self) end
  return self
end

return rpc
