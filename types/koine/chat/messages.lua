---@meta _
-- Messages: the history of a conversation, its blocks, tools and the records made of tables.

---@class koine
local koine = {}

---One message of a history. The system prompt is no message: it is the option `system`.
---@class koine.Message
---@field role "user"|"assistant"
---@field content string|koine.Block[]

---A whole history, or a string for one message of the user.
---@alias koine.Messages string|koine.Message[]

---A piece of a message's content. `type` tells which; other keys are yours and are not sent.
---@alias koine.Block
---| koine.Text
---| koine.Image
---| koine.Document
---| koine.ToolUse
---| koine.ToolResult
---| koine.Thinking
---| koine.RedactedThinking
---| koine.Refusal
---| koine.Opaque

---Asks a provider with prompt caching to cache everything up to here (Anthropic).
---@class koine.CacheControl
---@field type "ephemeral"
---@field ttl? "5m"|"1h"

---Where a block came from, and what goes back there byte for byte.
---@class koine.ProviderData
---@field provider string the row's name
---@field model string as requested
---@field wire string the wire format
---@field raw? string
---@field container? table

---Text.
---@class koine.Text
---@field type "text"
---@field text string
---@field cache_control? koine.CacheControl
---@field provider_data? koine.ProviderData

---An image.
---@class koine.Image
---@field type "image"
---@field source string base64, a `data:` URL, or an http or https URL
---@field media_type? string MIME type; not needed beside a URL
---@field provider_data? koine.ProviderData

---A document.
---@class koine.Document
---@field type "document"
---@field source string base64, a `data:` URL, or an http or https URL
---@field media_type? string MIME type; not needed beside a URL
---@field title? string
---@field context? string
---@field citations? { enabled: boolean } true asks for answers that cite the document (Anthropic)
---@field provider_data? koine.ProviderData

---A tool call of the model.
---@class koine.ToolUse
---@field type "tool_use"
---@field id string
---@field name string
---@field arguments table<string, any> empty where `arguments_error` is set
---@field arguments_json? string what the model wrote
---@field arguments_error? string why that is no JSON object: do not run such a call
---@field output? boolean true: the call holds the answer itself and needs no result
---@field provider_data? koine.ProviderData

---The answer to a tool call.
---@class koine.ToolResult
---@field type "tool_result"
---@field tool_use_id string the call's id
---@field content string|(koine.Text|koine.Image|koine.Document)[]
---@field is_error? boolean default false
---@field provider_data? koine.ProviderData

---Reasoning. The signature goes back byte for byte.
---@class koine.Thinking
---@field type "thinking"
---@field thinking string
---@field signature? string
---@field provider_data? koine.ProviderData

---Reasoning that the provider encrypted.
---@class koine.RedactedThinking
---@field type "redacted_thinking"
---@field data string
---@field provider_data? koine.ProviderData

---The model's words of refusal.
---@class koine.Refusal
---@field type "refusal"
---@field text string
---@field provider_data? koine.ProviderData

---Whatever else a provider sent. It goes back to the same provider and model, and is left out elsewhere.
---@class koine.Opaque
---@field type "opaque"
---@field provider_data koine.ProviderData
---@field kind? string the provider's own type

---A tool as an adapter sends it. Other keys, a function `run` for example, stay here.
---@class koine.ToolDefinition
---@field name string at most 64 letters, digits, `_` and `-`
---@field description? string
---@field parameters? koine.JSONSchema|string JSON Schema of an object, or its JSON text
---@field strict? boolean
---@field cache_control? koine.CacheControl

---A tool that the provider runs. Everything goes out as it stands.
---@class koine.ServerTool
---@field type string the provider's own type, such as `"web_search_20250305"`
---@field [string] any

-- Constructors of records: each takes one table of fields, fills in the defaults and returns a new table. Each raises
-- an ArgumentError for an unknown, missing or bad field. Tables written by hand do wherever a record does.

---What koine.text takes.
---@class koine.TextFields
---@field text string
---@field type? "text"
---@field cache_control? koine.CacheControl
---@field provider_data? koine.ProviderData

---A block of text.
---@param fields koine.TextFields
---@return koine.Text block
function koine.text(fields) end

