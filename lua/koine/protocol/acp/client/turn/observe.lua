--- What observers are told of turns: a span for each prompt, and one for each wait for a decision about a permission.
-- A turn that is observed has `span` until it is over for its reader. Nothing here fails.

local observer = require "koine.data.observer"

local observe = {}

--- Begins the span of a prompt in a session: the span, nil where nobody observes. `parent` is a context, or nil.
function observe.prompt(session, parent)
  local link = session.link
  return observer.start(session.settings.observer, parent, "prompt", { session = session.id,
    agent = link and link.agent and link.agent.name or session.pool.settings.command:match "[^/]*$" })
end

--- The `_meta` of a prompt: with the traceparent of its span, or of `parent` (a context); nil without both.
function observe.meta(span, parent)
  local context = span and span:context() or parent
  return context and { traceparent = tostring(context) }
end

--- A prompt that could not go out.
function observe.unsent(session, parent, err)
  local span = observe.prompt(session, parent)
  if span then span:finish(nil, err) end
end

--- A turn that is observed waits for a decision, `pending`.
function observe.asks(turn, pending)
  pending.span = observer.start(nil, turn.span:context(), "wait", { what = "permission" })
end

--- The decision is there.
function observe.decided(pending)
  if pending.span then pending.span:finish() end
end

--- Ends the span of a turn, and its waits. `result` (nil: none) and `err` (nil: none) are the turn's.
function observe.over(turn, result, err)
  local span = turn.span
  turn.span = false
  for pending in next, turn.pending do observe.decided(pending) end
  span:finish({ stop_reason = result and result.stop_reason, permissions_asked = turn.asked,
    permissions_denied = turn.refused }, err)
end

return observe
