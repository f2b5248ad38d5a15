---@meta _
-- Packing: messages of several people in one message of the user, each under its sender's name.

---@class koine
local koine = {}

---Who sent a message.
---@class koine.Sender
---@field sender_id string the platform's id of the user
---@field sender_name string
---@field display_name string
---@field channel string the platform
---@field channel_id string
---@field is_bot boolean
---@field thread_id? string
---@field thread_key? "thread_ts" the name under which `thread_id` is written
---@field timestamp? koine.Timestamp
---@field [string] any further keys come after these

---When a message was created: RFC 3339 text, or a table with an explicit unit.
---@alias koine.Timestamp string|{ slack: string }|{ epoch_s: integer }|{ epoch_ms: integer }

---A message that arrived. Other fields are yours.
---@class koine.PackEvent
---@field sender? koine.Sender required without `sender_json`
---@field sender_json? string your own line of JSON
---@field prompt? string
---@field extras? (koine.Text|koine.Image|koine.Document)[]
---@field [string] any

---Packs messages for a model.
---@class koine.packing
koine.packing = {}

---Options of koine.packing.pack.
---@class koine.PackOptions
---@field layout? "split"|"combined" `"split"`

---Packs messages: the content of one message of the user, and which blocks are whose.
---@param batch koine.PackEvent[]
---@param opts? koine.PackOptions
---@return koine.Block[] blocks
---@return { [1]: integer, [2]: integer }[] spans first and last block of each message
function koine.packing.pack(batch, opts) end

---The sender's line of JSON.
---@param sender koine.Sender
---@return string json
function koine.packing.sender_context(sender) end

---A time as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
---@param value? koine.Timestamp
---@return string? text nil where the value tells none
function koine.packing.timestamp(value) end

---The envelope of a message.
---@param event koine.PackEvent
---@return string text
function koine.packing.envelope(event) end

---Estimates the cost of an envelope.
---@param event koine.PackEvent
---@return integer tokens the estimate for its envelope
function koine.packing.envelope_tokens(event) end

---Estimates the cost of a message without its envelope.
---@param event koine.PackEvent
---@return integer tokens the estimate for its content
function koine.packing.estimate(event) end

---The nearest-rank percentile.
---@param list number[]
---@param p number over 0, at most 1
---@return number? value nil for an empty list
function koine.packing.percentile(list, p) end

---Options of koine.packing.overhead_alarm.
---@class koine.AlarmOptions
---@field threshold? number tokens; 500
---@field window? number seconds; 3600
---@field sustain? number seconds; 86400
---@field min? number dispatches in the window; 20

---An alarm for envelopes that cost too much.
---@param opts? koine.AlarmOptions
---@return koine.OverheadAlarm alarm
function koine.packing.overhead_alarm(opts) end

---An alarm for envelopes that cost too much.
---@class koine.OverheadAlarm
local OverheadAlarm = {}

---Takes in a dispatcher's record.
---@param record koine.DispatchRecord
---@param now number seconds of a clock that does not go back
---@return { dispatches: integer, over?: boolean, held: number, raised: boolean } state
function OverheadAlarm:add(record, now) end
