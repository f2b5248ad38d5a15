---@meta _
-- Dispatchers: messages of many people, in many threads, become turns of an agent.

---@class koine
local koine = {}

---The address of a thread.
---@class koine.Thread
---@field platform string a name without a colon
---@field thread_id? string one of the two is required
---@field channel_id? string
---@field [string] any

---A message that somebody sent. Other fields are yours.
---@class koine.ChatMessage: koine.PackEvent
---@field sender_id? string with `sender_json`, in mode per-lane
---@field sender_name? string for the record
---@field other_bot_present? boolean
---@field estimated_tokens? integer replaces the estimate

---What runs the turns.
---@class koine.Target
---@field run_turn fun(self: any, key: string, blocks: koine.Block[], ctx: koine.TurnContext): any, koine.Error? may wait
---@field ensure_session? fun(self: any, key: string, ctx: koine.TurnContext): true?, koine.Error? may wait
---@field cancel? fun(self: any, key: string) must not wait
---@field reset? fun(self: any, key: string) must not wait

---What a target is told of a turn.
---@class koine.TurnContext
---@field thread koine.Thread
---@field messages koine.ChatMessage[]
---@field spans { [1]: integer, [2]: integer }[] first and last block of each message
---@field other_bot_present? boolean
---@field cancelled fun(): boolean
---@field observe? koine.TraceContext
---@field history? string of a shared dispatcher: what an earlier turn kept
---@field keep? fun(history?: string) of a shared dispatcher: keeps it with the end of the turn
---@field tries? integer of a shared dispatcher
---@field lease? koine.Lease of a shared dispatcher

---Options that both kinds of dispatchers have.
---@class koine.DispatchOptions
---@field mode? "per-message"|"per-thread"|"per-lane" `"per-message"`
---@field max_buffered_messages? integer of a lane and of a turn; 10
---@field max_batch_tokens? integer estimated tokens of a turn of several messages; 24000
---@field count_envelope? boolean whether envelopes count for that; true
---@field layout? "split"|"combined" `"split"`
---@field idle_timeout? number seconds before an idle lane is removed; 10 in per-message, else 300
---@field now_ms? fun(): number milliseconds of a clock that does not go back
---@field observer? koine.ObserverOption
---@field on_queued? fun(message: koine.ChatMessage, thread: koine.Thread) before its turn starts
---@field on_done? fun(message: koine.ChatMessage, thread: koine.Thread, result: any) with the turn's last message
---@field on_error? fun(message: koine.ChatMessage, thread: koine.Thread, err: koine.Error)
---@field on_warning? fun(text: string, thread: koine.Thread, details: table)
---@field on_dispatch? fun(record: koine.DispatchRecord)

---Options of koine.dispatcher.
---@class koine.DispatcherOptions: koine.DispatchOptions
---@field target koine.Target

---One turn, for figures. docs/dispatcher.md has all fields.
---@class koine.DispatchRecord
---@field outcome "ok"|"error"|"session_error"|"cancelled"|"lost"|"given_back"
---@field events_per_dispatch integer
---@field packed_block_count integer
---@field tokens_per_event integer[]
---@field context_tokens_per_event integer[]
---@field envelope_tokens_per_dispatch integer
---@field wait_ms number[] of each message, in its lane
---@field agent_dispatch_ms number
---@field senders string[]
---@field thread_key string
---@field session_key string
---@field channel_id? string
---@field adapter string the platform
---@field mode string

---What a lane held when the dispatcher was shut down.
---@class koine.LostMessages
---@field thread_id string
---@field channel string
---@field adapter string
---@field buffered_lost integer

---Counts of the moment.
---@class koine.DispatcherStats
---@field threads integer
---@field lanes integer
---@field queued integer messages in lanes
---@field parked integer callers that wait for room
---@field turns integer
---@field hooks integer
---@field dispatches integer turns so far
---@field respawns integer
---@field hook_errors integer
---@field hook_error? any what a hook raised last

---A dispatcher of one process.
---@class koine.Dispatcher
local Dispatcher = {}

---Hands in a message. Where its lane is full, it waits in a task and in a host's coroutine, and returns `full` elsewhere.
---Do not change the two tables afterwards. Raises an ArgumentError that names the bad field.
---@param thread koine.Thread
---@param message koine.ChatMessage
---@return true? ok
---@return "full"|"closed"|"cancelled"|"consumer_dead" why
function Dispatcher:submit(thread, message) end

---Starts the turns and calls the hooks that are due.
---@return boolean more whether another step has work
function Dispatcher:step() end

