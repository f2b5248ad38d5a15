--- Adapters written in Lua: one primitive makes a whole adapter.
-- The primitive, `open`, starts one answer and returns an object with three methods; chat, stream, text and open of the
-- adapter are derived from it, with the checks of messages and options that every adapter makes. The other
-- methods have defaults here.

local check = require "koine.data.check"
local checked = require "koine.data.records.checked"
local core = require "koine.core"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local observe = require "koine.call.observe"
local observer = require "koine.data.observer"
local options = require "koine.call.options"
local pieces = require "koine.call.pieces"
local vocabulary = require "koine.data.vocabulary"
local wait = require "koine.task.wait"

local EFFORTS = check.list(check.name, "array of strings")

-- The results of an author's functions ------------------------------------------------------------------------------

-- The error of an author's method: the adapter's name, the method's, and what is wrong.
local function problem(name, method, what)
  return errors.new { kind = "other", message = ("%s: %s%s"):format(name, method, what) }
end

-- The error that an author's method returned beside nil: an error table as it is, or one that says what there was.
local function failure(name, method, expected, err)
  if type(err) == "table" then return err end
  if err == nil then return problem(name, method, (" gave neither a %s nor an error"):format(expected)) end
  return problem(name, method, ": " .. tostring(err))
end

-- The error of a method that returned something else than it should have.
local function mistaken(name, method, expected, words)
  return problem(name, method, (" gave no %s, but %s"):format(expected, words))
end

local function is_object(value) return type(value) == "table" or type(value) == "userdata" end

-- A Response with the calls of this tool marked as the answer itself, which is none to make.
local function marked(response, tool)
  local fields, found = response:to_table(), false
  for _, block in ipairs(fields.content) do
    if block.type == "tool_use" and block.name == tool then block.output, found = true, true end
  end
  if not found then return response end
  fields.tool_calls = nil
  if fields.stop_reason == "tool_use" then fields.stop_reason = "end_turn" end
  return core.response(fields)
end

