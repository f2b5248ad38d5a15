---@meta _
-- Options: what constructors and calls take. A call's value wins over the constructor's.

---Options of every provider's constructor.
---@class koine.AdapterOptions: koine.ModelOptions
---@field model? string the model's id; required where the provider has no default
---@field key? string|(fun(): string?, string?) the key, or a function asked for each attempt; default: the environment
---@field base_url? string http or https URL
---@field quirks? table<string, boolean|integer|string> how the server's dialect differs: docs/custom_adapters.md
---@field http2? boolean HTTP/2 where the server offers it; refused before libcurl 8.14; false
---@field proxy? string URL; `""` for none; default: the environment
---@field ca_file? string path of a PEM file in place of the system's certificates
---@field observer? koine.ObserverOption is told of the adapter's calls
---@field rate_limiter? koine.RateLimiterObject
---@field transport? koine.Transport stands in the network's place
---@field clock? koine.Clock default: the real one

---Options of one chat.
---@class koine.CallOptions: koine.ModelOptions
---@field system? string|koine.Text[] the system prompt
---@field tools? koine.ToolEntry[]
---@field tool_choice? koine.ToolChoice default `"auto"`
---@field output? koine.OutputOption|false the shape of the answer; false: none, in a conversation that has one
---@field stream? boolean of `chat`: asks the provider for a stream without handing out its deltas
---@field on_delta? fun(delta: koine.Delta) of `chat`: called as each delta arrives

---Options of constructors and calls.
---@class koine.ModelOptions: koine.RequestOptions
---@field max_tokens? integer 0 or more; Messages: the most the model gives, else 8192; others: nothing is sent
---@field thinking? koine.ThinkingOption default: nothing is sent
---@field temperature? number from 0 to 2
---@field top_p? number from 0 to 1
---@field top_k? integer 1 or more
---@field min_p? number from 0 to 1
---@field seed? integer from 0 to 2147483647
---@field logprobs? true|integer tells how likely the tokens were; the number of alternatives to each, from 0 to 20
---@field stop_sequences? string[]
---@field cache_retention? "none"|"short"|"long" 5 minutes, an hour; default: your own markers only
---@field metadata? table<string, any> who asks, and labels
---@field betas? string|string[] Anthropic
---@field extra? table<string, any> further fields of the request's body; they replace none
---@field keep_raw? boolean keeps the body of a stream for `response:raw()`; false

---What chats and embeddings have in common.
---@class koine.RequestOptions
---@field timeout? number|koine.Timeouts seconds in total, or each limit by its name
---@field limits? koine.Limits
---@field retry? false|koine.Retry false: no retries
---@field on_retry? fun(attempt: koine.Attempt) called before each wait
---@field headers? table<string, string> further headers; names ignore case
---@field parent? koine.ParentOption
---@field on_request? fun(request: koine.RawRequest) sees each HTTP request
---@field on_response? fun(response: koine.RawResponse) sees each answer, piece by piece

---Options of embed.
---@class koine.EmbedOptions: koine.RequestOptions
---@field model? string default: the provider's usual one, if any; the constructor's is for chats
---@field dimensions? integer wished width of the vectors; the model's own
---@field purpose? "query"|"document"|"similarity"|"classification"|"clustering"|"code_query"
---@field title? string of a document (Gemini)
---@field truncate? false|"end"|"start" false: too long a text is an error; else the provider cuts it, where it can
---@field as? "table"|"packed" packed: each vector a string of little-endian float32; `"table"`
---@field normalize? boolean makes the length of vectors 1 where the provider did not; true
---@field prefix? string goes before every text
---@field truncate_client? boolean cuts vectors that are wider than `dimensions`; false
---@field batch? integer inputs of a request, at most; the provider's limit
---@field parallel? integer requests at once, at most 64; 1, within `koine.run` 4
---@field extra? table<string, any> further fields of the request's body; of this call alone