---Steps when there is work, until `shutdown` and the end of the last turn.
---@return true ok
function Dispatcher:run() end

---Removes lanes that were idle too long.
---@param now? number milliseconds of the dispatcher's clock
---@return integer removed
function Dispatcher:sweep(now) end

---Cancels the turn of a thread; what waits comes next.
---@param thread koine.Thread
---@return boolean cancelled whether one ran
function Dispatcher:cancel_turn(thread) end

---Cancels the turn of a thread and drops what waits.
---@param thread koine.Thread
---@return { dropped: integer, in_flight: integer } counts
function Dispatcher:cancel_all(thread) end

---The same, and forgets the session when the turn has returned.
---@param thread koine.Thread
---@return { dropped: integer, in_flight: integer } counts
function Dispatcher:reset(thread) end

---Refuses further messages and cancels all turns; does not wait.
---@return koine.LostMessages[] lost
function Dispatcher:shutdown() end

---Counts of the moment. Looks at every lane.
---@return koine.DispatcherStats stats
function Dispatcher:stats() end

---Makes a dispatcher.
---@class koine.dispatcher
---@overload fun(options: koine.DispatcherOptions): koine.Dispatcher
koine.dispatcher = {}

---A target with an agent for each session.
---@param new_agent fun(key: string, ctx: koine.TurnContext): koine.Agent?, koine.Message[]|koine.Error|nil and its first messages
---@return koine.Target target
function koine.dispatcher.agents(new_agent) end

---Options of koine.dispatcher.acp.
---@class koine.AcpTargetOptions: koine.AcpProviderOptions
---@field cwd string|fun(key: string, ctx: koine.TurnContext): string?, koine.Error? the directory of a session
---@field max_sessions? integer processes at once; 10
---@field ttl? number seconds after which an idle process is ended; 86400
---@field file? string path of a file that keeps the ids of sessions
---@field store? koine.Store keeps them in place of a file

---A target of agents of other programs.
---@class koine.AcpTarget: koine.Target
local AcpTarget = {}

---Ends all processes; the ids of sessions stay.
function AcpTarget:close() end

---Makes a target of agents of other programs.
---@param opts koine.AcpTargetOptions
---@return koine.AcpTarget target
function koine.dispatcher.acp(opts) end

-- Many processes -----------------------------------------------------------------------------------------------------

---Options of koine.dispatcher.shared.
---@class koine.SharedOptions: koine.DispatchOptions
---@field store koine.Store
---@field target? koine.Target not needed to submit alone
---@field owner? string name of this process, never the same in two; made up
---@field prefix? string begins the names of the queues; `"dispatch:"`
---@field ttl? number seconds that the threads of a dead process wait; 60
---@field max_threads? integer threads that this process plays at once; 16
---@field max_tries? integer turns that are begun for a message before it is given up; 3
---@field store_timeout? number seconds; 60

---Options of submit.
---@class koine.SubmitOptions
---@field id? string the platform's name of the message: a repeated one is one message

---A dispatcher on a store, for many processes.
---@class koine.SharedDispatcher
local SharedDispatcher = {}

---Hands in a message: true when the store has it.
---@param thread koine.Thread
---@param message koine.ChatMessage values that JSON has
---@param options? koine.SubmitOptions
---@return true? ok
---@return koine.Error err
function SharedDispatcher:submit(thread, message, options) end

---Plays one batch, if a thread is ready.
---@return boolean? played
---@return koine.Error err with nil
function SharedDispatcher:step() end

---Plays the threads that are ready, until `shutdown` and the end of the last turn.
---@return true ok
function SharedDispatcher:run() end

---Cancels the turn of a thread, on whatever machine.
---@param thread koine.Thread
---@return true? ok
---@return koine.Error err
function SharedDispatcher:cancel_turn(thread) end

---Also drops what waits by now.
---@param thread koine.Thread
---@return true? ok
---@return koine.Error err
function SharedDispatcher:cancel_all(thread) end

---Also forgets the history.
---@param thread koine.Thread
---@return true? ok
---@return koine.Error err
function SharedDispatcher:reset(thread) end

---Claims no more, waits for the turns of this process, then gives the rest back.
---@param seconds? number how long it waits
---@return table[] given_back
function SharedDispatcher:shutdown(seconds) end

---Counts of this process.
---@return table<string, any> stats docs/scaling.md
function SharedDispatcher:stats() end

---Makes a dispatcher on a store.
---@param options koine.SharedOptions
---@return koine.SharedDispatcher dispatcher
function koine.dispatcher.shared(options) end
