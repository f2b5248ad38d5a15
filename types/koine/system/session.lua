---@meta _
-- Sessions: a model works in a repository, and git says what changed.

---@class koine
local koine = {}

---What koine.session.run takes.
---@class koine.SessionInput
---@field workdir string path of a directory in a git repository
---@field role "implementor"|"orchestrator"
---@field model string
---@field allowed_tools string[] all tools that the model may call; empty: none
---@field prompt string the task
---@field context_files string[] paths of files for the task
---@field executor? koine.Executor|table default: a new one for `workdir`
---@field system? string|koine.Text[]
---@field options? koine.CallOptions options of every model call
---@field on_event? fun(event: koine.Event)
---@field on_delta? fun(delta: koine.Delta)
---@field max_rounds? integer model calls; 50
---@field max_tokens_total? integer tokens of all model calls together; no limit
---@field deadline_seconds? number no further round starts after that; no limit
---@field require_git? boolean false: `workdir` may be outside a repository; true
---@field relative_to? "root"|"workdir" where the paths of artifacts start; `"root"`
---@field ignore_unknown_tools? boolean skips names that the executor does not know; false
---@field max_context_bytes? integer of each context file; 262144
---@field blocked_phrases? boolean|string[] phrases that block the session; false
---@field observer? koine.ObserverOption
---@field parent? koine.ParentOption

---The result of a session.
---@class koine.SessionResult
---@field type "session_result"
---@field outcome "completed"|"blocked"|"error"
---@field reason? string why it is blocked or failed
---@field error? koine.Error
---@field events koine.Event[]
---@field artifacts? string[] paths that changed; nil without a repository
---@field artifacts_source? "git"|"none"
---@field artifacts_error? koine.Error why git failed
---@field usage koine.SessionUsage
---@field audit_log koine.AuditRecord[]
---@field stop_reason? string
---@field truncated? boolean the output was cut at its maximum
---@field checkpoint? boolean the deadline passed
---@field head_before? string commit
---@field head_after? string commit
---@field ignored? string[] inputs that had no effect (agents of other programs)
---@field skipped_context? string[] context files that were missing
---@field cut_context? string[] context files that were cut
---@field skipped_tools? string[]
---@field output? any with `options.output`: the value
---@field output_error? koine.OutputError
---@field output_mode? koine.OutputMode
---@field consumer_error? string what `on_event` or `on_delta` raised first

---What a session used and cost.
---@class koine.SessionUsage
---@field tokens_in integer
---@field tokens_out integer
---@field cost_usd? number nil where a price is not known
---@field model string
---@field duration_seconds number
---@field cache_read_tokens integer
---@field cache_creation_tokens integer
---@field reasoning_tokens integer
---@field model_calls integer
---@field incomplete? boolean

---One tool call of a session.
---@class koine.AuditRecord
---@field tool_name string
---@field tool_input table
---@field blocked boolean
---@field block_reason string
---@field timestamp number Unix seconds

---A session that was begun: iterate over it, or ask for its result.
---@class koine.Session
---@overload fun(): koine.Event?
local Session = {}

---Waits for the next event.
---@return koine.Event? event nil at the end
function Session:next() end

---The result, after going on to the end.
---@return koine.SessionResult result after going on to the end
function Session:result() end

---Ends the session.
function Session:close() end

---Who plays sessions. A provider of your own needs `run_session`.
---@class koine.SessionProvider
local SessionProvider = {}

---Runs a session to its end.
---@param input koine.SessionInput
---@return koine.SessionResult result
function SessionProvider:run_session(input) end

---Begins a session. Without this method a provider's events come at the end.
---@param input koine.SessionInput
---@return koine.Session session
function SessionProvider:open_session(input) end

---Sessions.
---@class koine.session
---@field ROLE { ORCHESTRATOR: "orchestrator", IMPLEMENTOR: "implementor" }
---@field OUTCOME { COMPLETED: "completed", BLOCKED: "blocked", ERROR: "error" }
---@field KIND { REASONING: "reasoning", TOOL_CALL: "tool_call", TOOL_RESULT: "tool_result", OUTPUT: "output" }
---@field provider koine.SessionProvider the abstract provider: its `run_session` raises a NotImplementedError
koine.session = {}

---Runs a session to its end. Whatever goes wrong is an outcome; bad inputs raise an ArgumentError.
---@param target koine.Adapter|koine.SessionProvider
---@param given koine.SessionInput
---@return koine.SessionResult result
function koine.session.run(target, given) end

