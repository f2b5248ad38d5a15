--- The records of the interface: blocks, messages, tool definitions, usage, deltas, models, quota reports, responses.
-- A constructor takes one table of named fields and returns a NEW table with the defaults filled in. Unknown fields,
-- missing required fields and values of the wrong kind raise an ArgumentError whose `field` is the path of the field
-- (`tool_use.id`, `message.content[2].text`) and whose `expected` says what belongs there.
--
-- Records are ordinary tables. Their metatable adds equality by value, a name and a text for print. Hand-written tables
-- of the same fields do wherever a record does.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local show = require "koine.data.records.show"
local vocabulary = require "koine.data.vocabulary"

local records = {}

local BLOCK_TYPES = table.concat(vocabulary.block_types, ", "):gsub(", (%a+)$", " or %1")

-- Values ----------------------------------------------------------------------------------------------------------

--- Equality by value: same type, and for tables the same keys with equal values, whatever the metatables.
-- 1 and 1.0 are equal.
function records.equal(a, b)
  if rawequal(a, b) then return true end
  if type(a) ~= "table" or type(b) ~= "table" then return type(a) ~= "table" and type(b) ~= "table" and a == b end
  for key, value in next, a do
    if not records.equal(value, rawget(b, key)) then return false end
  end
  for key in next, b do
    if rawget(a, key) == nil then return false end
  end
  return true
end

--- A deep, plain copy: no metatables but the mark of arrays, so that an empty list stays a list in JSON.
-- A Response becomes the table of its fields. Other values come back as they are.
function records.to_table(value)
  if type(value) == "userdata" and value ~= core.null then
    local method = getmetatable(value) and value.to_table -- light ones have none
    return method and method(value) or value
  end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, member in next, value do copy[key] = records.to_table(member) end
  return getmetatable(value) == core.array_mt and core.array(copy) or copy
end

-- Checkers of fields ----------------------------------------------------------------------------------------------

local MIME = check.that("MIME type without control characters, such as image/png", function(value)
  if type(value) == "string" and value:find "^[^/]+/." and not value:find "[\0-\31\127]" then return value end
end)
local STRING, NAME, BOOLEAN, TABLE, ANY = check.string, check.nonempty, check.boolean, check.table, check.any
local COUNT, NUMBER, one_of = check.integer(0), check.number(), check.one_of

-- A JSON Schema: a table, or JSON text, whose order of properties is kept.
local SCHEMA = check.that("JSON Schema, a table or JSON text", function(value)
  if type(value) == "table" then return value end
  if type(value) ~= "string" then return nil end
  local made, err = core.read_schema(value)
  if type(made) == "table" then return made end
  return nil, err and err.message or value
end)

-- A cache breakpoint: {type = "ephemeral", ttl = nil | "5m" | "1h"}.
local CACHE_CONTROL = check.that('{type = "ephemeral", ttl = nil, "5m" or "1h"}', function(value)
  if type(value) ~= "table" or value.type ~= "ephemeral" then return nil end
  if value.ttl == nil or value.ttl == "5m" or value.ttl == "1h" then return value end
end)

-- Whether answers shall cite a document.
local CITATIONS = check.that("{enabled = true or false}", function(value)
  if type(value) ~= "table" or type(value.enabled) ~= "boolean" then return nil end
  if next(value, next(value)) == nil then return value end
end)

local specs, check_fields = {}, nil

-- A member that is itself a record: checked like the constructor does, other keys tolerated.
local function record(name)
  return check.that(name .. " record", function(value, path)
    if type(value) ~= "table" then return nil end
    check_fields(specs[name], value, path)
    return value
  end)
end

local BLOCK = check.that("block", function(block, path)
  if type(block) ~= "table" then return nil end
  local spec = specs[block.type]
  if block.type ~= "opaque" then
    if not (spec and spec.type) then errors.argument(path .. ".type", BLOCK_TYPES, block.type) end
    check_fields(spec, block, path)
  end
  return block
end)

local CONTENT = check.either("string or array of blocks", check.string, check.list(BLOCK))

-- Fields ----------------------------------------------------------------------------------------------------------

