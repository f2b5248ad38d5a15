--- One dispatch: a batch of a lane becomes one turn of the target, and one record.
-- A turn is {dispatcher, lane, thread, batch, blocks, ctx, record, release, coroutine, …}:
--   began               milliseconds of the dispatcher's clock, when it was formed
--   begun               its coroutine has it, and will end it
--   cancelled_at        when it was cancelled, nil when it was not
--   ended, raised       its coroutine is closed; what was raised in it, false for nothing
--   outcome, result, err  how it ended, for the record and the hooks
--   later               true: its end is told by turns.finish, which the dispatcher calls once it has stored the turn
--   withdrawn           its messages belong to others again: what the record says of its end; no other hook is told
--   over                its hooks were told, and it was counted
--   span                its span, until it is over, where it is observed; false else
--   announced, told     how many calls of on_queued, and of the hooks at its end, were issued
-- It has the session of its thread from `form` to `release`. Once it runs, it ends in exactly one way, also when its
-- coroutine is closed.

local check = require "koine.data.check"
local due = require "koine.dispatch.due"
local errors = require "koine.data.errors"
local lanes = require "koine.dispatch.lane"
local packing = require "koine.dispatch.packing"
local hooks = require "koine.dispatch.hooks"
local observe = require "koine.dispatch.observe"

local turns = {}

local turn_mt = {}

