---@meta _
-- Responses and streams: what a model answered, whole and as it arrives.

---@class koine
local koine = {}

---@alias koine.StopReason
---| "end_turn" # finished
---| "tool_use" # waits for the results of its tool calls
---| "max_tokens" # was cut at the limit, perhaps inside a call
---| "stop_sequence" # wrote one of your sequences
---| "pause_turn" # paused: send the message back to go on
---| "refusal" # declined
---| "sensitive" # was stopped by a filter
---| "context_overflow" # filled its context
---| "error" # only in `err.partial`

---What a request could not carry, or an oddity of the answer. docs/response.md lists the codes.
---@class koine.Warning
---@field code string
---@field field? string
---@field message string

---How likely a token was.
---@class koine.TokenLogprob
---@field token string
---@field logprob? number natural logarithm of the probability
---@field bytes? string the token's bytes
---@field top? koine.TokenLogprob[] the likeliest tokens there

---Why an answer has no value.
---@class koine.OutputError
---@field code "not_json"|"invalid"|"empty"|"truncated"|"refused"
---@field message string
---@field text? string what the model wrote
---@field path? string JSON pointer of the member that the schema refuses

---@alias koine.OutputMode "native"|"tool"|"prompt"|"object"

---One message of a model. It is read-only; the tables in it are ordinary tables.
---@class koine.Response
---@field content koine.Block[] all blocks in the provider's order; empty when the model said nothing
---@field tool_calls koine.ToolUse[] the tool calls of `content`, the same tables
---@field model string as the provider reports it, else as requested
---@field stop_reason koine.StopReason
---@field raw_stop_reason? string the provider's own word
---@field stop_sequence? string the sequence that matched
---@field usage koine.Usage
---@field container? { id: string, expires_at?: string, [string]: any } where the provider ran code
---@field logprobs? koine.TokenLogprob[] with the option `logprobs`
---@field warnings koine.Warning[]
---@field attempts? koine.Attempt[] the successful one last; nil of adapters written in Lua that make none
---@field id? string
---@field request_id? string for the provider's support
---@field provider string the row's name
---@field status_code? integer
---@field headers? table<string, string> names in lower case
---@field partial? true only in `err.partial`: do not run its tool calls
---@field output? any the value, with the option `output`
---@field output_error? koine.OutputError why there is none
---@field output_mode? koine.OutputMode how it was asked for
---@field degenerate? true there is nothing in it, or nothing but thinking
local Response = {}

---The text blocks joined; `""` when there are none.
---@return string text
function Response:text() end

---The thinking blocks joined; `""` when there are none.
---@return string text
function Response:thinking() end

---The message to append to the history.
---@return koine.Message message
function Response:message() end

---The body as received, at most 64 KiB.
---@return string? body nil of a stream without the option `keep_raw`
function Response:raw() end

---A plain copy of all fields that are set.
---@return table fields
function Response:to_table() end

---What koine.response takes.
---@class koine.ResponseFields
---@field model string
---@field stop_reason koine.StopReason
---@field content? string|koine.Block[]
---@field raw_stop_reason? string
---@field stop_sequence? string
---@field usage? koine.Usage
---@field container? table
---@field logprobs? koine.TokenLogprob[]
---@field warnings? koine.Warning[]
---@field attempts? koine.Attempt[]
---@field id? string
---@field request_id? string
---@field provider? string
---@field status_code? integer
---@field headers? table<string, string>
---@field partial? true
---@field output? any
---@field output_error? koine.OutputError
---@field output_mode? koine.OutputMode
---@field degenerate? true

---Makes a Response of a table, for adapters written in Lua. Raises an ArgumentError for a bad field.
---@param fields koine.ResponseFields
---@return koine.Response response
function koine.response(fields) end

-- Deltas -------------------------------------------------------------------------------------------------------------

---A piece of a stream. `type` tells which.
---@alias koine.Delta
---| koine.TextStart
---| koine.TextDelta
---| koine.TextEnd
---| koine.ThinkingStart
---| koine.ThinkingDelta
---| koine.ThinkingEnd
---| koine.ToolUseStart
---| koine.ToolUseDelta
---| koine.ToolUseEnd
---| koine.OutputDelta
---| koine.OutputReset

---A text block begins.
---@class koine.TextStart
---@field type "text_start"

---A piece of the text.
---@class koine.TextDelta
---@field type "text_delta"
---@field text string never empty, whole characters

---A text block ends.
---@class koine.TextEnd
---@field type "text_end"

---A thinking block begins.
---@class koine.ThinkingStart
---@field type "thinking_start"

---A piece of the reasoning.
---@class koine.ThinkingDelta
---@field type "thinking_delta"
---@field text string

---A thinking block ends.
---@class koine.ThinkingEnd
---@field type "thinking_end"

---A tool call begins.
---@class koine.ToolUseStart
---@field type "tool_use_start"
---@field tool_call_id string
---@field tool_name string

---A piece of a call's arguments.
---@class koine.ToolUseDelta
---@field type "tool_use_delta"
---@field tool_call_id string
---@field argument_delta string a piece of JSON

---A tool call ends.
---@class koine.ToolUseEnd
---@field type "tool_use_end"
---@field tool_call_id string

---The value grew, with the option `output`.
---@class koine.OutputDelta
---@field type "output_delta"
---@field value any the value so far: the same table every time
---@field path string JSON pointer of the innermost value that changed
---@field complete boolean whether that one is whole

---Another answer begins, because the one before did not fit.
---@class koine.OutputReset
---@field type "output_reset"

---What koine.delta takes.
---@class koine.DeltaFields
---@field type string
---@field text? string
---@field tool_call_id? string
---@field tool_name? string
---@field argument_delta? string

---Makes a delta, for adapters written in Lua.
---@param fields koine.DeltaFields
---@return koine.Delta delta
function koine.delta(fields) end

-- Streams ------------------------------------------------------------------------------------------------------------

---The latest attempt of a stream.
---@class koine.StreamStats
---@field bytes integer received: head and body, before decompression
---@field events integer
---@field retained integer bytes of memory in use
---@field peak integer its maximum
---@field sent? integer bytes of the request's body
---@field connection? "new"|"reused"
---@field dns? number seconds of the name lookup
---@field connect? number seconds until connected
---@field tls? number seconds of TLS
---@field first_byte? number seconds from the start to the first byte
---@field first_delta? number seconds from the start to the first delta
---@field idle? number seconds since the last byte of the body

---An answer as it arrives. One coroutine may read it. `<close>` cancels it.
---@class koine.Stream
local Stream = {}

---Waits for the next delta.
---@return koine.Delta? delta nil at the end, and with an error
---@return koine.Error err the failure of the answer; nil at the end
function Stream:next() end

---The whole answer, after reading the rest; the same object every time.
---@return koine.Response? response
---@return koine.Error err
function Stream:response() end

---The deltas for a generic `for`, which closes the stream however the loop is left. Raises the error of a failed answer.
---@return fun(): koine.Delta? next
---@return koine.Stream stream
---@return nil
---@return koine.Stream closing
function Stream:deltas() end

---With the option `output`: the value so far.
---@return any value nil before there is one
function Stream:output() end

---With the option `output`: the elements of an array, each once, when it is whole. Raises the error of a failed answer.
---@param path string JSON pointer of the array; `""` for the root
---@return fun(): any, string? next the element, and what is wrong with it
function Stream:elements(path) end

---Counts of the latest attempt.
---@return koine.StreamStats stats
function Stream:stats() end

---Cancels the request. May be called any number of times.
function Stream:close() end