-- Streams: the object around what a primitive returned: {name (the adapter's), source (that object), tool = name of the
-- tool whose call is the answer, nil: none; of an observed one call (see observe.custom), since, first_delta} ---------

local stream = {}

local function finish(self, err)
  self.over, self.err = true, err
  if self.call and err ~= nil then observe.chat_over(self.call, nil, self, err) end
  return nil, err
end

-- Asks an observed answer for its Response when it is over, which has the usage. What that raises is the caller's, who
-- may not ask.
local function settle(self)
  local ok, raised = pcall(self.response, self)
  if not ok then self.problem, self.answering = { raised }, false end
end

--- The next delta; nil at the end; nil, err when the answer failed, the same error every time after.
function stream:next()
  if self.over then return nil, self.err end
  local delta, err = self.source:next()
  if self.over then return nil, self.err end -- closed meanwhile
  if delta == nil then
    finish(self, err ~= nil and failure(self.name, "next", "delta", err) or nil)
    err = self.err
    if self.call and not err then settle(self) end
    return nil, err
  end
  if self.call and not self.first_delta then self.first_delta = core.monotonic() - self.since end
  if type(delta) == "table" and (vocabulary.deltas[delta.type] or vocabulary.output_deltas[delta.type]) then
    if self.call and self.call.tells_deltas then observe.delta(self.call, delta) end
    return delta
  end
  local words = type(delta) == "table" and "one of type " .. errors.describe(delta.type) or errors.describe(delta)
  return finish(self, mistaken(self.name, "next", "delta", words))
end

--- The Response, the same object every time; reads what is left of the answer first. nil, err when the answer failed.
function stream:response()
  while not self.over do self:next() end
  if self.err then return nil, self.err end
  if self.problem then error(self.problem[1], 0) end
  if not self.result then
    self.answering = true
    local result, err = self.source:response()
    self.answering = false
    if self.err then return nil, self.err end -- closed meanwhile
    if result == nil then return finish(self, failure(self.name, "response", "response", err)) end
    if not is_object(result) then
      return finish(self, mistaken(self.name, "response", "response", errors.describe(result)))
    end
    result = type(result) == "table" and core.response(result) or result
    self.result = self.tool and marked(result, self.tool) or result
    if self.call then observe.chat_over(self.call, self.result, self) end
  end
  return self.result
end

--- Ends the answer. Before its end, next() and response() give a CancelledError from now on. May be called any number
-- of times, at any time.
function stream:close()
  if not self.over or self.answering then
    finish(self, errors.new { kind = "cancelled", message = "the stream was closed" })
  end
  if self.call then observe.chat_over(self.call, nil, self, self.problem and self.problem[1]) end
  local source = self.source
  if self.closed or not source.close then return end
  self.closed = true
  source:close()
end

--- Returns the counts of the primitive's object, a table; empty when it counts nothing.
function stream:stats() return self.source.stats and self.source:stats() or {} end

local function step(self)
  local delta, err = self:next()
  if err then error(err, 0) end
  return delta
end

--- The four values of a generic for over the deltas; leaving the loop closes the stream, and a failing answer raises
-- its error.
function stream:deltas() return step, self, nil, self end

local stream_mt = { __index = stream, __name = "koine.stream", __close = stream.close, __gc = stream.close }

-- The derived methods -----------------------------------------------------------------------------------------------

-- Whether a value is empty. A table with other keys than an array's is not: core.check refuses it.
local function is_empty(value) return value == "" or type(value) == "table" and next(value) == nil end

-- The options in force: those given to the constructor, under those of the call: a fresh plain table, and the call's
-- settings.
local function in_force(settings, given_to_constructor, opts)
  local call, all = options.call(opts, settings), {}
  for name in next, given_to_constructor do all[name] = settings[name] end
  for name in next, opts or {} do all[name] = call[name] end
  if is_empty(all.tools) then all.tools = nil end
  if is_empty(all.system) then all.system = nil end
  all.model = settings.model
  return all, call
end

-- Calls the primitive: the object of an answer, or nil, err.
local function ask(adapter, primitive, messages, all)
  local name, source, err = adapter:provider_name(), primitive(adapter, messages, all)
  if source == nil then return nil, failure(name, "open", "stream", err) end
  if not is_object(source) or not source.next or not source.response then
    return nil, mistaken(name, "open", "stream (next, response)", errors.describe(source))
  end
  return source
end

-- The same, observed.
local function ask_observed(call, ...)
  local watching <close> = defer(function(raised)
    observe.chat_over(call, nil, nil, raised or errors.new { kind = "cancelled", message = "the chat was broken off" })
  end)
  local source, err = ask(...)
  watching:cancel()
  if not source then observe.chat_over(call, nil, nil, err) end
  return source, err
end

-- Checks a call, then starts it with the primitive. A stream, or nil, err.
local function start_plain(adapter, made, messages, all, settings)
  messages = check.messages(messages)
  local note = checked.take(messages, adapter)
  core.check({ model = all.model, messages = messages, system = all.system, tools = all.tools,
    tool_choice = all.tool_choice }, note and note.known)
  if note then note.passed = true end
  all.on_delta, all.observer = nil, nil
  local name, since, call = adapter:provider_name(), core.monotonic(), nil
  if made.passes_on then all.parent = observer.through(settings.observer, settings.parent)
  else call = observe.custom(name, messages, all, settings) end
  local source, err
  if call then source, err = ask_observed(call, adapter, made.open, messages, all)
  else source, err = ask(adapter, made.open, messages, all) end
  if not source then return nil, err end
  local opened = setmetatable({ name = name, source = source, call = call, since = since }, stream_mt)
  wait.adopt(opened)
  return opened
end

-- The quirks of an author's adapter where an answer shall have a shape: the model is asked for it in words, unless the
-- caller wants a tool.
local IN_WORDS = { structured = "none", no_tools = true }

-- The same, of an answer with a shape too; `settings` are those of the call.
local function start(adapter, made, messages, all, settings)
  if not settings.output then return start_plain(adapter, made, messages, all, settings) end
  all.output = nil
  local state = { row = { name = adapter:provider_name() }, quirks = IN_WORDS }
  return require "koine.call.output"(state, check.messages(messages), settings, function(list, amend)
    local round = {}
    for name, value in next, all do round[name] = value end
    local tool = amend(round)
    local opened, err = start_plain(adapter, made, list, round, settings)
    if opened then opened.tool = tool end
    return opened, err
  end)
end

-- A loop around the stream: the Response, or nil, err. An error of `on_delta` closes the answer and goes on unchanged.
local function consume(opened, on_delta)
  local reading <close> = opened
  for delta in reading.next, reading do
    if on_delta then on_delta(delta) end
  end
  return reading:response()
end

local function derive(adapter, definition)
  local given = definition.options or {}
  local settings = options.constructor(given, { efforts = definition.efforts })
  local function called(self, method, opts)
    if type(self) ~= "table" then errors.argument("self", "an adapter (methods are called with a colon)", self) end
    if not definition.open then errors.not_implemented(self:provider_name(), method) end
    local all, call = in_force(settings, given, opts)
    if definition.carries_output and opts then all.output, call.output = opts.output, nil end
    return all, call
  end

  --- Reads an answer to its end: a Response, or nil, err. `messages` is a string or an array of messages, `opts` a
  -- table of call options (call/options), nil for none; opts.on_delta is called for every delta. Raises an
  -- ArgumentError for what is wrong with them, and what on_delta raises.
  function adapter:chat(messages, opts)
    local all, call = called(self, "chat", opts)
    local on_delta = all.stream ~= false and all.on_delta or nil
    all.stream = all.stream or on_delta ~= nil
    local opened, err = start(self, definition, messages, all, call)
    if not opened then return nil, err end
    return consume(opened, on_delta)
  end

  local function open(self, method, messages, opts)
    local all, call = called(self, method, opts)
    all.stream = true
    return start(self, definition, messages, all, call)
  end

  --- Starts an answer: its stream (next, response, deltas, close, stats), or nil, err. Arguments as for chat.
  function adapter:open(messages, opts) return open(self, "open", messages, opts) end

  --- The deltas of an answer for a generic for; raises the error of an answer that fails. Arguments as for chat.
  function adapter:stream(messages, opts)
    local opened, err = open(self, "stream", messages, opts)
    if not opened then error(err, 0) end
    return opened:deltas()
  end

  --- The text of an answer, piece by piece, for a generic for; see call/adapter. Arguments as for chat.
  function adapter:text(messages, opts)
    pieces.check(opts)
    return pieces.of(open(self, "text", messages, opts))
  end

  --- A value of a shape, and the Response it came in, or nil, err; see call/adapter. Arguments as for chat.
  function adapter:object(messages, opts) return require "koine.call.output.object"(self, messages, opts) end

  --- The model that the constructor was given (string); raises a NotImplementedError when it was given none.
  function adapter:model_name()
    if not settings.model then errors.not_implemented(self:provider_name(), "model_name") end
    return settings.model
  end
end

-- Defaults of the other methods -------------------------------------------------------------------------------------

local defaults = {}

--- Tokens of the request: -1, not supported.
function defaults.count_tokens() return -1 end

--- Raises a NotImplementedError.
function defaults:list_models() errors.not_implemented(self:provider_name(), "list_models") end

--- Raises a NotImplementedError.
function defaults:embed() errors.not_implemented(self:provider_name(), "embed") end

--- Raises a NotImplementedError.
function defaults:model_info() errors.not_implemented(self:provider_name(), "model_info") end

--- Raises a NotImplementedError.
function defaults:pull() errors.not_implemented(self:provider_name(), "pull") end

--- The model's context in tokens: nil, unknown.
function defaults.max_context_tokens() return nil end

--- Quotas: nil, none known.
function defaults.usage_report() return nil end

--- Logs in: does nothing.
function defaults.authenticate() return true end

--- Whether credentials are there: true, none are needed.
function defaults.authenticated() return true end

--- Forgets credentials: there are none.
function defaults.logout() return nil end

local closed = setmetatable({}, { __mode = "k" }) -- adapters

--- Marks the adapter as closed; there is nothing to free.
function defaults:close() closed[self] = true end

--- Whether `close` was called: a boolean.
function defaults:closed() return closed[self] == true end

local adapter_mt = { __index = defaults, __name = "koine.adapter", __close = function(self) self:close() end }

-- What are no fields of the adapter.
local CONSUMED = { name = true, open = true, options = true, carries_output = true, passes_on = true }

--- Makes an adapter of a definition:
--   name     string, required: what provider_name() returns and errors name
--   open     function(self, messages, opts) → the object of an answer, or nil, err. `messages` is an array, checked,
--            the caller's own (read only); `opts` a fresh table of the options in force: those of the call over those
--            of the constructor, checked, without empty tools and system; `model`; and `stream` = whether the caller
--            wants deltas. The object has
--              next()      a delta | nil at the end | nil, err
--              response()  a Response, or a table that koine.response takes | nil, err; called once, after the end
--              close()     optional; called once, also after an error
--              stats()     optional; a table of counts
--            All state of an answer belongs in that object: one adapter serves many calls at once.
--            A function that returns anything else ends the answer with an error that names it and the adapter.
--   carries_output  true: `open` takes the option `output` as it was given; else the model is asked in words for JSON
--            of that shape, and `open` sees only the longer system prompt
--   passes_on  true: its chats are those of other adapters, which observers are told of in its place; `open` hands them
--            opts.parent
--   efforts  array of words that `thinking` may be besides low, medium and high; nil: none
--   options  the constructor's options (`model`, `max_tokens`, `thinking`, …): checked here, defaults of every call
-- and any method to put in place of a default (embed, list_models, count_tokens, …), and any other field.
-- Without `open` or without a model, the methods that need them raise a NotImplementedError. Raises an ArgumentError
-- naming the bad field.
return function(definition)
  if type(definition) ~= "table" then check.refuse("definition", "table", definition) end
  local name = definition.name
  check.nonempty(name, "name")
  if definition.open ~= nil then check.func(definition.open, "open") end
  if definition.efforts ~= nil then EFFORTS(definition.efforts, "efforts") end
  local adapter = setmetatable({ provider_name = function() return name end }, adapter_mt)
  derive(adapter, definition)
  for key, value in next, definition do
    if not CONSUMED[key] then adapter[key] = value end
  end
  return adapter
end
