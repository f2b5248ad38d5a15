---@meta _
-- Errors: the one type of error, and how code in Lua makes and reads it.

---@class koine
local koine = {}

---@alias koine.ErrorClass
---| "AuthenticationError" # kinds `auth`, `permission`
---| "RateLimitError" # kinds `rate_limit`, `billing`
---| "ServerError" # kinds `overloaded`, `server`, `protocol`, and `timeout` with a status
---| "RequestError" # kinds `invalid_request`, `not_found`, `too_large`, `context_overflow`
---| "ConnectionError" # kinds `connect`, `stream_truncated`, and `timeout` without a status
---| "CancelledError" # kind `cancelled`
---| "ArgumentError" # raised: wrong use
---| "NotImplementedError" # raised: the adapter does not have the method
---| "Error" # kinds `limit`, `executor`, `output`, `other`; and what is true of every error

---@alias koine.ErrorKind
---| "auth" # the credentials are missing or refused
---| "permission" # they do not reach so far
---| "rate_limit" # too many requests; `retry_after` may say how long to wait
---| "billing" # no credit, or the quota is spent
---| "overloaded"
---| "server"
---| "invalid_request"
---| "not_found"
---| "too_large"
---| "context_overflow" # the request does not fit the model's context
---| "connect" # no connection was made
---| "timeout" # `code` is `connect`, `first_byte`, `idle` or `total`
---| "protocol" # an answer breaks the rules of its wire format
---| "stream_truncated" # an answer ended too early; `partial` has what arrived
---| "cancelled"
---| "limit" # an answer exceeds the option `limits`
---| "executor" # the machine of tools failed
---| "output" # an answer does not have the shape that was asked for
---| "other"
---| "argument" # wrong use; `field` and `expected` say where and what
---| "not_implemented"

---An error. Methods return it after nil for failures of the provider and the network, and raise it for wrong use.
---`tostring` gives the message.
---@class koine.Error
---@field class koine.ErrorClass
---@field kind koine.ErrorKind
---@field message string one line, at most 500 bytes, without credentials
---@field retryable boolean whether the same request may succeed later
---@field status_code? integer HTTP status; nil when no response came
---@field provider? string the row's name
---@field retry_after? number seconds that the server asked for
---@field code? string the provider's own, else a word that docs/errors.md lists
---@field request_id? string for the provider's support
---@field server_time? number of refused credentials: Unix seconds by the provider's clock
---@field attempts? koine.Attempt[]
---@field partial? koine.Response|koine.PartialEmbeddings what arrived before the error
---@field raw? string the error's body, at most 64 KiB
---@field field? string of an ArgumentError: the wrong field, such as `messages[2].role`
---@field expected? string of an ArgumentError: what belongs there
---@field adapter? string of a NotImplementedError
---@field method? string of a NotImplementedError
---@field where? string `"FILE:LINE"` of yours
---@field traceback? string of an error that ended a task
---@operator concat(any): string
local Error = {}

---Whether the error is of that class; `"Error"` holds for all.
---@param class koine.ErrorClass
---@return boolean
function Error:is(class) end

---One attempt of a call.
---@class koine.Attempt
---@field status_code? integer
---@field class? koine.ErrorClass nil of the attempt that succeeded
---@field kind? koine.ErrorKind nil of the attempt that succeeded
---@field waited number seconds before it
---@field message? string of an adapter that `koine.fallback` passed over

---Errors for adapters, tools and stores of your own.
---@class koine.errors
---@field classes koine.ErrorClass[] all classes
koine.errors = {}

---What koine.errors.new takes.
---@class koine.ErrorFields
---@field kind koine.ErrorKind
---@field message string
---@field class? koine.ErrorClass follows from `kind`
---@field retryable? boolean follows from `kind`
---@field [string] any further fields of the error

---Makes an error. The table becomes the error.
---@param fields koine.ErrorFields
---@return koine.Error err
function koine.errors.new(fields) end

---Raises an ArgumentError at the caller's line: `"FIELD: EXPECTED expected, got …"`.
---@param field string
---@param expected string
---@param value any what was got
function koine.errors.argument(field, expected, value) end

---Raises a NotImplementedError at the caller's line.
---@param adapter string its name for people
---@param method string
---@param hint? string what there is instead
function koine.errors.not_implemented(adapter, method, hint) end

---Makes the error of an HTTP response that is no 2xx.
---@param provider string
---@param answer { status: integer, headers: table<string, string>, body: string, url?: string }
---@param secrets? string[] what may not be shown
---@param id_header? string the header that holds the request's id
---@param codec? string the wire format
---@return koine.Error err
function koine.errors.from_answer(provider, answer, secrets, id_header, codec) end

---Whether a value is one of Koine's errors.
---@param value any
---@return boolean
function koine.errors.is_error(value) end

---The message of any error, without the place in a file before it and the traceback behind it.
---@param err any
---@return string words
function koine.errors.words(err) end

---A value as text, for messages. Credentials are not shown.
---@param value any
---@return string text
function koine.errors.describe(value) end

---Calls `f`; the same as `koine.try`.
---@param f fun(...): ...
---@param ... any
---@return any result the results of `f`; nil where it raised one of Koine's errors
---@return any ... further results of `f`, or the error
function koine.errors.try(f, ...) end
