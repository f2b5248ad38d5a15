---@meta _
-- ACP: agents of other programs, and your agent in an editor.

---@class koine
local koine = {}

---The Agent Client Protocol, both sides.
---@class koine.acp
---@field presets table<"claude"|"codex"|"gemini", { command: string, args?: string[] }> programs of well-known agents
koine.acp = {}

---Time limits of a connection to an agent.
---@class koine.AcpTimeouts
---@field start? number seconds; 30
---@field session? number seconds; 120
---@field idle? number seconds in which the agent neither says nor asks anything; 600
---@field total? number seconds of a turn; no limit
---@field permission? number seconds for a decision; 600
---@field stop? number seconds in which a cancelled turn has to end; 30

---An MCP server for the agent.
---@class koine.AcpServer
---@field name? string required in an array
---@field type? "stdio"|"http"|"sse"
---@field command? string
---@field args? string[]
---@field env? table<string, string>
---@field url? string
---@field headers? table<string, string>

---What an agent asks before it uses a tool; its own words.
---@class koine.AcpPermissionRequest
---@field title? string
---@field kind? string
---@field locations? table
---@field input any
---@field tool_name? string
---@field tool_call_id string
---@field options { id: string, name: string, kind: string }[] kinds: allow_once, allow_always, reject_once, reject_always
---@field session koine.AcpSession
---@field key? string of the thread, in a dispatcher

---Decides what an agent may do: a word, or a function that returns the id of an option, or nil and a reason.
---@alias koine.AcpPermission "deny"|"read"|"allow"|fun(request: koine.AcpPermissionRequest): string?, string?

---What sessions have of their own.
---@class koine.AcpSessionOptions
---@field cwd? string the directory that it works in
---@field mcp_servers? koine.AcpServer[]|table<string, koine.AcpServer>
---@field directories? string[] further directories, absolute
---@field model? string
---@field mode? string
---@field thinking? string
---@field permission? koine.AcpPermission `"deny"`
---@field allowed_tools? string[] names or kinds of tools; all
---@field on_update? function what the agent says between turns: fun(update, session)
---@field observer? koine.ObserverOption

---Options of koine.acp.connect.
---@class koine.AcpConnectOptions: koine.AcpSessionOptions
---@field command string the program
---@field args? string[]
---@field env? table<string, string> besides HOME, PATH, USER, LANG and TMPDIR
---@field auth? string id of the login that is used when the agent asks for one
---@field executor? koine.Executor serves the agent's files and terminals
---@field on_elicit? fun(question: koine.AcpQuestion): any answers the agent's questions to its user
---@field on_log? fun(line: string) of its standard error
---@field share? boolean true: one process for all sessions; false
---@field timeout? koine.AcpTimeouts
---@field grace? number seconds from the end of its input to SIGTERM, and from there to SIGKILL; 2
---@field output_max? integer bytes that the agent may say in a turn; 64 MiB
---@field transport? koine.Transport|table

---A question of the agent to its user.
---@class koine.AcpQuestion
---@field mode string
---@field message string
---@field schema? table
---@field url? string
---@field id? string
---@field session koine.AcpSession

---Starts an agent's program and greets it.
---@param opts koine.AcpConnectOptions
---@return koine.AcpConnection? connection
---@return koine.Error err
function koine.acp.connect(opts) end

---Checks options of connect. Raises an ArgumentError.
---@param opts koine.AcpConnectOptions
function koine.acp.check(opts) end

---A connection to an agent. `<close>` ends it.
---@class koine.AcpConnection
---@field agent { name?: string, title?: string, version?: string }
---@field capabilities table<string, any>
---@field auth_methods { id: string, name: string, type?: string, description?: string }[]
local AcpConnection = {}

---A new session.
---@param opts? koine.AcpSessionOptions default: those of the connection
---@return koine.AcpSession? session
---@return koine.Error err
function AcpConnection:new(opts) end

---A session that the agent knows, without its history.
---@param id string
---@param opts? koine.AcpSessionOptions
---@return koine.AcpSession? session
---@return koine.Error err code `unsupported` if the agent cannot
function AcpConnection:resume(id, opts) end

---The same by loading; the history makes no events.
---@param id string
---@param opts? koine.AcpSessionOptions
---@return koine.AcpSession? session
---@return koine.Error err
function AcpConnection:load(id, opts) end

---Resumes a session, else loads it, else makes a new one with `reset` = true.
---@param id string
---@param opts? koine.AcpSessionOptions
---@return koine.AcpSession? session
---@return koine.Error err
function AcpConnection:take_up(id, opts) end

---The sessions that the agent knows.
---@param opts? { cwd?: string }
---@return { id: string, cwd: string, title?: string, updated_at?: string }[]? sessions
---@return koine.Error err
function AcpConnection:list(opts) end

---Ends all sessions and processes.
function AcpConnection:close() end

