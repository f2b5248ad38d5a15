---@meta _
-- Conversations: an adapter, the options of its calls, and a history that is always valid.

---@class koine
local koine = {}

---A conversation. It makes one call at a time; a call that fails leaves the history as it was.
---@class koine.Conversation
---@field history koine.Message[] change it only between calls
---@field adapter koine.Adapter may be replaced between calls
---@field opts koine.CallOptions may be replaced between calls
local Conversation = {}

---Says something.
---@param said string|koine.Block[]
---@param opts? koine.CallOptions|fun(delta: koine.Delta) options of this call, or `on_delta`
---@return koine.Response? response
---@return koine.Error err
function Conversation:ask(said, opts) end

---The result of one tool call.
---@class koine.ToolAnswer
---@field tool_use_id string
---@field content string|koine.Text[]
---@field is_error? boolean

---Sends the results of the last Response's tool calls, one for each, in any order.
---@param results koine.ToolAnswer[]
---@param opts? koine.CallOptions|fun(delta: koine.Delta)
---@return koine.Response? response
---@return koine.Error err
function Conversation:results(results, opts) end

---Goes on with an answer that the provider paused (`stop_reason == "pause_turn"`).
---@param opts? koine.CallOptions|fun(delta: koine.Delta)
---@return koine.Response? response the new part
---@return koine.Error err
function Conversation:resume(opts) end

---Begins a second conversation, which goes its own way.
---@return koine.Conversation conversation a second one with a copy of the history
function Conversation:fork() end

---The history as a plain table, which any JSON library can encode.
---@return koine.ConversationDump dump
function Conversation:dump() end

---A history as a plain table.
---@class koine.ConversationDump
---@field format string
---@field version integer
---@field history koine.Message[]

---Makes a conversation.
---@class koine.conversation
---@overload fun(adapter: koine.Adapter, opts?: koine.CallOptions): koine.Conversation
koine.conversation = {}

---A conversation from a dump, with any adapter. Raises an ArgumentError that says what is wrong with the dump.
---@param adapter koine.Adapter
---@param dumped koine.ConversationDump
---@param opts? koine.CallOptions
---@return koine.Conversation conversation
function koine.conversation.load(adapter, dumped, opts) end

---A part of a history that is valid by itself: without results whose calls are missing, and calls without results.
---@param messages koine.Message[]
---@param first? integer 1
---@param last? integer the last message
---@return koine.Message[] part
function koine.conversation.slice(messages, first, last) end
