---@meta _
-- Cassettes: answers of providers and talks with programs, recorded once and played from then on.

---Cassettes.
---@class koine.testing.cassette
local cassette = {}

---Options of koine.testing.cassette.open.
---@class koine.CassetteOptions
---@field mode? "replay"|"auto"|"extend"|"record"|"live" `KOINE_CASSETTE` wins; where `CI` is set `"replay"`; else `"auto"`
---@field match? koine.CassetteMatch|fun(request: table, recorded: table): boolean
---@field ignore? string[] dotted paths of JSON bodies that are not compared
---@field repeats? boolean true: the answer to the last of equal requests is played again; false
---@field headers? string[] names of further headers to keep
---@field replace? table<string, string> text → what stands there in the file
---@field redact? fun(exchange: table) changes an exchange before it is written
---@field allow? string[] what looks like a credential and contains one of them may be written
---@field speed? number 0: all is there at once; 1: as recorded; 0

---What is compared of a request.
---@class koine.CassetteMatch
---@field host? boolean false: the host of the URL is not compared; true

---Opens the cassette of a file. Requests and `finish` say what is wrong with it.
---@param path string
---@param options? koine.CassetteOptions
---@return koine.Cassette tape
function cassette.open(path, options) end

---Looks for credentials in the cassette of a file.
---@param path string
---@param allow? string[]
---@return true? ok
---@return koine.Error err
function cassette.check(path, allow) end

---A cassette: give it to adapters, servers and agents as `transport`. `<close>` ends it and writes nothing.
---@class koine.Cassette: koine.Transport
local Cassette = {}

---The value of a variable while answers are recorded, and a constant while they are played.
---@param name string
---@return string? key nil where the variable is not set
function Cassette:key(name) end

---Ends the cassette and writes the file.
---@return true? ok
---@return koine.Error err a request was not found, something was not played, or nothing could be written
function Cassette:finish() end

---Ends it and writes nothing.
function Cassette:close() end

---A clock for the adapter's option `clock`: recorded times pass at once.
---@return koine.Clock clock
function Cassette:clock() end

---A fault of a recorded answer.
---@class koine.CassetteFault
---@field delay_ms? number
---@field reset_after? integer bytes of the body; the connection breaks
---@field truncate_after? integer bytes; the connection breaks
---@field end_after? integer bytes; the answer ends properly, but early
---@field stall_after? integer bytes; nothing more comes

---Breaks the answer of an exchange; nil takes the fault away.
---@param i integer
---@param fault? koine.CassetteFault
function Cassette:fault(i, fault) end

---Counts the exchanges.
---@return integer count exchanges in the file
function Cassette:count() end

---What the network asks; adapters call it.
---@param call table
---@return any recording
---@return koine.Error err
function Cassette:begin(call) end

---What stands in a program's place; koine.mcp and koine.acp call it.
---@param call table
---@param start function
---@return any program
---@return koine.Error err
function Cassette:program(call, start) end
