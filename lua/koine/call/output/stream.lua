--- The stream of an answer that shall have a shape: the deltas of the adapter's stream, between them those of the value
-- as it grows, and, where it does not fit in the end, those of the answers that the model gives instead. One object
-- with the methods of a Stream; it owns the adapter's stream of the round at hand.
-- Failures are those of the adapter's streams; an answer that does not fit is none.

local core = require "koine.core"
local check = require "koine.data.check"
local elements = require "koine.call.output.elements"
local errors = require "koine.data.errors"
local grow = require "koine.call.output.grow"
local queue = require "koine.task.queue"
local repair = require "koine.call.output.repair"
local settle = require "koine.call.output.settle"
local usage = require "koine.data.usage"

local NOTHING <const> = {}

local methods = {}

local function finish(self, err)
  self.over, self.err = true, err
  return nil, err
end

-- Enters a round's Response into what the call used and tried.
local function enter(self, response)
  usage.add(self.usage, response.usage)
  for _, attempt in ipairs(response.attempts or {}) do self.attempts[#self.attempts + 1] = attempt end
  if self.round > 0 and #self.attempts > 0 then self.attempts[#self.attempts].kind = "repair" end
end

-- The last round's Response: what it says of usage and attempts counts all rounds.
local function whole(self, response)
  if self.round > 0 then
    core.annotate(response, "usage", usage.copy(self.usage))
    core.annotate(response, "attempts", self.attempts)
  end
  self.result = response
  return finish(self)
end

-- Ends the call with the error of a round: its attempts, and what its partial Response used, count all rounds.
local function fail(self, err)
  local partial = err.partial
  if self.round > 0 then
    local own = err.attempts or {}
    err.attempts = table.move(own, 1, #own, #self.attempts + 1, self.attempts)
    if partial then
      usage.add(self.usage, partial.usage)
      core.annotate(partial, "usage", usage.copy(self.usage))
    end
  end
  return finish(self, err)
end

-- Begins the next round with these messages: true; nil, err where it cannot begin.
local function ask_again(self, messages)
  self.round = self.round + 1
  self.messages = messages
  local source, err = self.begin(self.messages)
  if self.over then -- closed meanwhile
    if source then source:close() end
    return nil, self.err
  end
  if not source then return fail(self, err) end
  self.source, self.call, self.fed = source, nil, 0
  if self.shown then self.waiting:push { type = "output_reset" } end
  self.shown, self.view = false, grow(self.plan)
  if self.watched then self.view:watch(self.watched) end
  return true
end

-- Returns the model's text where the provider itself refuses an answer that does not fit (row.failed_output), or nil.
local function refused_text(self, err)
  local known = self.state.row.failed_output
  if not known or err.code ~= known.code then return nil end
  local body = err.raw and core.decode(err.raw)
  local text = type(body) == "table" and type(body.error) == "table" and body.error[known.field]
  return type(text) == "string" and text or nil
end

-- A round failed: true when there is another round; nil, err when the call is over.
local function fail_round(self, err)
  local text = self.round < self.plan.spec.repair and refused_text(self, err)
  if not text then
    settle.partial(self.plan, err.partial)
    return fail(self, err)
  end
  for _, attempt in ipairs(err.attempts or {}) do self.attempts[#self.attempts + 1] = attempt end
  return ask_again(self, repair.texts(self.messages, text, { message = err.message }))
end

-- A round's answer is complete: true when there is another round; nil, err when the call is over.
local function end_round(self)
  local response, err = self.source:response()
  if self.over then return nil, self.err end -- closed meanwhile
  if not response then return fail_round(self, err) end
  local problem = settle.response(self.plan, response)
  if self.over then return nil, self.err end -- closed by the caller's check
  if self.plan.nullable and not problem then self.view:complete(response.output) end
  enter(self, response)
  if self.round < self.plan.spec.repair and repair.may_help(problem) then
    return ask_again(self, repair.messages(self.messages, response, problem))
  end
  return whole(self, response)
end

-- The text of a delta that belongs to the answer's value, or nil.
local function text_of(self, delta)
  local tool = self.plan.tool
  if not tool then return delta.type == "text_delta" and delta.text or nil end
  if delta.type == "tool_use_start" and delta.tool_name == tool then
    self.call = self.call or delta.tool_call_id -- the first one's arguments are the answer
  end
  if delta.type == "tool_use_delta" and delta.tool_call_id == self.call then return delta.argument_delta end
end

-- Queues what a delta adds to the value.
local function observe(self, delta)
  self.shown = true
  local text = text_of(self, delta)
  local grown = text and self.view:feed(text)
  if text then self.fed = self.fed + #text end
  for _, one in ipairs(grown or NOTHING) do self.waiting:push(one) end
end

--- The next delta; nil at the end; nil, err when the answer failed, the same error every time after.
function methods:next()
  repeat
    if self.over then return nil, self.err end
    if self.waiting:count() > 0 then return self.waiting:pop() end
    local delta, err = self.source:next()
    if self.over then return nil, self.err end -- closed meanwhile
    if delta then
      observe(self, delta)
      return delta
    end
    local goes_on
    if err then goes_on = fail_round(self, err) else goes_on = end_round(self) end
  until not goes_on
  return nil, self.err
end

--- The Response of the last round, the same object every time; reads what is left of the answer first. nil, err when
-- the answer failed.
function methods:response()
  while not self.over do end_round(self) end
  return self.result, self.err
end

-- Reads into the view what the answer says beyond the deltas that were taken: response() reads the rest by itself, and
-- a model may write text where a call was asked for.
local function catch_up(self)
  local text = settle.said(self.result)
  if self.fed >= #text then return end
  self.view:feed(text:sub(self.fed + 1))
  self.fed = #text
  if self.plan.nullable and self.result.output ~= nil then self.view:complete(self.result.output) end
end

--- The value so far, the same table every time until an output_reset; nil before there is one.
function methods:output()
  if self.result then catch_up(self) end
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

--- The elements of the array at `path` (a JSON pointer) for a generic for, each once, when it is whole: the element,
-- and nil or what is wrong with it by the array's `items` alone. Raises the error of an answer that fails. Elements of
-- another answer, where there is one, follow.
function methods:elements(path)
  POINTER(path, "path")
  local steps, judge = select(2, path:gsub("/", "")) + 1, elements.judge(self.plan.spec.schema, path)
  self.view:watch(steps)
  self.watched = steps
  local pattern = "^" .. path:gsub("%p", "%%%0") .. "/(%d+)$"
  return function()
    for delta in step, self do
      local index = delta.type == "output_delta" and delta.complete and delta.path:match(pattern)
      if index then
        local element = elements.at(delta.value, path, math.tointeger(index) + 1)
        return element, judge(element)
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
  return setmetatable({ begin = begin, messages = messages, plan = plan, state = state, source = source,
    view = grow(plan), waiting = queue.new(), round = 0, fed = 0, usage = usage.zero(), attempts = {} }, stream_mt)
end