---Begins a session, for a generic `for` over its events.
---@param target koine.Adapter|koine.SessionProvider
---@param given koine.SessionInput
---@return koine.Session session
function koine.session.events(target, given) end

---A provider of sessions by the name of a row.
---@param name string
---@param options? koine.AdapterOptions without `model`
---@return koine.SessionProvider provider
function koine.session.new(name, options) end

---Options of koine.acp.connect and the name of a well-known agent.
---@class koine.AcpProviderOptions: koine.AcpConnectOptions
---@field command? string
---@field preset? "claude"|"codex"|"gemini"

---A provider whose sessions an agent of another program plays.
---@param opts koine.AcpProviderOptions
---@return koine.SessionProvider provider
function koine.session.acp(opts) end

---Whether a value has a method `run_session`.
---@param value any
---@return boolean
function koine.session.is_provider(value) end

---An event as text of an event stream (SSE).
---@param event koine.Event
---@return string text
function koine.session.sse(event) end

---What koine.session.event takes.
---@class koine.EventFields
---@field kind "output"|"reasoning"|"tool_call"|"tool_result"
---@field content? string default `""`
---@field tool_name? string
---@field tool_input? string
---@field tool_call_id? string
---@field is_error? boolean
---@field redacted? boolean
---@field traceback? string
---@field tool_kind? string
---@field locations? table
---@field diffs? table
---@field seq? number
---@field timestamp? number default 0

---Makes an event, for providers of your own, as do the next three.
---@param fields koine.EventFields
---@return koine.Event event
function koine.session.event(fields) end

---What koine.session.usage takes.
---@class koine.SessionUsageFields
---@field tokens_in? number default 0, as the other numbers
---@field tokens_out? number
---@field cost_usd? number
---@field model? string default `""`
---@field duration_seconds? number
---@field cache_read_tokens? number
---@field cache_creation_tokens? number
---@field reasoning_tokens? number
---@field model_calls? number
---@field incomplete? boolean

---Makes a report of usage.
---@param fields koine.SessionUsageFields
---@return koine.SessionUsage usage
function koine.session.usage(fields) end

---What koine.session.audit takes.
---@class koine.AuditFields
---@field tool_name string
---@field tool_input? table
---@field blocked? boolean default false
---@field block_reason? string default `""`
---@field timestamp? number default 0

---Makes a record of the audit log.
---@param fields koine.AuditFields
---@return koine.AuditRecord record
function koine.session.audit(fields) end

---What koine.session.result takes.
---@class koine.SessionResultFields
---@field outcome "completed"|"blocked"|"error"
---@field events? koine.Event[] empty by default, as the other arrays
---@field artifacts? string[]
---@field audit_log? koine.AuditRecord[]
---@field usage? koine.SessionUsage
---@field reason? string
---@field error? koine.Error
---@field stop_reason? string
---@field truncated? boolean
---@field checkpoint? boolean
---@field artifacts_source? string
---@field artifacts_error? koine.Error
---@field head_before? string
---@field head_after? string
---@field ignored? string[]
---@field skipped_context? string[]
---@field cut_context? string[]
---@field skipped_tools? string[]
---@field output? any
---@field output_error? koine.OutputError
---@field output_mode? string
---@field consumer_error? string

---Makes a result.
---@param fields koine.SessionResultFields
---@return koine.SessionResult result
function koine.session.result(fields) end

-- Artifacts ----------------------------------------------------------------------------------------------------------

---The files that changed in a directory between two moments, as git sees it.
---@class koine.artifacts
koine.artifacts = {}

---The state of a directory as git sees it.
---@class koine.Snapshot
---@field root string the top of the working tree
---@field prefix string the directory below it: `""` or `"a/b/"`
---@field head? string commit
---@field [string] any what compare needs

---Options of koine.artifacts.snapshot.
---@class koine.SnapshotOptions
---@field timeout? number seconds for each git command; 60

---The current state.
---@param workdir string
---@param opts? koine.SnapshotOptions
---@return koine.Snapshot? snapshot
---@return koine.Error err code `absent`, `not_a_repository` or `git`
function koine.artifacts.snapshot(workdir, opts) end

---Options of koine.artifacts.compare.
---@class koine.CompareOptions: koine.SnapshotOptions
---@field relative_to? "root"|"workdir" `"root"`

---What changed since a snapshot.
---@param before koine.Snapshot
---@param opts? koine.CompareOptions
---@return string[]? paths sorted
---@return { head_before?: string, head_after?: string }|koine.Error heads with nil the error
function koine.artifacts.compare(before, opts) end
