---@meta _
-- Agents: an adapter, tools, and the loop between them.

---@class koine
local koine = {}

---What koine.agent takes, and what one run may have of its own.
---@class koine.AgentOptions
---@field adapter? koine.Adapter required of an agent
---@field tools? koine.ToolEntry[]
---@field system? string|koine.Text[]
---@field options? koine.CallOptions options of every model call
---@field stop? koine.StopCondition|koine.StopCondition[] 50 model calls
---@field parallel? boolean true: the tools of one step run at once; false
---@field prepare? fun(step: koine.PrepareStep): koine.PrepareChanges? changes one model call
---@field on_event? fun(event: koine.Event, run: koine.Run)
---@field on_delta? fun(delta: koine.Delta) the agent then streams its model calls
---@field checkpoint? fun(run: koine.Run) called when there is new state to save
---@field name? string for observers
---@field observer? koine.ObserverOption
---@field parent? koine.ParentOption

---What koine.agent takes.
---@class koine.AgentFields: koine.AgentOptions
---@field adapter koine.Adapter

---What `prepare` is told before a model call; copies.
---@class koine.PrepareStep
---@field number integer
---@field messages koine.Message[]
---@field usage koine.UsageSum
---@field stop_reason? koine.StopReason

---What one model call has of its own.
---@class koine.PrepareChanges
---@field adapter? koine.Adapter
---@field tools? koine.ToolEntry[]
---@field system? string|koine.Text[]
---@field options? koine.CallOptions
---@field messages? koine.Message[] sent in place of the history, which does not change

---What a condition sees of a run; copies.
---@class koine.RunState
---@field steps integer model calls so far
---@field usage koine.UsageSum
---@field elapsed number seconds since the run began
---@field calls koine.AnsweredCall[]
---@field pending integer calls of the last answer that wait for their answer
---@field stop_reason? koine.StopReason

---Returns the reason to stop, true, or nil.
---@alias koine.StopCondition fun(state: koine.RunState): string|boolean|nil

---What happened in a run or a session.
---@class koine.Event: koine.AcpEvent
---@field content string "" of a tool call
---@field seq integer 1, 2, 3, …
---@field timestamp number Unix seconds

---What happened in a turn of an agent of another program, and in every run.
---@class koine.AcpEvent
---@field kind "output"|"reasoning"|"tool_call"|"tool_result"
---@field content? string nil of a tool call
---@field tool_name? string
---@field tool_call_id? string
---@field tool_input? string the model's own JSON text
---@field is_error? boolean
---@field redacted? boolean of reasoning that is encrypted
---@field traceback? string of a tool that raised
---@field tool_kind? string of agents of other programs
---@field locations? table of agents of other programs
---@field diffs? table of agents of other programs

---A tool call that was answered.
---@class koine.AnsweredCall
---@field id string
---@field name string
---@field arguments_json? string
---@field is_error? boolean
---@field blocked? boolean
---@field reason? string why it was blocked, or not run
---@field executed? boolean

---A tool call that waits for approval.
---@class koine.PendingCall
---@field id string
---@field name string
---@field arguments table<string, any>
---@field arguments_json? string

---A run's state or end. `messages`, `usage` and `calls` are copies.
---@class koine.AgentResult
---@field status "completed"|"stopped"|"paused"|"cancelled"|"running"|"failed"
---@field reason? string the condition that stopped the run; `lease_lost` or `closed` where its keeper gave it up
---@field messages koine.Message[] the history, valid for another call
---@field text string of the last step
---@field stop_reason? koine.StopReason of the last step
---@field output? any with the option `output`: the value
---@field output_error? koine.OutputError why there is none
---@field output_mode? koine.OutputMode
---@field response? koine.Response the last one
---@field usage koine.UsageSum
---@field steps integer number of model calls
---@field events integer number of events
---@field calls koine.AnsweredCall[]
---@field pending koine.PendingCall[] calls that wait for approval
---@field error? koine.Error of the last unit, if it failed

---An agent. It is a description: any number of runs may exist at once.
---@class koine.Agent
local Agent = {}

---Runs to the end. A result whose status is `paused` waits for `run:approve` or `run:deny`.
---@param messages koine.Messages
---@param opts? koine.AgentOptions fields that this run has of its own
---@return koine.AgentResult? result
---@return koine.Run|koine.Error run the run; with nil the error, and the run is the third value
---@return koine.Run run
function Agent:run(messages, opts) end

---A run that has done nothing yet.
---@param messages koine.Messages
---@param opts? koine.AgentOptions
---@return koine.Run run
function Agent:start(messages, opts) end

