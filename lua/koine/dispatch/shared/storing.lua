--- What a claim leaves in the store: the record of its history, what is acknowledged, the queue given back. All of it
-- goes with the claim's fence, so that a machine that was away too long changes nothing.
-- A claim is {queue, fence, owner, items, record, version (of the record, nil: there is none), …}: see claim.lua.

local item = require "koine.dispatch.shared.item"
local records = require "koine.dispatch.shared.record"
local wait = require "koine.task.wait"

local storing = {}

local PAUSE, PAUSE_MAX = 0.05, 1 -- seconds between two tries

-- Kinds of errors that another try would meet again.
local LASTING = { auth = true, permission = true, protocol = true, cancelled = true }
local LASTING_CODES = { closed = true, cut_short = true, value_size = true }

--- Whether an error of a store may be over soon.
function storing.passes(err) return not (LASTING[err.kind] or LASTING_CODES[err.code]) end

--- Calls f until it gives an answer, for at most self.store_timeout seconds while the engine is away: f's results.
function storing.insist(self, f, ...)
  local deadline, pause = wait.now() + self.store_timeout, PAUSE
  while true do
    local result, second, third = f(...)
    local failed = result == nil and second ~= nil
    if failed then self.store_error = second end
    if not failed or not storing.passes(second) or wait.now() + pause > deadline then return result, second, third end
    self.store_errors = self.store_errors + 1
    local _, cancelled = wait.sleep(pause)
    if cancelled then return nil, cancelled end
    pause = math.min(2 * pause, PAUSE_MAX)
  end
end

-- Whether the record that is there is the one of this claim: a put of it was lost on its way back.
local function is_ours(self, claim, record)
  local key = item.history(claim.queue)
  local text, version = storing.insist(self, self.store.get, self.store, key)
  local found = text and records.decode(key, text)
  if found and found.fence == claim.fence and found.seq == record.seq and #found.done == #record.done then
    return version
  end
end

--- Puts a record in place of the one that the claim found: true; false where the thread belongs to somebody else by
-- now; nil, err.
function storing.put(self, claim, record)
  local made, err = storing.insist(self, self.store.put, self.store, item.history(claim.queue), records.encode(record),
    { if_version = claim.version or "absent", fence = { claim.queue, claim.fence } })
  if made == false then made = is_ours(self, claim, record) or false end
  if not made then return made, err end
  claim.record, claim.version = record, made
  return true
end

--- Puts a record that may be missing: one try. It has nothing that is done.
function storing.note(self, claim, record)
  self.store:put(item.history(claim.queue), records.encode(record),
    { if_version = claim.version or "absent", fence = { claim.queue, claim.fence } })
end

--- Acknowledges all in front that is done: true; false where the thread belongs to somebody else; nil, err.
function storing.ack(self, claim)
  local last
  for _, one in ipairs(claim.items) do
    if one.seq > claim.record.seq then break end
    last = one.seq
  end
  if not last then return true end
  return storing.insist(self, self.store.ack, self.store, claim.queue, claim.owner, claim.fence, last)
end

--- Gives the queue back: true; false where it belongs to somebody else; nil, err.
function storing.unclaim(self, claim)
  return storing.insist(self, self.store.unclaim, self.store, claim.queue, claim.owner, claim.fence)
end

--- Renews the lease: true; false where it was lost; nil, err.
function storing.renew(self, claim)
  local at = wait.now()
  local fence, err = self.store:lease(claim.queue, claim.owner, self.ttl)
  if fence == nil then return nil, err end
  if fence == claim.fence then
    claim.at = at
    return true
  end
  if fence then self.store:release(claim.queue, claim.owner) end -- it had ended, and began anew with this call
  return false
end

--- Whether the lease is young enough to begin a turn under it; an old one is renewed first.
function storing.holds(self, claim)
  if wait.now() - claim.at < self.ttl / 3 then return true end
  return storing.renew(self, claim) == true
end

return storing