-- The record of a batch that is formed at `now`: its counts and labels. The turn adds how it ended.
local function new_record(dispatcher, lane, batch, now)
  local thread, last = lane.thread, batch[#batch].thread
  local record = { events_per_dispatch = #batch, context_tokens_per_event = {}, tokens_per_event = {},
    envelope_tokens_per_dispatch = 0, wait_ms = {}, senders = {}, thread_key = lanes.key(lane),
    session_key = thread.key, channel_id = last.channel_id or last.thread_id, adapter = last.platform,
    mode = dispatcher.mode }
  local seen = {}
  for i, event in ipairs(batch) do
    record.wait_ms[i] = now - event.arrived_at
    record.tokens_per_event[i], record.context_tokens_per_event[i] = event.tokens, event.envelope_tokens
    record.envelope_tokens_per_dispatch = record.envelope_tokens_per_dispatch + event.envelope_tokens
    local name = event.sender_name
    if name and not seen[name] then
      seen[name] = true
      record.senders[#record.senders + 1] = name
    end
  end
  return record
end

-- Makes the context that the target is given beside the blocks.
local function new_context(turn, spans)
  local last, messages = turn.batch[#turn.batch], {}
  for i, event in ipairs(turn.batch) do messages[i] = event.message end
  return { thread = last.thread, messages = messages, spans = spans,
    other_bot_present = last.message.other_bot_present == true,
    cancelled = function() return turn.cancelled_at ~= nil end }
end

--- Takes a batch out of the lane and makes its turn, which then has the thread's session. The events stay with the lane
-- when this raises.
function turns.form(dispatcher, lane)
  local thread, now = lane.thread, dispatcher.now_ms()
  local batch = lanes.drain(lane, dispatcher.cap, dispatcher.max_batch_tokens)
  local turn = setmetatable({ dispatcher = dispatcher, lane = lane, thread = thread, batch = batch, began = now,
    record = new_record(dispatcher, lane, batch, now), announced = 0, told = 0, begun = false, ended = false,
    later = false, withdrawn = false, over = false, raised = false, outcome = false, result = false, err = false,
    coroutine = false, release = false, span = false }, turn_mt)
  local spans
  turn.blocks, spans = packing.pack(batch, { layout = dispatcher.layout })
  turn.record.packed_block_count = #turn.blocks
  turn.ctx = new_context(turn, spans)
  if dispatcher.observer then observe.turn(turn) end
  thread.turn = turn
  lane.batch, dispatcher.turns = nil, dispatcher.turns + 1
  return turn
end

--- Issues on_queued for the messages of a turn, those that it was not issued for before.
function turns.announce(dispatcher, turn)
  for i = turn.announced + 1, #turn.batch do
    local event = turn.batch[i]
    hooks.issue(dispatcher, turn.thread, "on_queued", event.message, event.thread)
    turn.announced = i
  end
end

-- An error of Koine's for whatever was raised or returned.
local function error_of(err)
  return errors.is_error(err) and err or errors.new { kind = "other", message = tostring(err) }
end

-- Calls a method of the target: its result, or nil and an error of Koine's; one that it raises counts as returned.
local function call(target, method, ...)
  local ok, result, err = pcall(target[method], target, ...)
  if ok and result then return result end
  if not ok then err = result end
  return nil, error_of(err == nil and method .. " returned nothing" or err)
end

-- Plays the turn: its outcome, then the result or nil, err.
local function play(dispatcher, turn)
  local target, key, ctx = dispatcher.target, turn.thread.key, turn.ctx
  if target.ensure_session and not turn.cancelled_at then
    local ready, err = call(target, "ensure_session", key, ctx)
    if not ready and not turn.cancelled_at then return "session_error", nil, err end
  end
  if turn.cancelled_at then return "cancelled", nil, turns.cancelled() end
  local result, err = call(target, "run_turn", key, turn.blocks, ctx)
  if result then return "ok", result end
  return (turn.cancelled_at or err:is "CancelledError") and "cancelled" or "error", nil, err
end

--- The error of a turn that was cancelled.
function turns.cancelled() return errors.new { kind = "cancelled", message = "the turn was cancelled" } end

--- Marks the events, and emits the record. Where memory was short for a call of a hook, the next time goes on with it.
function turns.finish(turn)
  local dispatcher, batch, thread, record = turn.dispatcher, turn.batch, turn.thread, turn.record
  local outcome, err, last, n = turn.outcome, turn.err, batch[#batch], 0
  local function tell(name, ...)
    n = n + 1
    if n <= turn.told then return end
    hooks.issue(dispatcher, thread, name, ...)
    turn.told = n
  end
  if outcome == "ok" then
    tell("on_done", last.message, last.thread, turn.result)
  elseif not turn.withdrawn then
    for i = outcome == "session_error" and 1 or #batch, #batch do
      tell("on_error", batch[i].message, batch[i].thread, err)
    end
    if outcome ~= "cancelled" then tell("on_warning", errors.words(err), last.thread, { err = err }) end
  end
  record.outcome = outcome
  record.agent_dispatch_ms = dispatcher.now_ms() - turn.began
  tell("on_dispatch", record)
  dispatcher.dispatches = dispatcher.dispatches + 1
  turn.lane.failures, turn.over = 0, true
  turns.unobserve(turn)
end

--- Tells an observer that the turn is over, once; also where it has no record. Returns nothing.
function turns.unobserve(turn)
  if turn.span then observe.over(turn) end
end

--- Ends a turn whose coroutine was closed before its end, and gives its session back. Raises where memory is
-- short; may then be called again.
function turns.settle(turn)
  if not turn.outcome then
    turn.err = turn.raised and error_of(turn.raised) or turns.cancelled()
    turn.outcome = check.is_memory(turn.raised) and not turn.cancelled_at and "error" or "cancelled"
  end
  if not turn.over and not turn.later then
    local ok, problem = pcall(turns.finish, turn)
    if not ok and check.is_memory(problem) then error(problem, 0) end
  end
  if not turn.later then turns.unobserve(turn) end
  turn.release(turn.dispatcher, turn)
end

-- `raised` is what was raised in the turn's coroutine or while that was closed, or nil.
turn_mt.__close = function(turn, raised)
  turn.raised, turn.ended = raised or false, true
  if turn.outcome and raised ~= nil and not check.is_memory(raised) then turn.over = true end -- no record then
  if not pcall(turns.settle, turn) then due.recover(turn.dispatcher) end
end

--- Runs a turn that was formed: the body of a coroutine. It calls `release(dispatcher, turn)` at its end, in every
-- case; where memory is short for that, the dispatcher's next step settles the turn. Raises only what is wrong with
-- the lane's own code, and a lack of memory.
function turns.run(dispatcher, turn, release)
  local mine = not turn.begun and turn or nil
  if mine then turn.release, turn.begun = release, true end
  local held <close> = mine -- luacheck: ignore held
  dispatcher.trouble = dispatcher.trouble - 1 -- from here on the turn is not lost
  if not mine then return end
  local outcome, result, err = play(dispatcher, turn)
  turn.outcome, turn.result, turn.err = outcome, result, err
  if not turn.later then turns.finish(turn) end
end

return turns