---What images and documents have in common.
---@class koine.MediaFields
---@field source string base64, a `data:` URL, or an http or https URL
---@field media_type? string MIME type; required unless `source` is a URL
---@field provider_data? koine.ProviderData

---What koine.image takes.
---@class koine.ImageFields: koine.MediaFields
---@field type? "image"

---What koine.document takes.
---@class koine.DocumentFields: koine.MediaFields
---@field type? "document"
---@field title? string
---@field context? string
---@field citations? { enabled: boolean }

---Options of koine.image.file.
---@class koine.ImageFileOptions
---@field max? integer bytes that the file may have; 20 MiB
---@field media_type? string MIME type, for a kind that Koine does not know

---Options of koine.document.file.
---@class koine.DocumentFileOptions: koine.ImageFileOptions
---@field title? string default: the file's name without folders
---@field context? string
---@field citations? { enabled: boolean }

---Makes an image.
---@class koine.image
---@overload fun(fields: koine.ImageFields): koine.Image
koine.image = {}

---The block of an image file. Anything but a regular file is refused without waiting.
---@param path string
---@param options? koine.ImageFileOptions
---@return koine.Image? block
---@return koine.Error err kind `limit` where it is too large, else `other`; code `absent`, `empty` or `media_type`
function koine.image.file(path, options) end

---Makes a document.
---@class koine.document
---@overload fun(fields: koine.DocumentFields): koine.Document
koine.document = {}

---The block of a PDF, a text in UTF-8 or an office document. Anything but a regular file is refused without waiting.
---@param path string
---@param options? koine.DocumentFileOptions
---@return koine.Document? block
---@return koine.Error err kind `limit` where it is too large, else `other`; code `absent`, `empty` or `media_type`
function koine.document.file(path, options) end

---What koine.tool_use takes.
---@class koine.ToolUseFields
---@field id string
---@field name string
---@field arguments table<string, any>
---@field type? "tool_use"
---@field arguments_json? string
---@field arguments_error? string
---@field output? boolean
---@field provider_data? koine.ProviderData

---A tool call of the model, for histories written by hand.
---@param fields koine.ToolUseFields
---@return koine.ToolUse block
function koine.tool_use(fields) end

---What koine.tool_result takes.
---@class koine.ToolResultFields
---@field tool_use_id string
---@field content string|(koine.Text|koine.Image|koine.Document)[]
---@field type? "tool_result"
---@field is_error? boolean default false
---@field provider_data? koine.ProviderData

---The answer to a tool call.
---@param fields koine.ToolResultFields
---@return koine.ToolResult block
function koine.tool_result(fields) end

---What koine.thinking takes.
---@class koine.ThinkingFields
---@field thinking string
---@field type? "thinking"
---@field signature? string
---@field provider_data? koine.ProviderData

---Reasoning, for histories written by hand.
---@param fields koine.ThinkingFields
---@return koine.Thinking block
function koine.thinking(fields) end

---What koine.redacted_thinking takes.
---@class koine.RedactedThinkingFields
---@field data string
---@field type? "redacted_thinking"
---@field provider_data? koine.ProviderData

---Encrypted reasoning, for histories written by hand.
---@param fields koine.RedactedThinkingFields
---@return koine.RedactedThinking block
function koine.redacted_thinking(fields) end

---What koine.refusal takes.
---@class koine.RefusalFields
---@field text string
---@field type? "refusal"
---@field provider_data? koine.ProviderData

---The model's words of refusal, for histories written by hand.
---@param fields koine.RefusalFields
---@return koine.Refusal block
function koine.refusal(fields) end

---Makes a message; its blocks are checked too.
---@param fields koine.Message
---@return koine.Message message
function koine.message(fields) end

---What koine.tool_definition takes.
---@class koine.ToolDefinitionFields
---@field name string
---@field description string
---@field parameters koine.JSONSchema|string
---@field strict? boolean
---@field cache_control? koine.CacheControl

---A tool as an adapter sends it; koine.tool makes one with a function.
---@param fields koine.ToolDefinitionFields
---@return koine.ToolDefinition tool
function koine.tool_definition(fields) end

---Makes a copy that every adapter sends, whatever its type: for tools newer than your Koine.
---@param fields koine.ServerTool
---@return koine.ServerTool tool
function koine.server_tool(fields) end
