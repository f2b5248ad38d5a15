--- Observers: who is told what work begins, happens and ends, in records. A record is a new table, version 1:
--   v = 1, type, phase ("start", "end", "point"), trace (32 hex digits), id (16, the same at start and end), parent
--   (the id of what it is a part of, nil for none), time (Unix nanoseconds, integer), seconds (of an end: how long
--   it took), error (of an end: {class, kind, code, status_code, message}), content (only where it is captured),
--   attributes (table, the observer's own), and the fields of its type, which docs/observing.md lists.
--
-- Rooms that do work keep what `observer.option` made of their option: a hook, {deliver, content, content_max, redact,
-- ids, clock, attributes, turns, and what delivery needs: `complete`}. Without one and without a parent they test for
-- nil, and nothing else is done:
--
--   local span = (hook or parent) and observer.start(hook, parent, "chat", { provider = "anthropic" })
--   if span then span:finish({ stop_reason = "end_turn" }, err) end
--
-- A span is work that began. It ends once: by finish, when it is closed, or when it is collected. What an observer
-- raises is counted and changes nothing; one that yields counts as one that raises.

local capture = require "koine.data.observer.capture"
local context = require "koine.data.observer.context"
local core = require "koine.core"
local check = require "koine.data.check"
local delivery = require "koine.data.observer.delivery"
local errors = require "koine.data.errors"

local observer = {}

local monotonic = core.monotonic
local apart, fail, takes_more, go_on = delivery.apart, delivery.fail, delivery.takes_more, delivery.go_on

local TRACE, SPAN = 16, 8 -- bytes of their ids

--- See delivery.lua.
observer.failures = delivery.failures

--- See context.lua.
observer.is_context, observer.parent, observer.sent, observer.through = context.is, context.option, context.sent,
  context.through

-- Observers ---------------------------------------------------------------------------------------------------------

-- A source of values that is the observer's own where it gives what fits(value, size), else the usual one.
local function own_or_usual(own, usual, fits)
  if not own then return usual end
  local function one(size)
    local ok, value = apart(own, size)
    if ok and fits(value, size) then return value end
    fail(ok and "an id or a time of the wrong form" or value)
    return (usual(size))
  end
  return function(size, second)
    if second then return one(size), one(second) end
    return one(size)
  end
end

local function is_id(value, bytes)
  return type(value) == "string" and #value == 2 * bytes and not value:find "[^%da-f]"
end
local function is_time(value) return math.type(value) == "integer" end

--- Calls a function that only looks on with these arguments. What it raises is counted, and that it yields.
function observer.tell(f, ...)
  local ok, problem = apart(f, ...)
  if not ok then fail(problem) end
end

local observer_mt = { __name = "koine.observer", __index = {} }

--- Hands a record (table) to what the observer was made of. Raises what that raises.
function observer_mt.__index:record(record) self.deliver(record) end

-- Makes an observer of its settings, which have `deliver`, the function of one record. What each record asks for is
-- there, so that the metatable is not asked; and what delivery.lua needs, and fan.lua: the ids of spans whose start was
-- refused.
local function complete(settings)
  settings.run, settings.is_busy = core.apart(settings.deliver, coroutine.close)
  settings.attributes, settings.turns = settings.attributes or false, settings.turns or false
  settings.waiting, settings.behind, settings.draining, settings.refused = {}, false, false, {}
  return setmetatable(settings, observer_mt)
end

local CONTENTS = { messages = true, tools = true, deltas = true }

-- Keeps {messages, tools, deltas = true}, or false.
local CONTENT = check.that('true, false, or array of "messages", "tools", "deltas"', function(value)
  if value == true then return { messages = true, tools = true } end
  if value == false then return false end
  if not check.is_list(value) then return nil end
  local kept = {}
  for _, word in ipairs(value) do
    if not CONTENTS[word] then return nil, errors.describe(word) end
    kept[word] = true
  end
  return next(kept) and kept or false
end)

local function method_record(value)
  if type(value) ~= "table" and type(value) ~= "userdata" then return nil end
  local ok, method = pcall(function() return value.record end)
  return ok and type(method) == "function" and method or nil
end

-- Keeps the function of one record that the value is, or has as its method `record`.
local TO = check.that("function of one record, or object with a method record", function(value)
  if type(value) == "function" then return value end
  local method = method_record(value)
  return method and function(record) method(value, record) end
end)

local PLAIN = { string = true, number = true, boolean = true }

-- Whether JSON has the value and what is in it; `seen` is the set of the tables that were looked at.
local function is_plain(value, seen)
  if type(value) ~= "table" then return PLAIN[type(value)] or value == core.null end
  if seen[value] then return true end
  seen[value] = true
  local is_list = check.is_list(value)
  for name, member in next, value do
    if not is_list and type(name) ~= "string" or not is_plain(member, seen) then return false end
  end
  return true
end

local ATTRIBUTES = check.that("table by name of strings, numbers, booleans, and tables of these", function(value)
  if type(value) ~= "table" then return nil end
  for name, member in next, value do
    if type(name) ~= "string" then return nil, "a key that is no string" end
    if not is_plain(member, { [value] = true }) then return nil, ("%q of another type"):format(name) end
  end
  return value
end)

local CONTENT_MAX = 64 << 10 -- bytes of a string

local FIELDS = check.options({ to = check.required(TO), content = check.default(CONTENT, false),
  content_max = check.default(check.integer(0), CONTENT_MAX), redact = check.func, ids = check.func,
  clock = check.func, attributes = ATTRIBUTES, cache_misses = check.boolean }, { what = "field", path = "observer" })

--- An observer with settings: {to = function of one record, or object with a method record; content = false, true
-- (messages and tools), or array of "messages", "tools", "deltas"; content_max = bytes of a captured string, 64 KiB;
-- redact = function(text) → text, for each captured string; attributes = table, put into each record; ids =
-- function(bytes) → so many bytes in hex, clock = function() → Unix nanoseconds, both for tests; cache_misses = true to
-- be told of them}. Raises an ArgumentError.
function observer.new(given)
  local made = FIELDS(given)
  made.deliver, made.to = made.to, nil
  made.ids = own_or_usual(made.ids, core.random_hex, is_id)
  made.clock = own_or_usual(made.clock, core.nanoseconds, is_time)
  made.attributes = made.attributes and capture.copy(made.attributes)
  made.turns = made.cache_misses and {} -- what prefix.lua keeps
  return complete(made)
end

--- An observer with the settings of another one, and another function of one record.
function observer.like(hook, deliver)
  local made = {}
  for name, value in next, hook do made[name] = value end
  made.deliver, made.turns = deliver, made.turns and {}
  return complete(made)
end

-- The settings that an object of Koine's brings along, in its field `hook`.
local function own_hook(value)
  local ok, hook = pcall(function() return value.hook end)
  return ok and getmetatable(hook) == observer_mt and hook or nil
end

--- A checker of the option `observer`: a function of one record, or an object with a method `record`. Keeps a hook.
observer.option = check.that("function of one record, or object with a method record", function(value)
  if getmetatable(value) == observer_mt then return value end
  if type(value) == "function" then return observer.new { to = value } end
  if method_record(value) then return own_hook(value) or observer.new { to = value } end
end)

--- One observer of several hooks (an array): see fan.lua.
function observer.fan(hooks) return complete(require "koine.data.observer.fan"(hooks)) end

-- Spans -------------------------------------------------------------------------------------------------------------

local methods = {}

-- Makes `record`, the fields of a record (table), the whole record, and hands it to the observer. `within`: the context
-- or span of its parent, nil for none. `span`: the one that begins or ends, or whose attempt does; nil for a point.
-- That is noted when the record is whole: what fails before, for want of memory say, leaves the end to be told later,
-- and an end that the observer's own clock told is not told again.
local function deliver(hook, record, phase, type, trace, id, within, span)
  record.v = 1 -- one statement each: it costs half
  record.type = type
  record.phase = phase
  record.trace = trace
  record.id = id
  if within then record.parent = within.id elseif record.parent then record.parent = nil end
  record.time = hook.clock()
  if hook.attributes then record.attributes = capture.copy(hook.attributes) end
  if span then
    local begins = phase == "start"
    if id == span.id then
      if span.is_over ~= begins then return end
      span.is_over = not begins
    elseif begins then span.attempt = id
    elseif span.attempt == id then span.attempt = false
    else return end
  end
  local word, problem = hook.run(record)
  if word ~= true or hook.behind then go_on(hook, record, word, problem) end
end

--- What the parts of this work take as their parent: {trace, id, type, above = its parent's type, conversation}, and a
-- traceparent by tostring. The conversation (string, nil for none) is the span's field, which its parts inherit.
function methods:context()
  local own, within = self.own_context, self.within
  if not own then
    own = context.new { trace = self.trace, id = self.id, type = self.type, above = within and within.type or nil,
      hook = self.hook, conversation = self.conversation or within and within.conversation or nil }
    self.own_context = own
  end
  return own
end

--- Whether the observer wants content of this kind: "messages", "tools" or "deltas".
function methods:wants(kind) return self.hook.content and self.hook.content[kind] or false end

--- A value as records may hold it as content: a copy with strings cut to content_max and redacted, and words in place
-- of media. `secrets` (array of strings, nil: none) are redacted from now on, as those of all calls before are.
-- nil where the observer's redact raises or yields.
function methods:captured(value, secrets)
  capture.know(secrets)
  local ok, kept = apart(capture.content, value, self.hook)
  if ok then return kept end
  fail(kept)
end

-- What a record may hold of a field of an error: no table of the caller's.
local function plain(value)
  return (type(value) == "string" or type(value) == "number") and value or nil
end

-- What a record says of an error: any value that was raised or returned as one.
local function error_of(err)
  if errors.is_error(err) then
    return { class = plain(err.class), kind = plain(err.kind), code = plain(err.code),
      status_code = plain(err.status_code), message = plain(err.message) }
  end
  local ok, words = pcall(errors.words, err)
  return { class = "Error", kind = "other", message = core.error_line(ok and words or "an error without words") }
end

--- Tells that the work is over: with these fields (table, nil: none; kept) and the error that ended it, nil for none.
-- Only the first call does anything.
function methods:finish(fields, err)
  if self.is_over then return end
  fields = fields or {}
  fields.seconds = monotonic() - self.since
  if err ~= nil then fields.error = error_of(err) end
  deliver(self.hook, fields, "end", self.type, self.trace, self.id, self.within, self)
end

--- Tells that an attempt of this work begins, with these fields (table, kept). Work has one at a time, so that it needs
-- no span of its own: `attempt` is its id while it is under way. `since` as in observer.start.
function methods:begin_attempt(fields, since)
  local hook = self.hook
  if hook.behind and not takes_more(hook) then return end
  if since ~= self.since then self.attempt_since = since or monotonic() end -- the first mostly begins with the work
  deliver(hook, fields, "start", "attempt", self.trace, hook.ids(SPAN), self, self)
end

--- Tells that the attempt is over, as finish does of the work. Nothing where none is under way.
function methods:end_attempt(fields, err)
  local id = self.attempt
  if not id then return end
  fields = fields or {}
  fields.seconds = monotonic() - (self.attempt_since or self.since)
  if err ~= nil then fields.error = error_of(err) end
  deliver(self.hook, fields, "end", "attempt", self.trace, id, self, self)
end

local span_mt = { __index = methods, __name = "koine.observe.span" }

--- Ends work that is left without an end: by an error that goes on (`raised`), by a closed coroutine, or because nobody
-- holds it any more (nil). An attempt that is under way ends before.
function methods:break_off(raised)
  if self.is_over then return end
  local err = raised ~= nil and raised or errors.new { kind = "cancelled", message = "broken off" }
  self:end_attempt(nil, err)
  self:finish(nil, err)
end

span_mt.__close, span_mt.__gc = methods.break_off, methods.break_off

--- Tells of something that happened in the work of `parent` (a context or a span, nil: in none): a point of this type,
-- with these fields (table, nil: none; kept). `hook` is the room's own, nil for the parent's; nothing where neither has
-- one.
function observer.point(parent, type, fields, hook)
  hook = hook or parent and parent.hook
  if not hook or hook.behind and not takes_more(hook) then return end
  local trace = parent and parent.trace or hook.ids(TRACE)
  deliver(hook, fields or {}, "point", type, trace, hook.ids(SPAN), parent)
end

--- Begins a span: tells that work of this type begins, with these fields (table, nil: none; kept). `hook` is the
-- room's own, nil for the parent's; `parent` is a context or a span, nil where a trace begins. Returns the span; nil
-- where neither has a hook, and where the observer may not be told of it. `amend` (function(span, fields), nil: none)
-- is called before the record goes out, to add content. `since` (seconds of the monotonic clock, nil: now) is when the
-- work began.
function observer.start(hook, parent, type, fields, amend, since)
  hook = hook or parent and parent.hook
  if not hook or hook.behind and not takes_more(hook) then return nil end
  fields = fields or {}
  local trace, id
  if parent and parent.trace then trace, id = parent.trace, hook.ids(SPAN)
  else trace, id = hook.ids(TRACE, SPAN) end
  local self = setmetatable({ hook = hook, type = type, trace = trace, id = id, within = parent,
    since = since or monotonic(), is_over = true, attempt = false }, span_mt) -- over: until its start is told
  if amend then amend(self, fields) end
  deliver(hook, fields, "start", type, trace, id, parent, self)
  return self
end

return observer