local function required(name, checker) return { name = name, check = checker, required = true } end
-- `default` is a value, or a function that makes a fresh one.
local function optional(name, checker, default) return { name = name, check = checker, default = default } end

local function fresh() return {} end
local function fresh_list() return core.array {} end

-- The data is checked as every call does it. An http(s) or data: URL says its own type, bare base64 needs media_type.
local function media(is_document)
  return function(value, path)
    local expected = core.check_source(value.source, value.media_type, is_document)
    if expected then errors.argument(path .. ".source", expected, value.source) end
    if value.media_type == nil and not (value.source:find "^https?://" or value.source:find "^data:") then
      core.raise_argument(path .. ".media_type", "MIME type (source is no URL)", "nothing")
    end
  end
end

-- Of blocks. provider_data is what sends a block back byte for byte: {provider, model, wire, raw, container}.
local FIELDS = { text = STRING, cache_control = CACHE_CONTROL, source = NAME, media_type = MIME, title = STRING,
  context = STRING, citations = CITATIONS, id = STRING, name = NAME, arguments = TABLE, arguments_json = STRING,
  arguments_error = STRING, output = BOOLEAN, tool_use_id = STRING, content = CONTENT, is_error = BOOLEAN,
  thinking = STRING, signature = STRING, data = STRING, provider_data = TABLE }
local DEFAULTS = { is_error = false }

