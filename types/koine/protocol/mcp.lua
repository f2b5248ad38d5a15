---@meta _
-- MCP: tools, resources and prompts of servers that others wrote.

---@class koine
local koine = {}

---The Model Context Protocol, as a client.
---@class koine.mcp
koine.mcp = {}

---Time limits of requests.
---@class koine.McpTimeouts
---@field connect? number seconds; 60
---@field total? number seconds of a request in all; no limit
---@field idle? number seconds without progress; 60

---What a server may ask for while it works.
---@class koine.McpInputs
---@field on_elicit? fun(request: koine.McpQuestion): any asks a person
---@field sampling? koine.Adapter|fun(request: table): any lets the server ask a model, at your cost
---@field approve_sampling? fun(request: table): boolean is asked first; anything but true refuses
---@field sampling_tools? boolean true: a server may give tools to the model
---@field sampling_max_tokens? integer of an answer; 8192
---@field sampling_calls? integer of a client; 100
---@field sampling_tokens? integer of a client; 1000000
---@field roots? { uri: string, name?: string }[] directories that it may use, `file://` each

---What a server asks a person.
---@class koine.McpQuestion
---@field server string
---@field mode "form"|"url"
---@field message string
---@field schema? table
---@field url? string

---A server: a program (`command`), or a URL.
---@class koine.McpOptions: koine.McpInputs
---@field name string yours for the server; errors and names of tools begin with it
---@field command? string the program; no shell
---@field args? string[]
---@field env? table<string, string> over the few variables that the program inherits
---@field cwd? string
---@field grace? number seconds from the end of its input to SIGTERM, and from there to SIGKILL
---@field protect? boolean false: this process is not closed to the program
---@field url? string in place of `command`: used as it is
---@field headers? table<string, string>
---@field token? string|(fun(challenge?: table, refused?: string): string?, any)|koine.McpLogin goes as a bearer token
---@field login? koine.McpLoginOptions in place of `token`
---@field proxy? string
---@field ca_file? string
---@field transport? koine.Transport|table
---@field timeout? number|koine.McpTimeouts seconds for a request in all, or each limit
---@field era? "legacy"|"modern" does not ask which
---@field probe_timeout? number seconds before a silent server is taken for a legacy one; 5
---@field concurrency? integer calls at once; 8
---@field on_log? fun(line: string, message?: table)
---@field on_warning? fun(warning: koine.Warning)
---@field on_change? fun(kind: string, uri?: string)
---@field on_progress? fun(progress: koine.McpProgress)
---@field log_level? "debug"|"info"|"notice"|"warning"|"error"|"critical"|"alert"|"emergency"
---@field observer? koine.ObserverOption
---@field fatal? boolean true: a server that ends makes errors of kind `executor`; false
---@field approval? "none"|"writes"|"all"|fun(tool: table, args: table): boolean which calls need approval; `"none"`
---@field trusted? boolean true: the server's annotations count; false
---@field pins? string path of a file that remembers each tool: one that changed is withheld
---@field description_max? integer bytes of a tool's description; 4096
---@field secrets? string[] what no error and no log shows

---How far a call is.
---@class koine.McpProgress
---@field progress number
---@field total? number
---@field message? string

---Connects to a server.
---@param options koine.McpOptions
---@return koine.McpClient? client
---@return koine.Error err
function koine.mcp.connect(options) end

---The client of one server. `<close>` ends the connection, and a program with all that it started.
---@class koine.McpClient
---@field name string
---@field era "legacy"|"modern"
---@field version string
---@field server? table what it says of itself
---@field capabilities? table
---@field instructions? string a stranger's words
local McpClient = {}

---Options of tools.
---@class koine.McpToolsOptions
---@field only? string[] the server's own names
---@field except? string[] the server's own names
---@field prefix? string|boolean what names begin with; true: the client's name
---@field timeouts? table<string, number> seconds of calls of these tools
---@field search? boolean true: two tools in place of all

---The tools of the server, for models.
---@param opts? koine.McpToolsOptions
---@return koine.Tool[]? tools
---@return koine.Error err
function McpClient:tools(opts) end

---Takes a tool that was withheld because it changed.
---@param name string the server's own
---@return true? ok
---@return koine.Error err
function McpClient:accept(name) end

---Options of one call.
---@class koine.McpCallOptions
---@field timeout? number seconds in all
---@field idle? number seconds without progress
---@field on_progress? fun(progress: koine.McpProgress)
---@field parent? koine.ParentOption
---@field traceparent? string

---The result of a call.
---@class koine.McpResult
---@field content table[] items as the server sent them
---@field structured? table
---@field is_error boolean
---@field meta? table

---Calls a tool by the server's own name.
---@param name string
---@param arguments? table|string a table, or the text of a JSON object
---@param opts? koine.McpCallOptions
---@return koine.McpResult? result
---@return koine.Error err
function McpClient:call(name, arguments, opts) end

---Lists the resources of the server.
---@return table[]? resources as the server lists them
---@return koine.Error err
function McpClient:resources() end

