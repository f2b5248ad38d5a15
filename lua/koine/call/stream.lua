--- Waits for the deltas of a stream and, as long as none was handed out, makes failed attempts again.
-- Adds next, response and deltas to the methods of the core's `koine.stream` userdata (stats, __close are C's).

local core = require "koine.core"
local attempt = require "koine.call.attempt"
local chat = require "koine.call.attempt.chat"
local defer = require "koine.task.defer"
local errors = require "koine.data.errors"
local rows = require "koine.provider"
local wait = require "koine.task.wait"

local stream = {}
local methods = core.stream_methods
local poll, settle_in_core = methods.poll, methods.settle

local observe -- koine.call.observe, once a call is observed

-- Frees the request, which may be large: there will be no other attempt.
local function forget_request(call)
  call.outgoing, call.request, call.rendered, call.credentials = nil, nil, nil, nil
  call.messages, call.body, call.renderings = nil, nil, nil
end

-- Decides about a stream whose attempt failed: true when there is another attempt; else nil and the error, the same
-- from then on.
local function recover(self, call, err)
  if call.failure then return nil, call.failure end
  local again = false
  call.failure = err -- what remains when on_retry raises
  if call.watch then call.watch:finish(err) end
  if call.span then observe.attempt_over(call, err.partial, (core.figures(self)), err) end
  local delivered = self:delivered()
  if delivered or call.closed then
    chat.ledger(call):enter(err)
    if not delivered then err = attempt.closed(call) end -- also where who was told of the failure closes it
  else
    if not call.outgoing then chat.unfold(call) end
    again, err = attempt.again(call, err)
    if again then again, err = attempt.start(call, self)
    else require "koine.data.name_url"(err, call.outgoing.url, call.outgoing.secrets) end
  end
  call.failure = err
  if not again then
    if call.span then observe.chat_over(call, nil, self, err) end
    forget_request(call)
  end
  return again, err
end

-- Seconds that the core may wait by itself: a signal's handler runs as soon as Lua code does.
local SETTLE = 1

-- What answers of an adapter with this row cost.
local function prices_of(row)
  return core.prices(function(model) return rows.pricing(rows.family(row, model)) end)
end

