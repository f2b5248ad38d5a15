--- What observers are told of dispatchers: a span for each turn, and points for messages that are queued and dropped,
-- and for lanes that get another try. A turn that is observed has `span` until it is over. Nothing here fails but where
-- memory is short.

local capture = require "koine.data.observer.capture"
local lanes = require "koine.dispatch.lane"
local observer = require "koine.data.observer"

local observe = {}

--- Begins the span of a turn that was formed, where the observer may be told of it; the chats in it belong to the
-- conversation of its session.
function observe.turn(turn)
  local dispatcher, record, waited = turn.dispatcher, turn.record, 0
  for _, ms in ipairs(record.wait_ms) do waited = math.max(waited, ms / 1000) end
  local span = observer.start(dispatcher.observer, nil, "turn", { session = record.session_key, mode = record.mode,
    messages = #turn.batch, blocks = #turn.blocks, senders = #record.senders, waited = waited })
  if not span then return end
  span.conversation = record.session_key
  turn.span, turn.ctx.observe = span, span:context()
end

--- Ends it, as its record says; the names of senders are not told.
function observe.over(turn)
  local span, fields = turn.span, capture.copy(turn.record)
  turn.span = false
  fields.senders, fields.outcome = nil, turn.outcome or nil
  span:finish(fields, turn.outcome ~= "ok" and turn.err or nil)
end

--- A message was handed in for the session `key`.
function observe.queued(dispatcher, key)
  observer.point(nil, "queued", { session = key }, dispatcher.observer)
end

--- So many messages of the session `key` will not be answered; `reason` is a word.
function observe.dropped(dispatcher, key, count, reason)
  if count > 0 then
    observer.point(nil, "dropped", { session = key, messages = count, reason = reason }, dispatcher.observer)
  end
end

--- The events of a lane, and those of parked submitters, will not be answered.
function observe.cleared(dispatcher, lane, reason)
  local events, parked = lanes.counts(lane)
  observe.dropped(dispatcher, lane.thread.key, events + parked, reason)
end

--- A lane whose code failed gets another try.
function observe.respawn(dispatcher, lane)
  observer.point(nil, "respawn", { session = lane.thread.key }, dispatcher.observer)
end

return observe