---Lists the templates of the server's resources.
---@return table[]? templates as the server lists them
---@return koine.Error err
function McpClient:resource_templates() end

---Reads a resource.
---@param uri string
---@return { uri: string, mimeType?: string, text?: string, blob?: string }[]? contents
---@return koine.Error err kind `not_found`
function McpClient:read(uri) end

---Lists the prompts of the server.
---@return table[]? prompts as the server lists them
---@return koine.Error err
function McpClient:prompts() end

---Asks for a prompt.
---@param name string
---@param arguments? table<string, string>
---@return koine.Message[]? messages
---@return string|koine.Error|nil description with nil the error
function McpClient:prompt(name, arguments) end

---What an argument belongs to: a prompt or a resource.
---@class koine.McpRef
---@field prompt? string
---@field resource? string URI or template

---An argument that is being written.
---@class koine.McpArgument
---@field name string
---@field value? string what was written so far; `""`

---Values for an argument that is being written.
---@param ref koine.McpRef
---@param argument koine.McpArgument
---@param known? table<string, string> the other arguments
---@return { values: string[], total?: integer, has_more: boolean }? completion
---@return koine.Error err
function McpClient:complete(ref, argument, known) end

---Options of listen.
---@class koine.McpListenOptions
---@field on_change fun(kind: "tools"|"prompts"|"resources"|"resource", uri?: string)
---@field tools? boolean
---@field prompts? boolean
---@field resources? boolean
---@field uris? string[]
---@field on_open? fun(granted: table)

---Hears of changes until the client is closed or the task is cancelled.
---@param opts koine.McpListenOptions
---@return nil
---@return koine.Error err
function McpClient:listen(opts) end

---Ends the connection, and a program with all that it started.
function McpClient:close() end

-- Many servers -------------------------------------------------------------------------------------------------------

---Options of koine.mcp.load.
---@class koine.McpLoadOptions
---@field start_timeout? number seconds that `start` waits; 10
---@field join_timeout? number seconds after which a late server is given up; 60
---@field on_warning? fun(warning: koine.Warning)
---@field each? fun(name: string, options: koine.McpOptions): koine.McpOptions? may change the options of a server
---@field observer? koine.ObserverOption
---@field variables? table<string, string> for `${NAME}`, before the environment

---Reads a configuration of servers; starts nothing.
---@param path string
---@param opts? koine.McpLoadOptions
---@return koine.McpServers? servers
---@return koine.Error err
function koine.mcp.load(path, opts) end

---The servers of a configuration. `<close>` closes all.
---@class koine.McpServers
---@field failed table<string, koine.Error>
---@field clients table<string, koine.McpClient>
---@field names string[]
---@field warnings koine.Warning[]
local McpServers = {}

---Starts all that do not run, and waits until each runs or has failed.
---@return true? ok
---@return koine.Error err
function McpServers:start() end

---Options of tools of several servers.
---@class koine.McpServersToolsOptions
---@field prefix? boolean whether names begin with the server's; true
---@field search? boolean for each server two tools in place of all

---The tools of all servers that run.
---@param opts? koine.McpServersToolsOptions
---@return koine.Tool[]? tools of all that run
---@return koine.Error err
function McpServers:tools(opts) end

---The client of one server.
---@param name string
---@return koine.McpClient? client
---@return koine.Error err why it does not run
function McpServers:client(name) end

---Closes all.
function McpServers:close() end

-- Login --------------------------------------------------------------------------------------------------------------

---Options of a login that belongs to a server.
---@class koine.McpLoginOptions
---@field tokens? string path of a file that keeps the tokens; without it: in memory
---@field on_url? fun(url: string) has a person open the address; default: prints it
---@field timeout? number seconds that a person has; 300
---@field scope? string further scopes, with spaces between them
---@field client_id? string of a client that you registered
---@field client_secret? string needs `issuer`
---@field issuer? string the only authorisation server that may be asked
---@field client_metadata_url? string
---@field client_name? string `"Koine"`
---@field redirect_port? integer of 127.0.0.1; a free one

---Options of koine.mcp.login.
---@class koine.McpLoginTo: koine.McpLoginOptions
---@field url string of the server
---@field proxy? string
---@field ca_file? string
---@field transport? koine.Transport

---A source of tokens for a server; asks nothing yet.
---@param options koine.McpLoginTo
---@return koine.McpLogin? source
---@return koine.Error err where the file of tokens cannot be used
function koine.mcp.login(options) end

---A source of tokens for a server.
---@class koine.McpLogin
local McpLogin = {}

---Makes sure of a token, from a person if need be.
---@return true? ok
---@return koine.Error err
function McpLogin:login() end

---Whether a login is needed; asks nobody.
---@return boolean? logged_in whether there is a token, or a way to one without a person
---@return koine.Error err with nil
function McpLogin:is_logged_in() end

---Forgets the tokens of this server, in the file too.
---@return true? ok
---@return koine.Error err
function McpLogin:logout() end

---What `connect` asks.
---@param challenge? table with which the server refused
---@param refused? string the token that was sent
---@return string? token nil without an error for none
---@return koine.Error err
function McpLogin:token(challenge, refused) end