---The shape of an answer.
---@class koine.OutputOption
---@field schema? koine.JSONSchema|string JSON Schema, its text, or fields in short; not needed in mode `"object"`
---@field name? string letters, digits, `_` and `-`; `"response"`
---@field description? string for the model
---@field mode? "auto"|"native"|"tool"|"prompt"|"object" how it is asked for; `"auto"`
---@field strict? boolean|"auto" whether the provider shall hold the model to the schema; `"auto"`
---@field order? string[] names of properties in the order in which the model shall write them
---@field repair? integer how often the model is asked again after an answer that does not fit; 0, of agents 1
---@field check? fun(value: any): boolean?, string? judges a value that fits the schema: true, or false and why not

---How much the model shall think. Models may take further words, which their rows list.
---@alias koine.ThinkingOption
---| false
---| "low"
---| "medium"
---| "high"
---| "minimal"
---| "xhigh"
---| "max"
---| "none"
---| { budget_tokens: integer }
---| { enabled: boolean, budget_tokens?: integer }

---A choice of tools.
---@alias koine.ToolChoice "auto"|"any"|"none"|{ type: "tool", name: string }

---What a list of tools may hold.
---@alias koine.ToolEntry koine.Tool|koine.ToolFields|koine.ToolDefinition|koine.ServerTool

---How long a call may take, in seconds; 0: no limit.
---@class koine.Timeouts
---@field connect? number until the connection, with TLS, is open; 30
---@field first_byte? number until the first byte of the body; 600
---@field idle? number since the last byte; 300
---@field total? number of the whole call with its retries; no limit

---How large an answer may be. A larger one is an error of kind `limit`.
---@class koine.Limits
---@field line? integer bytes of a line of a stream; 32 MiB
---@field event? integer bytes of an event of a stream; 32 MiB
---@field body? integer bytes of a plain answer, before decompression; 64 MiB
---@field decoded? integer bytes of an answer, after decompression; 256 MiB
---@field depth? integer levels of JSON, at most 160; 128
---@field blocks? integer blocks of an answer; 4096
---@field tool_calls? integer tool calls of an answer; 256
---@field argument_bytes? integer bytes of one call's arguments; 8 MiB
---@field high_water? integer unread bytes at which the transfer pauses; 256 KiB

---When a call is tried again.
---@class koine.Retry
---@field max? integer retries; 2
---@field max_delay? number the longest wait, in seconds; 60
---@field on_ambiguous? boolean whether to retry where the provider may have charged for the lost answer; true

---An HTTP request as it goes out: for `on_request`.
---@class koine.RawRequest
---@field id integer
---@field method string
---@field url string
---@field headers table<string, string> by name in lower case
---@field body? string

---A piece of an HTTP answer as it comes: for `on_response`.
---@class koine.RawResponse
---@field id integer of its request
---@field seconds number since the request
---@field phase "head"|"body"|"end"
---@field status? integer of the head
---@field headers? table<string, string> of the head
---@field body? string bytes, after content encodings are undone
---@field bytes? integer of the end: bytes of the body
---@field error? { kind: string, code?: string, message: string } of the end
---@field left? boolean of the end: true if it was not read to the end

---An object that is told of records, or a function of one record: see koine.observe.
---@alias koine.ObserverOption (fun(record: koine.Record))|koine.Observer

---What work is a part of for observers: a context, or a traceparent of W3C Trace Context.
---@alias koine.ParentOption koine.TraceContext|string

---Anything with a method `wait`: `koine.rate_limiter` makes one.
---@class koine.RateLimiterObject
---@field wait fun(self: any, seconds?: number, request?: table): any, any

---An object that stands in the network's or a program's place: a cassette.
---@class koine.Transport
---@field begin function

---Anything with the methods `now` and `park`, by which retries wait.
---@class koine.Clock
---@field now fun(self: any): number seconds
---@field park fun(self: any, token: any, seconds?: number): boolean?, koine.Error?