for type, block in next, vocabulary.blocks do
  if type ~= "opaque" then
    local spec = { type = type }
    for _, name in ipairs(block.required) do spec[#spec + 1] = required(name, FIELDS[name]) end
    for _, name in ipairs(block.optional) do spec[#spec + 1] = optional(name, FIELDS[name], DEFAULTS[name]) end
    specs[type] = spec
  end
end
specs.image.check, specs.document.check = media(false), media(true)
for _, spec in ipairs { specs.image, specs.document } do
  local file = ("source (koine.%s.file reads a file)"):format(spec.type)
  spec.expected = file:gsub("source", "table of fields")
  spec.misnomers = { path = file, file = file, filename = file, data = "source", mime_type = "media_type" }
end

specs.message = { required("role", one_of { "user", "assistant" }), required("content", CONTENT) }
specs.tool_definition = { misnomers = { input_schema = "parameters", inputSchema = "parameters" },
  required("name", NAME), required("description", STRING), required("parameters", SCHEMA),
  optional("strict", BOOLEAN), optional("cache_control", CACHE_CONTROL) }

specs.usage_cost = { optional("input", NUMBER, 0.0), optional("output", NUMBER, 0.0),
  optional("cache_read", NUMBER, 0.0), optional("cache_write", NUMBER, 0.0), optional("total", NUMBER, 0.0) }
specs.usage = { required("input_tokens", COUNT), required("output_tokens", COUNT),
  optional("cache_read_tokens", COUNT, 0), optional("cache_creation_tokens", COUNT, 0),
  optional("reasoning_tokens", COUNT, 0), optional("cache_creation_1h_tokens", COUNT),
  optional("incomplete", BOOLEAN), optional("uncounted", TABLE), optional("premium_requests", NUMBER),
  optional("unpriced", STRING), optional("cost", record "usage_cost"), optional("cost_source", STRING) }
specs.delta = { required("type", one_of(vocabulary.delta_types)) }
local has = {} -- the fields of specs.delta
for _, type in ipairs(vocabulary.delta_types) do
  for _, name in ipairs(vocabulary.deltas[type].fields) do
    if not has[name] then has[name], specs.delta[#specs.delta + 1] = true, optional(name, STRING) end
  end
end

specs.model_pricing = { required("input_per_mtok", NUMBER), required("output_per_mtok", NUMBER),
  optional("cache_read_per_mtok", NUMBER), optional("cache_write_per_mtok", NUMBER),
  optional("cache_write_1h_per_mtok", NUMBER) }
specs.model_info = { required("id", NAME), required("name", NAME), required("max_context_tokens", COUNT),
  required("supports_vision", BOOLEAN), required("supports_tool_use", BOOLEAN), required("supports_streaming", BOOLEAN),
  optional("premium_request_multiplier", NUMBER), optional("pricing", record "model_pricing"),
  optional("extra", TABLE) }

specs.usage_window = { required("id", NAME), required("label", STRING), optional("duration_ms", NUMBER),
  optional("resets_at", NUMBER) }
specs.usage_amount = {
  required("unit", one_of { "percent", "tokens", "requests", "usd", "minutes", "bytes", "unknown" }),
  optional("used", NUMBER), optional("limit", NUMBER), optional("remaining", NUMBER),
  optional("used_fraction", NUMBER), optional("remaining_fraction", NUMBER) }
specs.usage_limit_entry = { required("id", NAME), required("label", STRING), required("scope", ANY),
  required("amount", record "usage_amount"), optional("window", record "usage_window"),
  optional("status", one_of { "ok", "warning", "exhausted", "unknown" }, "unknown"),
  optional("notes", check.list(ANY), fresh_list) }
local LIMITS = check.list(record "usage_limit_entry", "array of usage_limit_entry records")
specs.usage_report = { required("provider", NAME), required("limits", LIMITS),
  optional("fetched_at", NUMBER, core.wall), optional("metadata", TABLE, fresh), optional("raw", ANY) }

-- Checks the fields that `value` has and those it must have: a new table of them. `paths` has the fields' paths by
-- their names, nil: they are made of `path`.
function check_fields(spec, value, path, paths)
  local kept = {}
  for _, field in ipairs(spec) do
    local name = field.name
    local given = value[name]
    if given ~= nil or field.required then
      kept[name] = field.check(given, paths and paths[name] or path .. "." .. name)
    end
  end
  if spec.check then spec.check(value, path) end
  return kept
end

-- The paths of a record's fields by their names, made once.
local function paths_of(name, spec)
  local paths = spec.paths
  if not paths then
    paths = { type = spec.type and name .. ".type" }
    for _, field in ipairs(spec) do paths[field.name] = name .. "." .. field.name end
    spec.paths = paths
  end
  return paths
end

-- Raises on the first key, in sorted order, that the record does not have; `known` has its paths.
local function check_known(name, spec, given, known)
  local unknown
  for key in next, given do
    if not known[key] then
      unknown = unknown or {}
      unknown[#unknown + 1] = tostring(key)
    end
  end
  if not unknown then return end
  local names = {}
  for i, field in ipairs(spec) do names[i] = field.name end
  table.sort(unknown, core.before)
  if spec.misnomers and spec.misnomers[unknown[1]] then
    core.raise_argument(name .. "." .. unknown[1], spec.misnomers[unknown[1]], unknown[1])
  end
  core.raise_argument(name .. "." .. unknown[1], "one of the fields " .. table.concat(names, ", "), "an unknown field")
end

local function make(name, spec, metatable, given)
  if type(given) ~= "table" then errors.argument(name, spec.expected or "table of fields", given) end
  local paths = paths_of(name, spec)
  check_known(name, spec, given, paths)
  if spec.type and given.type ~= nil and given.type ~= spec.type then
    errors.argument(name .. ".type", '"' .. spec.type .. '"', given.type)
  end
  local made = check_fields(spec, given, name, paths)
  if spec.type then made.type = spec.type end
  for _, field in ipairs(spec) do
    local default = field.default
    if made[field.name] == nil and default ~= nil then
      made[field.name] = type(default) == "function" and default() or default
    end
  end
  return setmetatable(made, metatable)
end

local shown_first = {} -- record name → names of its fields in order

--- Returns the text that print shows of a record, or of a table with the same fields: `koine.text {text = "Hello."}`.
-- `name` is the record's, nil for a block, whose type says it.
function records.show(value, name)
  name = name or tostring(value.type)
  if not shown_first[name] and specs[name] then
    local names = {}
    for i, field in ipairs(specs[name]) do names[i] = field.name end
    shown_first[name] = names
  end
  local told = value
  if specs[name] and specs[name].type then -- the name says it
    told = {}
    for key, member in next, value do
      if key ~= "type" then told[key] = member end
    end
  end
  return show(told, "koine." .. name, shown_first[name])
end

local function constructor(name, metatable)
  local spec = specs[name]
  metatable = metatable or {}
  metatable.__name, metatable.__eq = "koine." .. name, records.equal
  function metatable.__tostring(value) return records.show(value, name) end
  return function(fields) return make(name, spec, metatable, fields) end
end

local SERVER_TOOL = { __name = "koine.server_tool", __eq = records.equal }

-- Blocks ----------------------------------------------------------------------------------------------------------

--- A text block: {text = string, cache_control = nil | {type = "ephemeral", ttl = nil | "5m" | "1h"}}.
-- cache_control asks a provider with prompt caching to cache everything up to this block; others ignore it.
records.text = constructor "text"

--- An image: {source = base64 data, `data:` URL or http(s) URL, media_type = MIME type}.
-- media_type may be left out where the source is a URL.
records.image = constructor "image"

--- A document: {source, media_type, title = nil | string, context = nil | string, citations = nil | {enabled =
-- boolean}}; source and media_type as in image. citations asks for answers that say where in the document their words
-- come from (Anthropic; elsewhere a warning): they are in the provider_data.raw of the text blocks.
records.document = constructor "document"

--- A tool call: {id = string, name = string, arguments = table}. `arguments_json` holds the model's own bytes and
-- `arguments_error` says why they are no JSON object; `output` = true marks a call that holds the answer itself. They
-- come with answers, callers have no need to set them.
records.tool_use = constructor "tool_use"

--- The answer to a tool call: {tool_use_id = the call's id, content = string or array of text blocks,
-- is_error = false}.
records.tool_result = constructor "tool_result"

--- Reasoning: {thinking = string, signature = nil | string}. The signature goes back byte for byte.
records.thinking = constructor "thinking"

--- Reasoning that the provider encrypted: {data = string}. Goes back byte for byte.
records.redacted_thinking = constructor "redacted_thinking"

--- The model's words of refusal: {text = string}.
records.refusal = constructor "refusal"

--- A message: {role = "user" | "assistant", content = string or array of blocks}. Blocks are checked too.
records.message = constructor "message"

--- A tool: {name, description = strings, parameters = JSON Schema or its JSON text, strict = nil | boolean,
-- cache_control as in text}.
records.tool_definition = constructor "tool_definition"

--- A tool of the provider's own, which it runs itself: {type = its type there, …}, everything as the provider names
-- it. A copy, marked to go out whatever its type: types are dated, and new ones need not wait for Koine. Raises an
-- ArgumentError unless it is a table with a type.
function records.server_tool(fields)
  if type(fields) ~= "table" then errors.argument("server_tool", "table of fields", fields) end
  check.nonempty(fields.type, "server_tool.type")
  local made = records.to_table(fields)
  made.server_tool = true
  return setmetatable(made, SERVER_TOOL)
end

-- Answers ---------------------------------------------------------------------------------------------------------

--- A Response from a table, for adapters written in Lua. Raises an ArgumentError naming the bad field.
--
--   content         ALWAYS an array of blocks: every block of the answer in the order the provider sent it, tool_use
--                   included; empty when the model said nothing. Never nil, never a string. Block types: text,
--                   thinking, redacted_thinking, tool_use, refusal, and opaque (whatever else the provider sent).
--                   A string given here becomes one text block ("" none).
--   tool_calls      the tool_use blocks of content, the same tables, in the same order; empty when there are none
--   model           string, as reported by the provider, else as requested
--   stop_reason     "end_turn" (came to its end) | "tool_use" (waits for tool results) | "max_tokens" (cut by the
--                   cap; a last tool call may be incomplete) | "stop_sequence" | "pause_turn" (send the message back to
--                   go on) | "refusal" (the model declined) | "sensitive" (a filter cut) | "context_overflow" |
--                   "error" (only in err.partial)
--   raw_stop_reason the provider's own word, nil when it sent none
--   stop_sequence   the sequence that matched, nil when none did
--   container       {id, expires_at, …}: where the provider ran code (Anthropic); nil when it did not
--   usage           {input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, reasoning_tokens}:
--                   integers, each nil when unknown; input excludes cached tokens, output includes reasoning; cost,
--                   cost_source and the other fields of usage where they are known
--   logprobs        array of {token, logprob, bytes, top}, in the order of the text: how likely each of its tokens was;
--                   logprob (natural logarithm) and bytes (a string of just the token's bytes) nil where the provider
--                   does not say; top: array of {token, logprob, bytes}, the likeliest there. nil unless asked for
--   id, request_id, provider (row name), status_code, headers, attempts
--   warnings        array of {code, field, message}: what the request could not carry
--   partial         true when the stream broke off (only in err.partial): its tool calls are not to be executed
--   degenerate      true when there is nothing in it, or nothing but thinking
--
-- Methods: text() joins the text blocks ("" when none), thinking() the thinking blocks; message() is
-- {role = "assistant", content = content}; raw(); to_table().
--
-- Appending response:message() to the history is the round trip. Echoed verbatim, byte for byte, never re-encoded,
-- trimmed, merged or reordered, to the provider, model and wire they came from: thinking.signature with its thinking
-- text, redacted_thinking.data, tool_use.id, tool_use.arguments_json (as long as it decodes to arguments), every
-- provider_data.raw, the container's id (which provider_data has, too), and the order of the blocks. What another
-- provider cannot carry is dropped there, never made text. Never sent back: usage, stop_reason, model, id.
records.response = core.response

--- Token counts: {input_tokens, output_tokens} required; cache_read_tokens, cache_creation_tokens, reasoning_tokens
-- default to 0; cache_creation_1h_tokens (those of the written that are kept for an hour), premium_requests (number),
-- cost (usage_cost), cost_source ("provider" or "prices"; of a sum also "mixed"), unpriced (string: why the counts do
-- not make a cost). Of a sum: incomplete = true when tokens that went in or came out are not all known; uncounted =
-- {name = true} for each other count that a summand did not have.
records.usage = constructor "usage"

--- Cost in USD: input, output, cache_read, cache_write, total; 0.0 each by default.
records.usage_cost = constructor("usage_cost", core.cost_mt) -- that of what answers cost, too

--- One step of a stream: {type, and the fields of that type, strings: docs/stream.md}; those of all types are known,
-- none is required.
records.delta = constructor "delta"

-- Models and quotas -----------------------------------------------------------------------------------------------

--- A model: {id, name, max_context_tokens (0 = unknown), supports_vision, supports_tool_use, supports_streaming,
-- premium_request_multiplier = nil | number, pricing = nil | model_pricing, extra = nil | table of other facts}.
records.model_info = constructor "model_info"

--- Prices in USD per 1,000,000 tokens: input_per_mtok, output_per_mtok; cache_read_per_mtok, cache_write_per_mtok and
-- cache_write_1h_per_mtok are nil where they are not known: what was counted has no known cost then.
records.model_pricing = constructor "model_pricing"

--- The window of a quota: {id, label, duration_ms = nil, resets_at = nil (Unix seconds)}.
records.usage_window = constructor "usage_window"

--- How much of a quota: {unit = "percent" | "tokens" | "requests" | "usd" | "minutes" | "bytes" | "unknown", used,
-- limit, remaining, used_fraction, remaining_fraction: nil or numbers}.
records.usage_amount = constructor "usage_amount"

--- One quota: {id, label, scope, amount, window = nil, status = "ok" | "warning" | "exhausted" | "unknown",
-- notes = {}}; scope says what it applies to, in the provider's own form.
records.usage_limit_entry = constructor "usage_limit_entry"

--- All quotas: {provider, limits = usage_limit_entries, fetched_at = now (Unix seconds), metadata = {}, raw = nil}.
records.usage_report = constructor "usage_report"

--- Checks a hand-written message as its constructor does, but allows other keys. `path` is the message's name in errors
-- (`messages[2]`). Raises an ArgumentError whose field is that, or the member below it (`messages[2].role`).
function records.check_message(message, path)
  if type(message) ~= "table" then errors.argument(path, "message", message) end
  check_fields(specs.message, message, path)
end

local function check_each(message, path) return records.check_message(message, path) or message end

--- The same for an array of messages, which has neither holes nor other keys; `path` is its name. Returns a copy.
records.check_messages = check.list(check_each, "array of messages")

return records