---A run from the text of `run:dump()`, to go on with it.
---@param text string
---@param opts? koine.AgentOptions
---@return koine.Run? run
---@return koine.Error err `text` is no dump
function Agent:load(text, opts) end

---One conversation of an agent on its way to an end.
---@class koine.Run
local Run = {}

---Makes the next unit: a model call, or a tool call (with `parallel` all of the step). A model call that fails does not
---change the history: the next step tries it again. Raises what your own functions raise; the next step then goes on.
---@return koine.Event[]? events nil at the end, while paused, and with an error
---@return koine.Error err
---@return koine.Event[] events those that were made before the error
function Run:step() end

---The events for a generic `for`, which makes the units. Raises an error.
---@return fun(): koine.Event? next
---@return koine.Run run
function Run:events() end

---Runs to the end.
---@return koine.AgentResult? result
---@return koine.Error err
function Run:result() end

---The result so far.
---@return koine.AgentResult result so far, at any time
function Run:summary() end

---Ends the run at once, also from another task while the provider is silent.
---@return boolean ended false if it had ended
function Run:cancel() end

---Approves a call that waits, then step again. Raises an ArgumentError where none of that id does.
---@param call_id string
---@param arguments? table<string, any> for the tool, in place of the model's
function Run:approve(call_id, arguments) end

---Denies a call that waits. The model is told so, with the reason.
---@param call_id string
---@param reason? string
function Run:deny(call_id, reason) end

---The state of the run, to save it.
---@return string text the run as JSON text, for `agent:load`
function Run:dump() end

---Makes an agent. Raises an ArgumentError for a missing, unknown or bad field.
---@class koine.agent
---@overload fun(fields: koine.AgentFields): koine.Agent
koine.agent = {}

---The same as `agent:load(text, opts)`.
---@param agent koine.Agent
---@param text string
---@param opts? koine.AgentOptions
---@return koine.Run? run
---@return koine.Error err
function koine.agent.load(agent, text, opts) end

---Stops after n model calls, when the calls of the last one are answered. Reason `steps`.
---@param n integer
---@return koine.StopCondition condition
function koine.agent.steps(n) end

---Stops when a call of that tool was answered without an error. Reason `tool`.
---@param name string
---@return koine.StopCondition condition
function koine.agent.tool(name) end

---Stops after n tokens, in and out, as far as providers tell them. Reason `tokens`.
---@param n number
---@return koine.StopCondition condition
function koine.agent.tokens(n) end

---Stops when the model calls cost so much. Reason `cost`, or `cost unknown`.
---@param usd number
---@return koine.StopCondition condition
function koine.agent.cost(usd) end

---Stops after that time; the current unit ends first. Reason `deadline`.
---@param seconds number
---@return koine.StopCondition condition
function koine.agent.deadline(seconds) end

-- Runs in a store ----------------------------------------------------------------------------------------------------

---A lease of a store: for services that refuse a fence that is not the newest.
---@class koine.Lease
---@field key string
---@field fence integer
---@field owner string

---What koine.agent.keeper takes.
---@class koine.KeeperOptions
---@field store koine.Store
---@field key string the run's name in the store, at most 512 bytes
---@field owner? string a name that no other process has; made up
---@field ttl? number seconds after which others may take the run up when this process is gone; 60
---@field timeout? number seconds for which a save is tried again; 60

---Keeps one run at a time in a store, so that another process can go on with it. The run is saved after each model call,
---before a tool runs and after it; a tool that was saved as started is never run again. `<close>` closes the keeper.
---@class koine.Keeper
local Keeper = {}

---Takes up the stored run. The error has kind `protocol` where the value is no run, else the store's kind.
---@param agent koine.Agent
---@param opts? koine.AgentOptions
---@return koine.Run|false|nil run false where another owner has it; nil where none is stored
---@return any err the error; with false the seconds for which another owner has it
function Keeper:take(agent, opts) end

---Begins a run and stores it.
---@param agent koine.Agent
---@param messages koine.Messages
---@param opts? koine.AgentOptions
---@return koine.Run|false|nil run false where another owner has it
---@return any err the error, code `exists` where there is a run; with false the seconds for which another owner has it
function Keeper:start(agent, messages, opts) end

---Saves the run and gives it back.
---@return true? ok
---@return koine.Error err
function Keeper:close() end

---Makes a keeper.
---@param given koine.KeeperOptions
---@return koine.Keeper keeper
function koine.agent.keeper(given) end
