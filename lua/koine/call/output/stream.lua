--- The stream of an answer that shall have a shape: the deltas of the adapter's stream, between them those of the value
-- as it grows, and, where it does not fit in the end, those of the answers that the model gives instead. One object
-- with the methods of a Stream; it owns the adapter's stream of the round at hand.
-- Failures are those of the adapter's streams; an answer that does not fit is none.

local core = require "koine.core"
local asks = require "koine.call.output.ask"
local check = require "koine.data.check"
local defer = require "koine.task.defer"
local elements = require "koine.call.output.elements"
local errors = require "koine.data.errors"
local grow = require "koine.call.output.grow"
local queue = require "koine.task.queue"
local records = require "koine.data.records"
local refused = require "koine.call.output.refused"
local repair = require "koine.call.output.repair"
local settle = require "koine.call.output.settle"
local usage = require "koine.data.usage"
local wait = require "koine.task.wait"

local NOTHING <const> = {}

local methods = {}

local function finish(self, err)
  self.over, self.err = true, err
  return nil, err
end

-- Enters the attempts of an answer, or of an error, into what the call tried.
local function enter_attempts(self, list)
  for _, attempt in ipairs(list or NOTHING) do self.attempts[#self.attempts + 1] = attempt end
end

-- Enters a round's Response into what the call used and tried.
local function enter(self, response)
  self.last = response
  usage.add(self.usage, response.usage)
  enter_attempts(self, response.attempts)
  if self.round > 0 and #self.attempts > 0 then self.attempts[#self.attempts].kind = "repair" end
end

-- The last round's Response: what it says of usage and attempts counts all rounds.
local function whole(self, response)
  if self.round > 0 then core.annotate(response, "usage", usage.copy(self.usage)) end
  if #self.attempts > 0 then core.annotate(response, "attempts", self.attempts) end
  self.result = response
  return finish(self)
end

-- Ends the call with the error of a round: its attempts, and what its partial Response used, count all rounds. Where
-- nothing of that round arrived, the answer before it is what there is.
local function fail(self, err)
  enter_attempts(self, err.attempts)
  if #self.attempts > 0 then err.attempts = self.attempts end
  if self.round > 0 then
    if err.partial then usage.add(self.usage, err.partial.usage) else err.partial = self.last end
    if err.partial then core.annotate(err.partial, "usage", usage.copy(self.usage)) end
  end
  return finish(self, err)
end

-- Whether an error says only that this wait was broken off, or the adapter closed: the answer itself has not failed.
local function is_cancelled(err) return type(err) == "table" and err.kind == "cancelled" end

-- Begins the round that is due: true; nil, err where it cannot begin, or the reader was broken off.
local function begin_round(self)
  local source, err = self.begin(self.messages)
  if self.over then -- closed meanwhile
    if source then source:close() end
    return nil, self.err
  end
  if not source and is_cancelled(err) then return nil, err end
  if not source then return fail(self, err) end
  wait.disown(source) -- it is this stream's, which may belong to another task than the one that reads it now
  self.source, self.due, self.call, self.fed = source, false, nil, 0
  if self.shown then self.waiting:push { type = "output_reset" } end
  self.shown, self.view = false, grow(self.plan)
  if self.watched then self.view:watch(self.watched) end
  return true
end

-- The same, of another answer to these messages.
local function ask_again(self, messages)
  self.round, self.messages, self.due = self.round + 1, messages, true
  return begin_round(self)
end

-- Returns the model's text where the provider itself refuses an answer that does not fit (row.failed_output), or nil.
local function refused_text(self, err)
  local known = self.state.row.failed_output
  if not known or err.code ~= known.code then return nil end
  local body = err.raw and core.decode(err.raw)
  local text = type(body) == "table" and type(body.error) == "table" and body.error[known.field]
  return type(text) == "string" and text or nil
end

-- Whether a round failed because the schema is too complex, which is remembered, and may be asked for in another way.
local function is_too_complex(self, err)
  local plan = self.plan
  if not plan.schema or not asks.is_open(plan.spec) or not refused.says(err, self.state.quirks) then return false end
  refused.note(self.state, plan.schema, plan.beside)
  return true
end

-- A round failed: true when there is another round, or the same in another way; nil, err when the call is over.
local function fail_round(self, err)
  if is_too_complex(self, err) then
    enter_attempts(self, err.attempts)
    self.due = true
    return begin_round(self)
  end
  local text = self.round < self.plan.spec.repair and refused_text(self, err)
  if not text then
    settle.partial(self.plan, err.partial)
    return fail(self, err)
  end
  enter_attempts(self, err.attempts)
  return ask_again(self, repair.texts(self.messages, text, { message = err.message }))
end

-- Settles an answer: its output_error, nil for none. What the caller's check raises is raised every time from now on,
-- and ends the call: a check is not called again.
local function settled(self, response)
  local ok, problem = pcall(settle.response, self.plan, response)
  if ok then return problem end
  if self.over then return nil end -- closed meanwhile
  self.over, self.raised = true, { problem }
  error(problem, 0)
end

-- Raises again what the caller's check raised.
local function reraise(self)
  if self.raised then error(self.raised[1], 0) end
end

-- A round is over, with this Response or error: true when there is another round; nil, err when the call is over, or
-- the reader was broken off.
local function end_round(self, response, err)
  if not response and is_cancelled(err) then return nil, err end
  if not response then return fail_round(self, err) end
  local problem = settled(self, response)
  if self.over then return nil, self.err end -- closed while the caller's check ran
  if not problem then self.view:complete(response.output) end
  enter(self, response)
  if self.round < self.plan.spec.repair and repair.may_help(problem) then
    return ask_again(self, repair.messages(self.messages, response, problem))
  end
  return whole(self, response)
end

-- Ends the round of `source`, or begins the one that is due. One reader of several does so, the others wait for that.
-- True when there is more to read; nil, err when the call is over.
local function turn(self, source, response, err)
  local other = self.turning
  if other then
    if other.owner == coroutine.running() then
      core.raise_argument("stream", "a check that does not read the stream whose value it judges", "one that does")
    end
    local _, interrupted = wait.park(other)
    return not interrupted or nil, interrupted
  end
  if self.over or source ~= self.source then return true end -- another reader was faster
  local mine = { owner = coroutine.running() }
  local done <close> = defer(function() -- luacheck: ignore done
    self.turning = nil
    wait.wake(mine)
  end)
  self.turning = mine
  if self.due then return begin_round(self) end
  return end_round(self, response, err)
end

-- The value if it is text, else nil: deltas may be those of an adapter in Lua.
local function as_text(value) return type(value) == "string" and value or nil end

-- The text of a delta that belongs to the answer's value; nil or false for none.
local function text_of(self, delta)
  local tool = self.plan.tool
  if not tool then return delta.type == "text_delta" and as_text(delta.text) end
  if delta.type == "tool_use_start" and delta.tool_name == tool then
    self.call = self.call or delta.tool_call_id -- the first one's arguments are the answer
  end
  if delta.type == "tool_use_delta" and delta.tool_call_id == self.call then return as_text(delta.argument_delta) end
end

-- Queues what a delta adds to the value.
local function observe(self, delta)
  self.shown = true
  local text = text_of(self, delta)
  local grown = text and self.view:feed(text)
  if text then self.fed = self.fed + #text end
  for _, one in ipairs(grown or NOTHING) do self.waiting:push(one) end
end

--- The next delta; nil at the end; nil, err when the answer failed, the same error every time after. Raises what the
-- caller's check raises, then every time.
function methods:next()
  while true do
    if self.over then
      reraise(self)
      return nil, self.err
    end
    if self.waiting:count() > 0 then return self.waiting:pop() end
    local source, response, delta, err = self.source
    if not self.due then
      delta, err = source:next()
      if delta and not self.over then
        observe(self, delta)
        return delta
      end
      if not err and not self.over then response, err = source:response() end
    end
    local goes_on, failure = turn(self, source, response, err)
    if not goes_on and failure then return nil, failure end
  end
end

--- The Response of the last round, the same object every time; reads what is left of the answer first. nil, err when
-- the answer failed. Raises as next does.
function methods:response()
  while not self.over do
    local source, response, err = self.source
    if not self.due then response, err = source:response() end
    local goes_on, failure = turn(self, source, response, err)
    if not goes_on and not self.over then return nil, failure end -- interrupted while another reader had its turn
  end
  reraise(self)
  return self.result, self.err
end

-- Reads into the view what the answer says beyond the deltas that were taken: response() reads the rest by itself, and
-- a model may write text where a call was asked for. Returns the value in the end.
local function catch_up(self)
  local text, value = settle.said(self.result), self.result.output
  if self.fed < #text then
    self.view:feed(text:sub(self.fed + 1))
    self.fed = #text
    if value ~= nil then self.view:complete(value) end
  end
  local grown = self.view:value()
  if value == nil or type(value) == "table" and records.equal(grown, value) then return grown end
  return value -- what grew were words around it that looked like JSON
end

--- The value so far, the same table every time until an output_reset; nil before there is one. That of the Response in
-- the end, where words before it looked like JSON.
function methods:output()
  if self.final == nil and self.result then self.final = catch_up(self) end
  if self.final ~= nil then return self.final end
  return self.view:value()
end

local function step(self)
  local delta, err = self:next()
  if err then error(err, 0) end
  return delta
end

local POINTER = check.that('path of an array, such as "/items", or ""', function(path)
  if path == "" or type(path) == "string" and path:find "^/" then return path end
end)

-- The index (from 1) of the element that a delta made whole, nil where it made none.
local function index_of(delta, pattern)
  if delta.type ~= "output_delta" or not delta.complete or type(delta.path) ~= "string" then return nil end
  local index = delta.path:match(pattern)
  return index and math.tointeger(tonumber(index)) + 1
end

-- Whether an answer held a whole value, also one that does not fit.
local function is_whole(response)
  return response.output ~= nil or response.output_error ~= nil and response.output_error.code == "invalid"
end

--- The elements of the array at `path` (a JSON pointer) for a generic for, each once, when it is whole: the element,
-- and nil or what is wrong with it by the array's `items` alone. Those that were whole before come with the next one.
-- Raises the error of an answer that fails, and an ArgumentError for a path at which the schema has no array. Elements
-- of another answer, where there is one, follow.
function methods:elements(path)
  POINTER(path, "path")
  local schema = self.plan.spec.schema
  if schema and not elements.may_be(schema, path) then
    errors.argument("path", "path of an array in the schema", path)
  end
  local steps, judged = select(2, path:gsub("/", "")) + 1, elements.judge(schema, path)
  self.view:watch(steps)
  self.watched = steps
  local pattern = "^" .. path:gsub("%p", "%%%0") .. "/(%d+)$"
  local given, ready = 0, 0 -- elements of this answer
  return function()
    while true do
      while given < ready do
        given = given + 1
        local element = elements.at(self:output(), path, given)
        if element ~= nil then return judged(element, given) end
      end
      local delta = step(self)
      if not delta then
        if not is_whole(self.result) then return nil end
        ready = elements.count(self:output(), path)
        if given >= ready then return nil end
      elseif delta.type == "output_reset" then
        given, ready = 0, 0
      else
        local index = index_of(delta, pattern)
        if index and index <= given then given = index - 1 end -- an array of the same name began
        ready = index or ready
      end
    end
  end, nil, nil, self
end

--- Ends the answer. Before its end, next() and response() give a CancelledError from now on. May be called any number
-- of times, at any time.
function methods:close()
  if not self.over then
    finish(self, errors.new { kind = "cancelled", provider = self.state.row.name, message = "the stream was closed" })
  end
  self.source:close()
end

--- Returns the counts of the adapter's stream of this round, a table.
function methods:stats() return self.source:stats() end

--- The four values of a generic for over the deltas; leaving the loop closes the stream, and a failing answer raises
-- its error.
function methods:deltas() return step, self, nil, self end

local stream_mt = { __index = methods, __name = "koine.stream", __close = methods.close }

--- Makes the stream of a call. `begin` is function(messages) → the adapter's stream of a round, or nil, err; `messages`
-- (array) are those of the first; `plan` is what ask.plan gave, `state` the adapter's private table. A stream, or nil,
-- err.
return function(begin, messages, plan, state)
  local source, err = begin(messages)
  if not source then return nil, err end
  messages = table.move(messages, 1, #messages, 1, {}) -- a repair goes on with what they were
  local made = setmetatable({ begin = begin, messages = messages, plan = plan, state = state, source = source,
    view = grow(plan), waiting = queue.new(), due = false, round = 0, fed = 0, usage = usage.zero(),
    attempts = {} }, stream_mt)
  wait.disown(source)
  wait.adopt(made)
  return made
end
