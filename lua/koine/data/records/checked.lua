--- Lists of messages whose first ones passed a check before, and have been in no other hands since: a history grows by
-- a few messages a call, and a check of all of it would cost more in each. Who hands such a list to an adapter leaves a
-- note, which the adapter's own check takes, before its author's code has the list.

local checked = {}

local notes = setmetatable({}, { __mode = "k" }) -- list → its note

--- Leaves a note for the check of a list of messages by this adapter: its first `known` passed one. Returns the note, a
-- table whose `passed` becomes true where all of the list passes.
function checked.note(messages, adapter, known)
  local note = { adapter = adapter, known = known }
  notes[messages] = note
  return note
end

--- Takes the note of a list: nil where there is none for this adapter.
function checked.take(messages, adapter)
  local note = notes[messages]
  notes[messages] = nil
  return note and note.adapter == adapter and note or nil
end

return checked
