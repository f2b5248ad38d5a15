---@meta _
-- Adapters: one object for one provider and one model. All have the same methods.

---@class koine
local koine = {}

---An adapter. Any number of coroutines may use it at once. Bad messages and options raise an ArgumentError before
---anything is sent; failures of the provider and the network are returned as nil and the error.
---@class koine.Adapter
local Adapter = {}

---Sends a chat. With `on_delta` the deltas are handed out as they arrive; what it raises ends the answer and goes on.
---@param messages koine.Messages
---@param opts? koine.CallOptions
---@return koine.Response? response
---@return koine.Error err
function Adapter:chat(messages, opts) end

---Sends a chat and returns its stream at once. Nil and the error where it cannot start, for example without a key.
---@param messages koine.Messages
---@param opts? koine.CallOptions
---@return koine.Stream? stream
---@return koine.Error err
function Adapter:open(messages, opts) end

---The deltas of an answer for a generic `for`. Raises the errors that `open` returns, and that of an answer that fails.
---@param messages koine.Messages
---@param opts? koine.CallOptions
---@return fun(): koine.Delta? next
---@return koine.Stream stream
---@return nil
---@return koine.Stream closing
function Adapter:stream(messages, opts) end

---The text of an answer, piece by piece, for a generic `for`. Raises as `stream` does.
---@param messages koine.Messages
---@param opts? koine.CallOptions all but `output`
---@return fun(): string? next
---@return koine.Stream stream
---@return nil
---@return koine.Stream closing
function Adapter:text(messages, opts) end

---Asks for a value of a shape. An answer that does not fit is an error of kind `output`, whose `partial` is the Response
---and whose `code` says why.
---@param messages koine.Messages
---@param opts koine.CallOptions with `output`
---@return any value
---@return koine.Response|koine.Error response the Response; with nil the error
function Adapter:object(messages, opts) end

---Turns texts into vectors, as many as there are inputs and in their order.
---@param inputs string|string[]
---@param opts? koine.EmbedOptions
---@return koine.Embeddings? result
---@return koine.Error err `err.partial` has what came back
function Adapter:embed(inputs, opts) end

---The models that the provider offers, all pages. Raises a NotImplementedError where it has no list.
---@return koine.ModelInfo[]? models
---@return koine.Error err
function Adapter:list_models() end

---Asks the provider about one model (Ollama). Raises a NotImplementedError where it cannot be asked.
---@param model? string default: the adapter's
---@return koine.ModelInfo? info
---@return koine.Error err
function Adapter:model_info(model) end

---A step of a download.
---@class koine.PullProgress
---@field status? string
---@field digest? string
---@field total? integer bytes
---@field completed? integer bytes
---@field delta? integer bytes since the last step of this digest

---Options of pull.
---@class koine.PullOptions
---@field on_progress? fun(progress: koine.PullProgress)
---@field timeout? number seconds for all of it; 0, no limit

---Has the server download a model (Ollama). Raises a NotImplementedError where it does not run models itself.
---@param model? string default: the adapter's
---@param opts? koine.PullOptions
---@return true? ok
---@return koine.Error err
function Adapter:pull(model, opts) end

---The number of tokens that the provider counts for a request; nothing is generated.
---@param messages koine.Messages
---@param opts? koine.CallOptions
---@return integer? tokens -1 where the provider cannot count
---@return koine.Error err
function Adapter:count_tokens(messages, opts) end

---The model of this adapter.
---@return string id the model's id as it is sent
function Adapter:model_name() end

---The provider of this adapter.
---@return string name the provider's name for people
function Adapter:provider_name() end

---The size of the model's context.
---@return integer? tokens nil where it is not known
function Adapter:max_context_tokens() end

---Logs in where the provider needs it, else makes sure that there is a key. May be called again.
---@return true? ok
---@return koine.Error err
function Adapter:authenticate() end

---Whether there are credentials; without network.
---@return boolean
function Adapter:authenticated() end

---Removes what a login left (Copilot). Keys that you gave stay.
---@return nil
---@return koine.Error err of a file that remains
function Adapter:logout() end

---The quotas of the account (Copilot).
---@return koine.UsageReport? report nil where the provider has none to ask for
---@return koine.Error err
function Adapter:usage_report() end

---Closes the adapter: further calls raise, open streams go on. `<close>` does it too.
function Adapter:close() end

---Whether close was called.
---@return boolean
function Adapter:closed() end

-- Embeddings ---------------------------------------------------------------------------------------------------------

---The result of embed.
---@class koine.Embeddings
---@field vectors koine.Vector[]
---@field dimensions integer the width of the vectors
---@field model string as the provider names it, else as asked
---@field usage { input_tokens?: integer, requests: integer, incomplete?: true, cost?: { total: number }, cost_source?: "provider" }
---@field request_ids string[]
---@field warnings koine.Warning[]
---@field attempts koine.Attempt[] those that failed

---What came back before a batch failed: `err.partial` of embed.
---@class koine.PartialEmbeddings
---@field vectors (koine.Vector|false)[] false for each that is missing
---@field failed { first: integer, last: integer } the inputs of the batch that failed

-- Adapters of your own -----------------------------------------------------------------------------------------------

---One answer of an adapter of your own.
---@class koine.AnswerSource
---@field next fun(self: any): koine.Delta?, koine.Error?
---@field response fun(self: any): koine.Response|koine.ResponseFields|nil, koine.Error? called once, after the end
---@field close? fun(self: any) called once, also after an error
---@field stats? fun(self: any): table

---What koine.custom_adapter takes.
---@class koine.CustomAdapterFields
---@field name string what `provider_name` returns and errors name
---@field open? fun(self: koine.Adapter, messages: koine.Message[], opts: koine.OpenOptions): koine.AnswerSource?, koine.Error?
---@field options? koine.AdapterOptions the defaults of every call
---@field efforts? string[] words that `thinking` may be besides low, medium and high
---@field carries_output? boolean true: `open` itself sees to the option `output`
---@field passes_on? boolean true: `open` asks other adapters, which are observed themselves
---@field [string] any methods in place of the default ones, and fields of your own

---The options of one call as `open` of an adapter of your own gets them.
---@class koine.OpenOptions: koine.CallOptions
---@field model? string
---@field stream boolean whether the caller reads deltas

---Makes a complete adapter of a function that starts an answer.
---@param definition koine.CustomAdapterFields
---@return koine.Adapter adapter
function koine.custom_adapter(definition) end

---What koine.fallback takes.
---@class koine.FallbackFields
---@field [integer] koine.Adapter
---@field may? fun(err: koine.Error): boolean decides whether the next adapter is asked
---@field observer? koine.ObserverOption

---Makes an adapter that asks the next one when one fails before its first delta.
---@param given koine.FallbackFields the adapters in their order
---@return koine.Adapter adapter
function koine.fallback(given) end
