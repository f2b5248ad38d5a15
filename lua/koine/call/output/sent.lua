--- The schema as it goes out: rewritten for a wire that holds the model to it, as it is where the model is only asked.
-- The answer is judged by the caller's schema, whatever goes out.

local dialects = require "koine.data.schema.rewrite.dialects"
local rewrite = require "koine.data.schema.rewrite"

local sent = {}

local function warning(code, message) return { code = code, field = "output", message = message } end

local TOLD = 8 -- paths in a warning

-- The warning that something of the schema is told in descriptions alone; nil where nothing is.
local function lost_warning(paths)
  if #paths == 0 then return nil end
  local list = table.concat(paths, ", ", 1, math.min(#paths, TOLD))
  return warning("schema_rewritten", ("the provider cannot hold the model to all of the schema; the rest is told in "
    .. "descriptions: %s%s"):format(list, #paths > TOLD and ", …" or ""))
end

-- In a dialect: {schema, strict, nullable, wrapped, warning}, or nil and the refusal.
local function in_dialect(spec, dialect, strict, beside)
  local made, refusal = rewrite(spec.schema, dialect, nil, beside)
  if not made then return nil, refusal end
  return { schema = made.schema, strict = strict, nullable = #made.nullable > 0, wrapped = made.wrapped,
    warning = lost_warning(made.lost) }
end

--- The caller's schema as it is, in an object where its root is none.
function sent.plain(spec) return (in_dialect(spec, "plain")) end

-- Whether one of these blocks is a document to be cited.
local function has_cited(blocks)
  for _, block in ipairs(type(blocks) == "table" and blocks or {}) do
    if block.type == "document" and type(block.citations) == "table" and block.citations.enabled then return true end
    if block.type == "tool_result" and has_cited(block.content) then return true end
  end
  return false
end

--- Why the wire's own field goes not with these messages: a refusal {path, message}, or nil.
function sent.unfit(messages, facts)
  if not dialects[facts.schema_dialect or "plain"].alone then return nil end
  local what = #messages > 0 and messages[#messages].role == "assistant" and "the beginning of the answer" or nil
  for _, message in ipairs(messages) do
    if has_cited(message.content) then what = "documents to be cited" end
  end
  return what and { path = "schema", message = "schema: the provider takes none beside " .. what }
end

--- Whether the strict tools of a request count with the schema, where the provider has limits.
function sent.counts_tools(facts) return dialects[facts.schema_dialect or "plain"].limits.of_request == true end

--- For a wire's own field: {schema, strict (nil: the wire has no such word), nullable = true where null may stand for
-- an optional property, wrapped, warning}; nil and a refusal {path, message} where the wire
-- cannot say the schema. `facts` are the quirks of row and model, `beside` the schemas of the request's strict tools.
function sent.native(spec, facts, beside)
  local dialect = facts.schema_dialect or "plain"
  if not facts.structured_strict then return in_dialect(spec, dialect, nil, beside) end
  if spec.strict == false then
    local plain = sent.plain(spec)
    plain.strict = false
    return plain
  end
  local made, refusal = in_dialect(spec, dialect, true, beside)
  if made or spec.strict == true then return made, refusal end
  local plain = sent.plain(spec)
  plain.strict = false
  plain.warning = warning("schema_not_strict", "the model is not held to the schema: " .. refusal.message)
  return plain
end

--- For the parameters of a tool: strict where that is asked for, or the provider has it and the schema allows it. Not
-- where tools may have no additionalProperties: strict schemas must.
function sent.tool(spec, facts)
  local has_strict = facts.structured_strict and not facts.no_additional_properties
  local made = spec.strict ~= false and has_strict and in_dialect(spec, facts.schema_dialect, true)
  return made or sent.plain(spec)
end

--- The warning of a schema that the wire's own field cannot say, where another way is taken.
function sent.refused(refusal, mode)
  return warning("schema_not_native", ("the provider cannot be held to the schema (%s): asked for by %s"):format(
    refusal.message, mode))
end

return sent
