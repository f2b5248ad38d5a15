---@meta _
-- Executors and programs: tools below one working directory, and child processes.

---@class koine
local koine = {}

---Options of koine.executor.
---@class koine.ExecutorOptions
---@field workdir string path of the working directory
---@field timeout? number seconds that a command may run; 300
---@field output_max? integer bytes of a result that the model gets; 65536
---@field env? string[] names of the environment variables that commands inherit
---@field set_env? table<string, string> further variables for commands
---@field policy? koine.Policy|koine.Policy[] default: `koine.executor.policies.cautious`; `{}` for none
---@field allowed_tools? string[] default: all
---@field through? koine.Through others who read and write files and run commands
---@field protect? boolean false: this process is not closed to commands; true

---Looks at a call before a tool runs: nil to let it pass, or the reason why not, which the model is told.
---@alias koine.Policy fun(name: string, input: table<string, any>, ctx: koine.PolicyContext): string?

---What a policy is told besides the call.
---@class koine.PolicyContext
---@field workdir string absolute path without links
---@field workdir_given? string
---@field [string] any

---Who reads and writes files and runs commands in the executor's place, after all checks.
---@class koine.Through
---@field read? fun(path: string): string?, koine.Error?
---@field write? fun(path: string, text: string): true?, koine.Error?
---@field run? fun(argv: string[], opts: koine.ProcessOptions, ctx: table): koine.ProcessResult?, koine.Error?

---Gives tools access to one working directory. File tools stay below it; bash can do all that the user can.
---@class koine.Executor
---@field names string[] the allowed tools
---@field workdir? string its absolute path without links; nil of a remote one
---@field run fun(name: string, input: table<string, any>, ctx?: table): string?, koine.ToolInfo|koine.Error|nil runs a tool
local Executor = {}

---The allowed tools, for an agent. Raises an ArgumentError for a name that is not allowed.
---@param names? string[] default: all
---@return koine.Tool[] tools
function Executor:tools(names) end

---A file's text, or some of its lines.
---@param path string
---@param opts? { line?: integer, limit?: integer } from that line on, and so many
---@return string? text
---@return koine.Error err kind `executor`
function Executor:read_text(path, opts) end

---Replaces or creates a file.
---@param path string
---@param content string
---@return true? ok
---@return koine.Error err
function Executor:write_text(path, content) end

---Starts a command; its errors are in its output.
---@param argv string[] a program and its arguments, or one line for the shell
---@param opts? koine.CommandOptions
---@return koine.Program? program
---@return koine.Error err
function Executor:open(argv, opts) end

---Options of a command.
---@class koine.CommandOptions
---@field cwd? string a directory below the working directory
---@field env? table<string, string> further variables

---Closes the descriptor of the working directory. Calls then raise.
function Executor:close() end

---Makes an executor; or nil and the error where the working directory cannot be opened.
---@class koine.executor
---@overload fun(opts: koine.ExecutorOptions): koine.Executor?, koine.Error
---@field names string[] the names of all tools
koine.executor = {}

---Functions that look at calls. They are advice to a model, not a boundary.
---@class koine.executor.policies
koine.executor.policies = {}

---Refuses .env files, GitHub workflows, and what reaches outside of the working directory.
---@param name string
---@param input table<string, any>
---@param ctx koine.PolicyContext
---@return string? reason
function koine.executor.policies.cautious(name, input, ctx) end

---Whether a call of that tool may change anything.
---@param name string
---@param input table<string, any>
---@return boolean
function koine.executor.changes(name, input) end

---The names of the tools for a role.
---@param role "orchestrator"|"implementor"
---@return string[] names
function koine.executor.role_tools(role) end

---Options of koine.executor.remote.
---@class koine.RemoteOptions
---@field url? string default: `KOINE_EXECUTOR_URL`
---@field token? string default: `KOINE_EXECUTOR_TOKEN`
---@field timeout? number seconds that a call may take; 310

---An executor on another machine.
---@param opts koine.RemoteOptions
---@return koine.Executor executor
function koine.executor.remote(opts) end

---Options of koine.executor.serve.
---@class koine.ServeOptions
---@field executor koine.Executor
---@field port integer 0 for any free port
---@field token? string default: `KOINE_EXECUTOR_TOKEN`; without it every call is refused
---@field address? string `"127.0.0.1"`

---Serves an executor over HTTP until SIGTERM or SIGINT.
---@param opts koine.ServeOptions
---@return true? ok
---@return koine.Error err
function koine.executor.serve(opts) end

-- Programs -----------------------------------------------------------------------------------------------------------

---Child processes. What a program started ends with it.
---@class koine.process
koine.process = {}

---Options of koine.process.run.
---@class koine.ProcessOptions
---@field cwd? string default: this process's
---@field env? table<string, string> the whole environment; default: this process's
---@field stdin? string bytes for its standard input
---@field timeout? number seconds; 0, no limit
---@field grace? number seconds between SIGTERM and SIGKILL; 2
---@field output_max? integer bytes kept of `stdout` and of `stderr`; 1 MiB each
---@field merge? boolean true: `stdout` also holds the standard error
---@field protect? boolean false: this process is not closed to the program; true

---How a program ended, and what it wrote.
---@class koine.ProcessResult
---@field code? integer the exit code
---@field signal? integer in its place: the signal that ended the program
---@field stdout string
---@field stderr string
---@field timed_out? boolean
---@field dropped { stdout: integer, stderr: integer } bytes that were not kept
---@field left? integer descendants that could not be killed; -1: some that could not be found

---Runs a program and waits for its end, and that of all that it started. Yields in `koine.run` and in a host.
---@param argv string[] its name and arguments; no shell
---@param opts? koine.ProcessOptions
---@return koine.ProcessResult? result
---@return koine.Error err code `absent` or `too_large` where it could not be started
function koine.process.run(argv, opts) end

---Options of koine.process.open.
---@class koine.ProgramOptions
---@field cwd? string default: this process's
---@field env? table<string, string> the whole environment; default: this process's
---@field grace? number seconds from the end of its input to SIGTERM, and from there to SIGKILL; 2
---@field line_max? integer bytes of a line; 32 MiB
---@field high_water? integer bytes that may be queued without waiting; 256 KiB
---@field stderr_max? integer bytes kept of the end of its standard error; 64 KiB
---@field on_stderr? fun(line: string)
---@field protect? boolean false: this process is not closed to the program; true

---Starts a program to talk to.
---@param argv string[]
---@param opts? koine.ProgramOptions
---@return koine.Program? program
---@return koine.Error err
function koine.process.open(argv, opts) end

---A program that runs. `<close>` ends it.
---@class koine.Program
local Program = {}

---Waits for the next line of its output.
---@return string? line nil at the end of its output
---@return koine.Error err
function Program:line() end

---Queues bytes for its input; waits while more than `high_water` are queued.
---@param bytes string
---@return true? ok
---@return koine.Error err
function Program:write(bytes) end

---The program reads what was queued, then an end of file.
function Program:close_input() end

---Begins the end; does not wait.
function Program:stop() end

---Waits for the end.
---@return koine.ProcessResult? result `stdout` is empty
---@return koine.Error err
function Program:result() end

---Ends the program and waits for that.
function Program:close() end
