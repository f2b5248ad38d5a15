--- The history of a run as adapters see it. Koine's own read it at once. An adapter in Lua may keep what it is given,
-- or change it: it gets a list of its own in each call, of copies that are made once for each message. No other code
-- has these copies, so that those that passed a check need no other one. `shown` of a run is
-- {adapter, copies, last = the message that the last copy is of, known = how many passed a check, note, sent = how many
-- messages the list had that the note is of}

local checked = require "koine.data.records.checked"
local records = require "koine.data.records"

local shown = {}

-- Brings the copies to what the history is now: new messages, perhaps another one in place of its last.
local function follow(self, messages)
  local copies = self.copies
  if self.note and self.note.passed then self.known = self.sent end
  if #copies > 0 and self.last ~= messages[#copies] then
    copies[#copies] = nil
    self.known = math.min(self.known, #copies)
  end
  for i = #copies + 1, #messages do copies[i] = records.to_table(messages[i]) end
  self.last = messages[#messages]
end

--- The history of a run for a call of this adapter.
function shown.messages(run, adapter)
  local messages, self = run.state.messages, run.shown
  if type(adapter) == "userdata" then return messages end
  if not self or self.adapter ~= adapter then
    self = { adapter = adapter, copies = {}, known = 0 }
    run.shown = self
  end
  follow(self, messages)
  local list = table.move(self.copies, 1, #self.copies, 1, {})
  self.note, self.sent = checked.note(list, adapter, self.known), #list
  return list
end

return shown
