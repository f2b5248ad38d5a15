--- The history of a thread as the store has it: a line of JSON that says which items were played, and behind it the
-- text that the target keeps, byte for byte. A record is
--   seq      every item up to this one is done
--   done     array of the sequences behind it that are done, too: where lanes are of senders
--   waited   array of {sequence, tries, given_back}: items up to this one had been claimed so often, without being
--            played, when the record was put; a claim raises the tries of all that it sees, a turn plays the first few.
--            given_back (nil: 0) counts turns of them that a shutdown gave back
--   lane     whose lane was played last, where lanes are of senders
--   fence    of the claim that put it
--   history  the target's text, nil for none

local core = require "koine.core"
local errors = require "koine.data.errors"
local judge = require "koine.data.schema.judge"

local record = {}

local FORMAT, VERSION = "koine.thread", 1

local COUNT = { type = "integer", minimum = 0 }
local HEAD = { type = "object", additionalProperties = false, required = { "format", "version", "seq", "fence" },
  properties = { format = { const = FORMAT }, version = { const = VERSION }, seq = COUNT, fence = COUNT,
    done = { type = "array", items = COUNT }, lane = { type = "string" },
    waited = { type = "array", items = { type = "array", items = COUNT, minItems = 2, maxItems = 3 } } } }

--- The record of a thread that has none.
function record.new() return { seq = 0, fence = 0, done = {}, waited = {} } end

--- The value that holds a record.
function record.encode(self)
  local head = core.encode { format = FORMAT, version = VERSION, seq = self.seq, fence = self.fence, lane = self.lane,
    done = core.array(self.done), waited = core.array(self.waited) }
  return self.history and head .. "\n" .. self.history or head
end

--- The record that the value of that key holds; nil, err of kind protocol where it holds none.
function record.decode(key, value)
  local line, history = value:match "^([^\n]*)\n(.*)$"
  local head, err = core.decode(line or value)
  local fits, why = not err, err and err.message
  if fits then fits, why = judge.validate(HEAD, HEAD, head, "") end
  if not fits then
    return nil, errors.new { kind = "protocol", code = "bad_history",
      message = ("the value %s holds no history of a thread: %s"):format(key, why) }
  end
  return { seq = head.seq, fence = head.fence, lane = head.lane, done = head.done or {}, waited = head.waited or {},
    history = history }
end

--- Whether an item is done.
function record.is_done(self, seq)
  if seq <= self.seq then return true end
  for _, one in ipairs(self.done) do
    if one == seq then return true end
  end
  return false
end

--- How often a turn of the item was begun, this time included, and how many of these turns a shutdown gave back.
-- Claims that only saw the item do not count.
function record.plays(self, item)
  for _, run in ipairs(self.waited) do
    if item.seq <= run[1] then return item.tries - run[2], run[3] or 0 end
  end
  return item.tries, 0
end

-- What waited has of an item that is not done.
local function waiting(self, item, given_back)
  if not given_back then return item.tries, 0 end
  local plays, before = record.plays(self, item)
  return item.tries - plays, before + 1
end

--- The record after the items of a batch (a table keyed by sequence) are done, or, with `given_back`, after a shutdown
-- gave their turn back: `items` are those of the claim. Done ones in front become one number.
function record.after(self, items, batch, fence, given_back)
  local next_one = { seq = self.seq, fence = fence, lane = self.lane, done = core.array {}, waited = core.array {},
    history = self.history }
  local waited, whole = next_one.waited, true
  for _, item in ipairs(items) do
    if batch[item.seq] and not given_back or record.is_done(self, item.seq) then
      if whole then
        next_one.seq = math.max(next_one.seq, item.seq)
      else
        next_one.done[#next_one.done + 1] = item.seq
      end
    else
      local last, tries, back = waited[#waited], waiting(self, item, given_back and batch[item.seq])
      whole = false
      if last and last[2] == tries and last[3] == back then
        last[1] = item.seq
      else
        waited[#waited + 1] = { item.seq, tries, back }
      end
    end
  end
  return next_one
end

return record
