--- One dispatch: a batch of a lane becomes one turn of the target, and one record.
-- A turn is {lane, thread, batch, blocks, ctx, record, began, coroutine, cancelled_at, over, and once it runs
-- dispatcher, release}. The session of its thread is its own from `form` to `release`. Once it runs, it ends in exactly
-- one way, also when its coroutine is closed.

local errors = require "koine.data.errors"
local lanes = require "koine.dispatch.lane"
local packing = require "koine.dispatch.packing"
local side = require "koine.dispatch.hooks"

local dispatch = {}

local turn_mt = {}

-- The figures and labels of a batch that is formed at `now`.
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

-- What the target is told beside the blocks.
local function new_context(turn, spans)
  local last, messages = turn.batch[#turn.batch], {}
  for i, event in ipairs(turn.batch) do messages[i] = event.message end
  return { thread = last.thread, messages = messages, spans = spans,
    other_bot_present = last.message.other_bot_present == true,
    cancelled = function() return turn.cancelled_at ~= nil end }
end

--- Takes a batch out of the lane and makes its turn, which then has the thread's session. The events stay with the lane
-- when this raises.
function dispatch.form(dispatcher, lane)
  local thread, now = lane.thread, dispatcher.now_ms()
  local batch = lanes.drain(lane, dispatcher.cap, dispatcher.max_batch_tokens, now)
  lane.batch = batch
  local turn = setmetatable({ lane = lane, thread = thread, batch = batch, began = now,
    record = new_record(dispatcher, lane, batch, now) }, turn_mt)
  local spans
  turn.blocks, spans = packing.pack(batch, { layout = dispatcher.layout })
  turn.record.packed_block_count = #turn.blocks
  turn.ctx = new_context(turn, spans)
  lane.batch, thread.turn = nil, turn
  for _, event in ipairs(batch) do side.issue(dispatcher, thread, "on_queued", event.message, event.thread) end
  return turn
end

-- An error of Koine's for whatever was raised or returned.
local function error_of(err)
  return errors.is_error(err) and err or errors.new { kind = "other", message = tostring(err) }
end

-- What a method of the target returns, or nil and an error of Koine's; one that it raises counts as returned.
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
  if turn.cancelled_at then return "cancelled", nil, dispatch.cancelled() end
  local result, err = call(target, "run_turn", key, turn.blocks, ctx)
  if result then return "ok", result end
  return (turn.cancelled_at or err:is "CancelledError") and "cancelled" or "error", nil, err
end

--- The error of a turn that was cancelled.
function dispatch.cancelled() return errors.new { kind = "cancelled", message = "the turn was cancelled" } end

-- Marks the events, and emits the record.
local function finish(dispatcher, turn, outcome, result, err)
  turn.over = true
  local batch, thread, record = turn.batch, turn.thread, turn.record
  local last = batch[#batch]
  if outcome == "ok" then
    side.issue(dispatcher, thread, "on_done", last.message, last.thread, result)
  else
    for i = outcome == "session_error" and 1 or #batch, #batch do
      side.issue(dispatcher, thread, "on_error", batch[i].message, batch[i].thread, err)
    end
    if outcome ~= "cancelled" then
      side.issue(dispatcher, thread, "on_warning", errors.words(err), last.thread, { err = err })
    end
  end
  record.outcome = outcome
  record.agent_dispatch_ms = dispatcher.now_ms() - turn.began
  side.issue(dispatcher, thread, "on_dispatch", record)
  dispatcher.dispatches = dispatcher.dispatches + 1
  turn.lane.deaths = 0
end

-- Closing a turn gives its session back, after ending it where its coroutine was closed in its midst; `raised` is what
-- was raised in that.
turn_mt.__close = function(turn, raised)
  local dispatcher = turn.dispatcher
  local err = raised == nil and dispatch.cancelled() or error_of(raised)
  if not turn.over then pcall(finish, dispatcher, turn, "cancelled", nil, err) end
  turn.release(dispatcher, turn)
end

--- Runs a turn that was formed: the body of a coroutine. `release(dispatcher, turn)` is called at its end, however that
-- comes. Raises only what is wrong with the lane's own code.
function dispatch.run(dispatcher, turn, release)
  turn.dispatcher, turn.release = dispatcher, release
  local held <close> = turn -- luacheck: ignore held
  finish(dispatcher, turn, play(dispatcher, turn))
end

return dispatch
