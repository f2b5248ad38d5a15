--- What becomes of a message that came: the same for every wire. A peer here is what init.lua makes.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local message = require "koine.protocol.rpc.message"
local text = require "koine.data.text"

local SAID_MAX = 200         -- bytes that are kept of what is no message
local STRAYS_MAX = 100       -- in a row
local PROGRESS_MAX = 8 << 20 -- bytes of progress messages of a call that nobody has taken

local dispatch = {}

-- What a function of the protocol above says about a message; nil where it raises, which is counted. The message is
-- then taken as one of no call and no session.
local function ask(peer, f, value)
  local ok, said = pcall(f, value.method, value.params)
  if ok then return said end
  if check.is_memory(said) then error(said, 0) end
  peer.counts.raised = peer.counts.raised + 1
end

-- Keeps a progress message for its call, which hears of the first ones where many come that nobody takes.
local function keep_progress(peer, call, params, size)
  local kept = call.progress
  if kept:count() == 0 then call.progress_bytes = 0 end
  if kept:count() > 0 and (kept:count() >= peer.inbox.max or call.progress_bytes + size > PROGRESS_MAX) then
    peer.counts.dropped = peer.counts.dropped + 1
    return
  end
  call.progress_bytes = call.progress_bytes + size
  kept:push(params or {})
end

-- A progress message goes to its call; true where there is one, or where there was.
local function is_progress(peer, value, size)
  local progress = peer.options.progress
  local id = progress and ask(peer, progress, value)
  if not id then return false end
  local call = peer.calls:named(id)
  if not call then
    peer.counts.late = peer.counts.late + 1
    return true
  end
  peer.calls:touch(call)
  if call.on_progress then keep_progress(peer, call, value.params, size) end
  peer.shared:wake(call)
  return true
end

local function notification(peer, value, _, _, size)
  if is_progress(peer, value, size) then return end
  local handler = peer.options.notifications[value.method]
  if not handler then
    peer.counts.unknown = peer.counts.unknown + 1
    return
  end
  local session = peer.options.session
  local key = session and ask(peer, session, value) or false
  peer.inbox:put(key, handler, value.params, size)
end

local takes = { notification = notification }

function takes.request(peer, value, whole, place, size)
  peer.served:take { method = value.method, params = value.params, id = value.id, size = size,
    id_text = message.id(value, whole, place) }
end

function takes.refused(peer, value, whole, place)
  peer.counts.invalid = peer.counts.invalid + 1
  peer.served:take { method = false, size = 0, id_text = message.id(value, whole, place) }
end

function takes.answer(peer, value)
  if not peer.calls:answer(value) then peer.counts.late = peer.counts.late + 1 end
end

function takes.invalid(peer) peer.counts.invalid = peer.counts.invalid + 1 end

-- What is no message: a banner, a stray print. Many in a row are another protocol. Secrets are replaced before the text
-- is cut, as a part of one would not be found.
local function stray(peer, whole)
  peer.counts.stray, peer.strays = peer.counts.stray + 1, peer.strays + 1
  if whole:find "%S" then peer.said = text.cut(text.redact(whole, peer.options.secrets), SAID_MAX) end
  if peer.strays >= STRAYS_MAX and not peer.wire.post then
    peer:fail("protocol", ("%d lines in a row are no message"):format(STRAYS_MAX))
  end
end

local function batch(peer, list, whole)
  local size = #whole // #list -- of each: all of them together are what counts
  for i, value in ipairs(list) do
    local take = takes[message.kind(value)]
    if take then
      peer.strays = 0
      take(peer, value, whole, i, size)
    else
      stray(peer, whole)
    end
    if peer.err then return end
  end
end

-- What is beyond the limits breaks a peer; where each message came by itself, it says nothing of the others.
local function refuse(peer, err)
  local is_limit = err.kind == "limit"
  local words = (is_limit and "a message is beyond the limits: " or "a message is no JSON: ") .. errors.words(err)
  if not peer.wire.post then return peer:fail("limit", words) end
  peer.counts.stray = peer.counts.stray + 1
  return nil, errors.new { kind = is_limit and "limit" or "protocol", message = words, retryable = false }
end

--- Takes the text of one message: true, or what `receive` of the peer says. Waits while a queue is full, or too many
-- requests of the other side run.
function dispatch.take(peer, whole)
  local value, err = core.decode(whole)
  if value == nil and (err.kind == "limit" or peer.wire.post) then return refuse(peer, err) end
  local kind = message.kind(value)
  local take = takes[kind]
  if kind == "array" and peer.options.batches and #value > 0 then
    batch(peer, value, whole)
  elseif take then
    peer.strays = 0
    take(peer, value, whole, nil, #whole)
  else
    stray(peer, whole)
  end
  return true
end

return dispatch
