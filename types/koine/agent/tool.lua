---@meta _
-- Tools: functions that a model may call.

---@class koine
local koine = {}

---What koine.tool takes.
---@class koine.ToolFields
---@field name string at most 64 letters, digits, `_` and `-`
---@field description string for the model
---@field run fun(args: table<string, any>, ctx: koine.ToolContext): any, any answers the call: docs/tools.md
---@field parameters? koine.JSONSchema|string JSON Schema of the arguments, its text, or fields in short
---@field example? table example arguments in place of `parameters`; neither: no arguments
---@field timeout? number seconds; a longer wait is answered with an error
---@field needs_approval? boolean|(fun(args: table<string, any>): boolean?) an agent pauses before the call
---@field hidden? boolean true: not offered to the model, but calls are answered
---@field strict? boolean sent to the provider
---@field cache_control? koine.CacheControl sent to the provider
---@field type? "function"
---@field kind? "read"|"edit"|"delete"|"move"|"search"|"execute"|"think"|"fetch"|"switch_mode"|"other" how a call is shown
---@field title? string|(fun(args: table<string, any>): string?) how a call is shown
---@field locations? fun(args: table<string, any>): (string|{ path: string, line?: integer })[]? the files of a call
---@field diff? fun(args: table<string, any>): { path: string, old?: string, new: string }? what a call will change

---A tool. Every adapter takes it in `tools`.
---@class koine.Tool: koine.ToolDefinition
---@field run? fun(args: table<string, any>, ctx: koine.ToolContext): any, any
---@field timeout? number
---@field needs_approval? boolean|fun(args: table<string, any>): boolean?
---@field hidden? boolean
---@field kind? string
---@field title? string|fun(args: table<string, any>): string?
---@field locations? fun(args: table<string, any>): table?
---@field diff? fun(args: table<string, any>): table?
---@field mcp? { server: string, name: string, annotations?: table, output_schema?: table } of a tool of an MCP server

---What the function of a tool is told of the call; and what `koine.tool.answer` was given as `ctx`.
---@class koine.ToolContext
---@field call { id: string, name: string, arguments_json?: string }
---@field run? koine.Run the agent's run
---@field lease? koine.Lease of a run that a keeper keeps
---@field observe? koine.TraceContext the parent for calls that the tool makes

---More about the answer of a tool.
---@class koine.ToolInfo
---@field is_error? boolean
---@field blocked? boolean the call was refused
---@field reason? string
---@field traceback? string of a tool that raised
---@field exit_code? integer of a command

---Makes a tool. Raises an ArgumentError for a missing, unknown or bad field.
---@class koine.tool
---@overload fun(fields: koine.ToolFields): koine.Tool
koine.tool = {}

---Answers a call with one of the tools. If it cannot be run, the result says why.
---@param tools koine.Tool[]
---@param call koine.ToolUse
---@param ctx? table further fields of the function's `ctx`
---@return koine.ToolResult? result nil for an error that ends the loop
---@return koine.ToolInfo|koine.Error info with nil the error, of kind `executor` or `cancelled`
function koine.tool.answer(tools, call, ctx) end

---Runs a tool with decoded arguments. Never raises.
---@param tool koine.Tool
---@param args table<string, any>
---@param ctx? table
---@return { content: string|koine.Block[], is_error?: boolean, blocked?: boolean, reason?: string, traceback?: string }? result
---@return koine.Error err
function koine.tool.execute(tool, args, ctx) end

---Why a call cannot be run with these tools.
---@param tools koine.Tool[]
---@param call koine.ToolUse
---@return string? problem nil if it can
function koine.tool.problem(tools, call) end

---Looks for a tool by its name.
---@param tools koine.Tool[]
---@param name string
---@return koine.Tool? tool
function koine.tool.find(tools, name) end

---Checks an array of tools, or of what koine.tool takes, and of tools of the provider's own.
---@param tools koine.ToolEntry[]
---@param field string its name in errors
---@return koine.Tool[] tools a new array
function koine.tool.list(tools, field) end

---Whether koine.tool made a value.
---@param value any
---@return boolean
function koine.tool.is_tool(value) end

---Makes a tool of fields that were checked before; nothing is checked or copied. For very many tools.
---@param fields koine.ToolFields
---@return koine.Tool tool
function koine.tool.of_checked(fields) end

---A tool as adapters take it: of a tool of the provider's own without what an agent reads.
---@param tool koine.Tool
---@return koine.ToolDefinition tool
function koine.tool.offer(tool) end

-- Schemas ------------------------------------------------------------------------------------------------------------

---A JSON Schema as a table, or true or false.
---@alias koine.JSONSchema table|boolean

---A schema, or a type in short: `"int"`, `"[string]"`, `"string|null"`.
---@alias koine.SchemaPart koine.JSONSchema|string

---More keywords of a schema, or its description.
---@alias koine.SchemaKeywords table<string, any>|string

---JSON Schema: builders, texts, and whether a value fits.
---@class koine.schema
koine.schema = {}

---An object. `given` is an array of fields `{name, schema, description}` in the order in which the model shall write
---them; a name that ends in `?` is optional. Named members are more keywords.
---@param given table
---@return table schema
function koine.schema.object(given) end

---An array.
---@param items koine.SchemaPart
---@param given? koine.SchemaKeywords
---@return table schema
function koine.schema.array(items, given) end

---A string.
---@param given? koine.SchemaKeywords
---@return table schema
function koine.schema.string(given) end

---A number.
---@param given? koine.SchemaKeywords
---@return table schema
function koine.schema.number(given) end

---An integer.
---@param given? koine.SchemaKeywords
---@return table schema
function koine.schema.integer(given) end

---True or false.
---@param given? koine.SchemaKeywords
---@return table schema
function koine.schema.boolean(given) end

---One of these values.
---@param values any[]
---@param given? koine.SchemaKeywords
---@return table schema
function koine.schema.enum(values, given) end

---What fits any of these schemas.
---@param schemas koine.SchemaPart[]
---@param given? koine.SchemaKeywords
---@return table schema
function koine.schema.any_of(schemas, given) end

---A schema from example arguments: `{ city = "Paris", ["days?"] = 3 }`.
---@param example table
---@param name? string the example's name in errors
---@return table schema
function koine.schema.expand(example, name) end

---A schema from text: JSON, or fields in short, such as `"name, age int, tags [string]"`.
---@param text string
---@param name? string the text's name in errors
---@return table schema
function koine.schema.parse(text, name) end

---Whether a value fits a schema.
---@param schema koine.JSONSchema
---@param value any
---@param name? string begins the path in the problem
---@return true? ok
---@return string problem `"PATH: … expected, got …"`
---@return string pointer the path as a JSON pointer
function koine.schema.validate(schema, value, name) end

---Raises an ArgumentError for a schema that is certainly a mistake.
---@param schema koine.JSONSchema
---@param name? string begins the path in the error
function koine.schema.check(schema, name) end

---The keywords of a schema that validate does not judge.
---@param schema koine.JSONSchema
---@param name? string begins the paths
---@return { path: string, keyword: string }[] keywords
function koine.schema.unjudged(schema, name) end