---A session of an agent. `<close>` ends it.
---@class koine.AcpSession
---@field id string to take it up later
---@field state "idle"|"running"|"stopping"|"dead"|"closed"
---@field reset? boolean a new one was made in place of the one that was asked for
---@field plan? table
---@field commands? table
---@field options table[] `{id, name, category, type, value, choices}`
---@field title? string
---@field context? { used: integer, size: integer } tokens
---@field cost_usd? number
local AcpSession = {}

---Options of one turn.
---@class koine.AcpTurnOptions
---@field on_event? fun(event: koine.AcpEvent)
---@field on_delta? fun(delta: koine.Delta)
---@field on_update? fun(update: table) every update as the agent sent it
---@field timeout? { idle?: number, total?: number } seconds
---@field parent? koine.ParentOption

---The result of a turn.
---@class koine.AcpResult
---@field status "completed"|"stopped"|"cancelled"
---@field stop_reason "end_turn"|"max_tokens"|"max_turn_requests"|"refusal"|"cancelled"
---@field raw_stop_reason? string
---@field text string all that the agent wrote
---@field outputs string[] the messages
---@field calls table[] `{id, name, kind, input, status, blocked, reason}`
---@field usage koine.Usage
---@field cost_usd? number of this turn
---@field truncated? boolean
---@field context? { used: integer, size: integer }
---@field session_id string
---@field reset? boolean
---@field reason? string
---@field warnings koine.Warning[]

---Plays a turn.
---@param blocks string|koine.Block[]
---@param opts? koine.AcpTurnOptions
---@return koine.AcpResult? result
---@return koine.Error err `err.partial` has the result so far
function AcpSession:prompt(blocks, opts) end

---Begins a turn, whose events are read one by one.
---@param blocks string|koine.Block[]
---@param opts? koine.AcpTurnOptions
---@return koine.AcpTurn? turn
---@return koine.Error err
function AcpSession:start(blocks, opts) end

---Asks the agent to stop, without waiting.
---@return boolean cancelled whether a turn ran
function AcpSession:cancel() end

---Sets an option of the agent by its id, or `"model"`, `"mode"`, `"thinking"`.
---@param option string
---@param value any
---@return true? ok
---@return koine.Error err names what there is
function AcpSession:set(option, value) end

---Ends the session, and its process.
function AcpSession:close() end

---A turn: iterate over its events. Leaving it by `<close>` cancels it.
---@class koine.AcpTurn
---@overload fun(): koine.AcpEvent?
local AcpTurn = {}

---Waits for the next event.
---@return koine.AcpEvent? event nil at the end
---@return koine.Error err
function AcpTurn:next() end

---The result, after reading the rest.
---@return koine.AcpResult? result
---@return koine.Error err
function AcpTurn:result() end

---Asks the agent to stop.
---@return boolean cancelled whether the turn ran
function AcpTurn:cancel() end

---Cancels the turn.
function AcpTurn:close() end

-- The agent's side ---------------------------------------------------------------------------------------------------

---What a function that makes an agent for a session is told.
---@class koine.ServedSession
---@field id string
---@field cwd string
---@field additional_directories? string[]
---@field mode? string
---@field options table<string, any>
---@field client { name?: string, version?: string, capabilities?: table }
---@field tools koine.Tool[]
---@field executor? koine.Executor

---A mode that the user can choose.
---@class koine.ServedMode
---@field id string
---@field name string
---@field description? string

---An option that the user can choose.
---@class koine.ServedOption
---@field id string
---@field name string
---@field value string|boolean
---@field description? string
---@field category? string
---@field choices? koine.ServedChoice[] none with a boolean value

---A value of an option.
---@class koine.ServedChoice
---@field value string
---@field name string
---@field description? string

---A way to log in.
---@class koine.ServedLogin
---@field id string
---@field name string
---@field description? string
---@field run fun(): true?, koine.Error?

---Options of koine.acp.serve.
---@class koine.AcpServeOptions
---@field agent koine.Agent|fun(session: koine.ServedSession): koine.Agent?, koine.Error?
---@field tools? koine.ToolEntry[] that every session has besides
---@field executor? "client"|"local"|table files and commands through the editor, here, or options of an executor
---@field approval? boolean|fun(name: string, args: table, session: koine.ServedSession): boolean which calls wait
---@field always? boolean whether the user may allow a tool for the rest of a session; true
---@field name? string `"koine"`
---@field title? string
---@field version? string Koine's version
---@field sessions? koine.Store editors can then list sessions and go on with them
---@field modes? koine.ServedMode[] the first is that of new sessions
---@field options? koine.ServedOption[]
---@field login? koine.ServedLogin[] ways to log in
---@field logout? fun(): true?, koine.Error?
---@field mcp? boolean false: MCP servers that the editor names are not connected; true
---@field wire? table an object with `line()` and `write(bytes)` in place of standard input and output

---Serves an agent until the editor closes standard input.
---@param opts koine.AcpServeOptions
---@return true? ok
---@return koine.Error err
function koine.acp.serve(opts) end
