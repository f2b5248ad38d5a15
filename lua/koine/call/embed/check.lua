--- Checks the inputs and options of a call of embed, with the row's facts about the model. Everything is checked before
-- any traffic; no error shows a text.

local core = require "koine.core"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local rows = require "koine.provider"

local checks = {}

-- The rows whose providers embed.
local function embedding_rows()
  local list = {}
  for _, name in ipairs(rows.names) do
    if rows.load(name).embed then list[#list + 1] = name end
  end
  return table.concat(list, ", ")
end

--- Returns the row's facts about a model for embeddings: `row.embed` with the model's own entry over it. Raises a
-- NotImplementedError that names those who have embeddings where this provider has none.
function checks.facts(row, model)
  if not row.embed then
    errors.not_implemented(row.title, "embed", "these do: " .. embedding_rows())
  end
  local facts = {}
  for name, value in pairs(row.embed) do facts[name] = value end
  local own = model and rows.model({ models = row.embed.models, heads = row.heads }, model) or {}
  for name, value in pairs(own) do facts[name] = value end
  return facts
end

--- The model that a call asks: the one given, that of an adapter that does nothing but embed, the row's. Raises an
-- ArgumentError where there is none: an adapter's model for chats is never taken.
function checks.model(state, given)
  local row = state.row
  local model = given or row.chat == false and state.model or row.embed and row.embed.model
  if model then return (rows.model_id(row, model):gsub(row.embed and row.embed.head or "^$", "")) end
  if not row.embed then return nil end
  core.raise_argument("model", "name of an embedding model (the adapter's is for chats)", "nothing")
end

-- Describes one input in words, where it is no text; nil where it is one.
local function problem_of(input)
  if type(input) == "string" then
    if input == "" then return "an empty string" end
    return not input:find "%S" and "white space alone" or nil
  end
  return input == nil and "nothing" or "a " .. type(input)
end

--- The texts of a call: an array. Raises an ArgumentError that names the first that is none.
function checks.texts(inputs, row)
  if type(inputs) == "string" then inputs = { inputs } end
  if not check.is_list(inputs) then
    core.raise_argument("inputs", "string or array of strings", type(inputs) == "table" and
      "a table with holes or other keys" or errors.describe(inputs))
  end
  for i, input in ipairs(inputs) do
    local problem = problem_of(input)
    if problem then
      local expected = type(input) == "table" and ("text (embeddings of %s take nothing else here)"):format(row.title)
        or "text with more than white space"
      core.raise_argument("input " .. i, expected, problem)
    end
  end
  return inputs
end

-- Words of the options that ask for integers, and what base64 holds then.
local PACKINGS = { int8 = "int8", binary = "int8", uint8 = "uint8", ubinary = "uint8" }

-- Returns the type of a vector's numbers where `extra` asks for integers; nil where it does not.
local function integers_of(extra)
  local types = extra and extra.embedding_types
  local word = type(types) == "table" and types[1] or extra and extra.output_dtype
  for _, one in ipairs(type(types) == "table" and types or {}) do
    if one == "float" then return nil end
  end
  return PACKINGS[word]
end

-- The texts as the model gets them: with the caller's prefix, within the row's own words for the purpose.
local function dressed(texts, settings, facts)
  local words = facts.wrap and facts.wrap[settings.purpose]
  if not words and not settings.prefix then return texts end
  local whole, title = {}, settings.title or "none"
  for i, text in ipairs(texts) do
    text = (settings.prefix or "") .. text
    whole[i] = words and words:gsub("{(%w+)}", { title = title, text = text }) or text
  end
  return whole
end

--- Returns the request for a dialect to render, its texts as sent: {model, dimensions, purpose, title, truncate (false
-- where not given), normalize, extra, facts, packing (what base64 holds), integers (true where `extra` asks for them),
-- warnings = the array that warn(code, field, message) and unsupported(field[, message]) fill, each thing once}. Raises
-- an ArgumentError where the options cannot be combined.
function checks.ask(model, settings, facts, texts)
  local own, seen = settings.extra or nil, {}
  local integers = integers_of(own)
  if integers and settings.as == "packed" then
    core.raise_argument("as", '"table" where extra asks for integers', '"packed"')
  end
  if settings.truncate_client and not settings.dimensions then
    core.raise_argument("truncate_client", "the option dimensions beside it", "true alone")
  end
  local ask = { model = model, dimensions = settings.dimensions, purpose = settings.purpose, title = settings.title,
    truncate = settings.truncate or false, normalize = settings.normalize ~= false and not integers, extra = own,
    facts = facts, packing = integers or facts.dtype, integers = integers ~= nil, warnings = core.array {} }
  function ask.warn(code, field, message)
    if seen[code .. field] then return end
    seen[code .. field] = true
    table.insert(ask.warnings, { code = code, field = field, message = message })
  end
  function ask.unsupported(field, message)
    ask.warn("unsupported_option", field, message or "the provider has no such option: left out")
  end
  return ask, dressed(texts, settings, facts)
end

return checks