-- The Response of an answer that is over, complete. Most programs do not look at its cost and its attempts: the core
-- makes these when they are asked for.
local function settle(self, call)
  local response, state = self:finish(), call.state
  if call.finished then return response end
  call.finished = true
  local attempts = call.ledger and call.ledger.attempts
  if attempts and attempts[1] then
    attempts[#attempts + 1] = { status_code = response.status_code, waited = 0 }
    core.annotate(response, "attempts", attempts)
  end
  state.prices = state.prices or prices_of(state.row)
  core.price(response, state.prices)
  if call.span then observe.chat_over(call, response, self) end
  return response
end

local tells_of_close = false -- whether closing a stream by <close> tells those who look at it
local tells = false -- whether somebody in this Lua state asked to be told of a stream's deltas or bytes (net/raw)

-- The stream's call where somebody did of this one; else false or nil. Only asked for where `tells`.
local function told_of(self)
  local call = core.state(self)
  return call and (call.tells_deltas or call.watch) and call
end

-- Takes poll's results, then waits, polls and makes new attempts until one is for the caller: the next delta, or nil at
-- the end; when discarding, the end alone. nil, err when the answer failed. The end is nobody's news: whoever finds it
-- wakes others who wait for the stream (one whom a finalizer interrupted).
local function proceed(self, discard, delta, err, first)
  local told = tells and told_of(self)
  while true do
    if told and told.watch then told.watch:drain(err) end -- another one in each attempt
    if delta == true then -- much was read, and it gave no delta
      local _, interrupted = wait.sleep(0)
      if interrupted then return nil, interrupted end
    elseif delta then
      if first then forget_request(core.state(self)) end
      if told and told.tells_deltas then observe.delta(told, delta) end
      return delta
    elseif err then
      local again
      again, err = recover(self, core.state(self), err)
      if not again then
        wait.wake(self)
        return nil, err
      end
    elseif delta == false then
      if told or not wait.only_steps(self) or not settle_in_core(self, SETTLE, true) then
        local _, interrupted = wait.park(self)
        if interrupted then return nil, interrupted end
      end
    else
      local call = core.state(self)
      if told and told.watch then told.watch:finish() end
      if call.span and not call.finished then settle(self, call) end
      forget_request(call)
      wait.wake(self)
      return nil
    end
    delta, err, first = poll(self, discard)
  end
end

local function advance(self, discard) return proceed(self, discard, poll(self, discard)) end

--- The next delta, waiting for it; nil at the end of the answer; nil, err when the answer failed, the same error from
-- then on. Attempts that fail before the first delta are made again as the option `retry` says.
function methods:next() return advance(self) end

--- The whole answer as a Response, after reading what is left of it; the same object every time. nil, err when it
-- failed: err.partial is then a Response with what had arrived.
function methods:response()
  if wait.only_steps(self) and not (tells and told_of(self)) then settle_in_core(self, SETTLE) end
  while true do
    local told = tells and told_of(self)
    local delta, err = advance(self, not (told and told.tells_deltas))
    if err then return nil, err end
    if delta == nil then break end
  end
  return settle(self, core.state(self))
end

-- Most deltas are there when they are asked for: these come from the core without a Lua function.
local iterator = core.stream_iterator(function(self, ...)
  local delta, err = proceed(self, false, ...)
  if err then error(err, 0) end
  return delta
end)

-- Each delta through Lua, where somebody is told of it, or of the bytes in time.
local function step(self)
  local delta, err = advance(self, false)
  if err then error(err, 0) end
  return delta
end

--- The deltas for a generic for: `for delta in stream:deltas() do … end`. Leaving the loop in any way closes the
-- stream. An answer that fails raises its error.
function methods:deltas() return tells and told_of(self) and step or iterator(self), self, nil, self end

local function no_output() errors.argument("output", "option of this call: {schema = JSON Schema}", nil) end

--- Raise an ArgumentError: only the stream of a call with the option `output` has a value that grows
-- (output/stream.lua).
methods.output, methods.elements = no_output, no_output

local close = methods.close

local function cancelled(call)
  return errors.new { kind = "cancelled", provider = call.state.row.name, message = "the stream was closed" }
end

--- Cancels what is in flight. Any number of times; an answer that waits for its next attempt makes none, and a
-- coroutine that waits for the next delta gets the CancelledError.
function methods:close()
  local call = core.state(self)
  if call and call.finished then -- nobody waits for it
    close(self)
    return
  end
  if call then
    call.closed = true
    if call.ledger then call.ledger:stop() end
    local span = call.span
    if span and not span.is_over then
      observe.chat_over(call, nil, self, cancelled(call))
    end
  end
  close(self)
  if call and call.watch then call.watch:finish() end
  wait.wake(self)
end

-- Ends the span of a call that is left before it has a stream.
local function watch(call)
  return defer(function(raised) observe.chat_over(call, nil, nil, raised or cancelled(call)) end)
end

-- Makes the attempts of a call until one starts. `failed` is the error of one that did not, nil for none.
local function start(call, failed)
  local watching <close> = call.span and watch(call)
  local opened, err = attempt.start(call, nil, failed)
  if watching then watching:cancel() end
  if not opened and call.span then observe.chat_over(call, nil, nil, err) end
  return opened, err
end

--- Starts a call: the stream, or nil, err.
function stream.open(call)
  local settings = call.settings
  local observed = call.streaming ~= nil and (settings.observer or settings.parent)
  if observed then observe = observe or require "koine.call.observe" end
  local opened, err
  if not call.outgoing then
    local since = observed and wait.now()
    opened, err = chat.begin(call)
    if observed and opened ~= false then observe.begun(call, since, err) end
  end
  if not opened then
    if not call.ledger then chat.unfold(call) end
    if observed and not call.span then observe.chat(call) end
    opened, err = start(call, err)
    if not opened then return nil, err end
  end
  if call.span or call.watch then
    if call.span and call.streaming then call.tells_deltas = call.span:wants "deltas" end
    tells = tells or call.tells_deltas or call.watch ~= nil
    if not tells_of_close then
      getmetatable(opened).__close, tells_of_close = methods.close, true -- the core's tells nobody
    end
  end
  wait.adopt(opened)
  return opened
end

return stream
