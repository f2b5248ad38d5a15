---@meta _
-- Observing: what begins, happens and ends, in records.

---@class koine
local koine = {}

---Observers, and what can be made of their records.
---@class koine.observe
koine.observe = {}

---What began, happened or ended. docs/observing.md has the fields of each type.
---@class koine.Record
---@field v 1
---@field type "chat"|"attempt"|"embed"|"agent"|"tool"|"mcp"|"turn"|"session"|"prompt"|"wait"|string
---@field phase "start"|"end"|"point"
---@field trace string 32 hex digits
---@field id string 16 hex digits, the same at start and end
---@field parent? string the id of what it is a part of
---@field time integer Unix nanoseconds
---@field seconds? number of an end: how long it took
---@field error? { class: koine.ErrorClass, kind: koine.ErrorKind, code?: string, status_code?: integer, message: string }
---@field attributes? table<string, any> the observer's own
---@field content? table only where it is captured
---@field [string] any

---What calls are a part of: `ctx.observe` of a tool. `tostring` gives a traceparent.
---@class koine.TraceContext
---@field trace string
---@field id string
---@field type? string of the work; nil for another program's
---@field above? string type of the work that it is part of
---@field conversation? string
---@field hook? any Koine's own

---Is told of records.
---@class koine.Observer
local Observer = {}

---Takes a record.
---@param record koine.Record
function Observer:record(record) end

---What koine.observe.new takes.
---@class koine.ObserverSettings
---@field to koine.ObserverOption
---@field content? boolean|("messages"|"tools"|"deltas")[] what is captured of content; true: messages and tools; false
---@field content_max? integer bytes of a captured string; 65536
---@field cache_misses? boolean whether it is told of them; false
---@field redact? fun(text: string): string for each captured string
---@field attributes? table<string, any> put into each record
---@field ids? fun(bytes: integer): string hex digits; for tests
---@field clock? fun(): integer Unix nanoseconds; for tests

---An observer with settings of its own.
---@param given koine.ObserverSettings
---@return koine.Observer observer
function koine.observe.new(given) end

---One observer of several.
---@param observers koine.ObserverOption[]
---@return koine.Observer observer
function koine.observe.fan(observers) end

---An observer that hands on the records for which the predicate is true.
---@param to koine.ObserverOption
---@param predicate fun(record: koine.Record): any
---@return koine.Observer observer
function koine.observe.filter(to, predicate) end

---How often observers of this Lua state raised, and the first thing that one raised.
---@return integer count
---@return any first
function koine.observe.errors() end

---Options of koine.observe.jsonl.
---@class koine.JsonlOptions
---@field rotate? integer bytes at which a file at a path becomes PATH.1

---An observer that writes records to a file.
---@class koine.ObserveJsonl: koine.Observer
local ObserveJsonl = {}

---Closes the file, unless you opened it.
function ObserveJsonl:close() end

---An observer that writes records to a file, a line each.
---@param to string|file* a path, or an open file
---@param opts? koine.JsonlOptions
---@return koine.ObserveJsonl? observer
---@return koine.Error err
function koine.observe.jsonl(to, opts) end

---Options of koine.observe.cost.
---@class koine.CostOptions
---@field by? ("provider"|"model"|"agent"|"tool"|"day")[]|fun(finish: koine.Record, start: koine.Record): any

---What the calls of one row used and cost.
---@class koine.CostRow
---@field calls integer
---@field failed integer
---@field retried integer further attempts
---@field input_tokens integer
---@field output_tokens integer
---@field cost? number USD of the calls whose price is known
---@field unknown integer calls that used tokens at a price that is not known, or were left before the provider said how many
---@field [string] any a field for each name of `by`

---An observer that adds up what calls used and cost. `tostring` gives a table as text.
---@class koine.ObserveCost: koine.Observer
local ObserveCost = {}

---The rows so far.
---@return koine.CostRow[] rows
function ObserveCost:table() end

---The sum of all rows.
---@return koine.CostRow row all calls
function ObserveCost:total() end

---An observer that adds up what calls used and cost.
---@param opts? koine.CostOptions
---@return koine.ObserveCost observer
function koine.observe.cost(opts) end

---Options of koine.observe.otlp.
---@class koine.OtlpOptions
---@field endpoint? string the collector; `"http://localhost:4318"`
---@field traces_endpoint? string in full
---@field metrics_endpoint? string in full
---@field headers? table<string, string>
---@field ca_file? string certificates to trust
---@field service? string your program's name
---@field resource? table<string, any> attributes of all that is sent
---@field traces? boolean true
---@field metrics? boolean false
---@field content? boolean|string[] as for koine.observe.new
---@field attempts? boolean whether single HTTP requests are spans; false
---@field timeout? number seconds of a request, `flush` and `close`; 10
---@field compression? "none"|"gzip" of what is sent; gzip needs lua-zlib; `"none"`
---@field interval? number seconds between requests of spans; 5
---@field batch? integer spans of a request; 512
---@field queue? integer spans that may wait; 2048
---@field metrics_interval? number seconds between requests of metrics; 60

---An observer that sends spans to an OpenTelemetry collector. `<close>` sends what is left.
---@class koine.ObserveOtlp: koine.Observer
local ObserveOtlp = {}

---Sends what waits.
---@return true? ok
---@return koine.Error err
function ObserveOtlp:flush() end

---How many spans were sent, lost and so on.
---@return { sent: integer, rejected: integer, dropped: integer, failed: integer, queued: integer, metrics?: table } counts
function ObserveOtlp:counts() end

---Sends what is left.
---@return true? ok
---@return koine.Error err
function ObserveOtlp:close() end

---An observer that sends spans to an OpenTelemetry collector.
---@param opts? koine.OtlpOptions
---@return koine.ObserveOtlp observer
function koine.observe.otlp(opts) end

---Such an observer as OpenTelemetry's environment variables describe it.
---@param opts? koine.OtlpOptions
---@return koine.ObserveOtlp? observer nil without an error where the variables turn everything off
---@return koine.Error err
function koine.observe.from_env(opts) end

---The records of a file that jsonl wrote.
---@param path string
---@return koine.Record[]? records
---@return integer|koine.Error bad how many lines hold none; with nil the error
function koine.observe.read(path) end

---Follows a log. `<close>` closes it.
---@class koine.LogFollower
local LogFollower = {}

---What was added since the last call, at most 1 MiB.
---@return koine.Record[]? records
---@return integer|koine.Error bad how many lines hold none; with nil the error
---@return boolean more whether there may be more
function LogFollower:read() end

---Whether there is such a file.
---@return boolean there whether there was a file when it was looked for last
function LogFollower:is_there() end

---Closes the file.
function LogFollower:close() end

---Follows the log at a path, which may not be there yet, may be cut, and may be renamed in favour of a new one.
---@param path string
---@return koine.LogFollower follower
function koine.observe.follow(path) end

---A piece of work in a tree, with its parts.
---@class koine.TraceNode
---@field id string
---@field trace string
---@field type string
---@field parent? string
---@field time integer Unix nanoseconds
---@field place integer the position of its first record
---@field name? string
---@field start? koine.Record
---@field finish? koine.Record
---@field point? koine.Record of a point that is part of nothing
---@field open? boolean it has no end
---@field seconds? number
---@field error? table
---@field parts koine.TraceNode[]
---@field points koine.Record[]

---Records as trees.
---@param records koine.Record[]
---@return koine.TraceNode[] roots
function koine.observe.tree(records) end

---A page of HTML that shows records.
---@param records koine.Record[]
---@return string html
function koine.observe.page(records) end
