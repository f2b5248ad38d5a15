--- The schemas that a provider's constrained decoding takes, as data. A row's quirk names its dialect; nothing here
-- knows a provider. A dialect is a table of
--   keywords      keyword → what becomes of it, a word below; keywords without an entry are removed, for they say
--                 nothing about a value
--   formats       set of the values of `format` that are kept; true: all
--   required      "all": every property is required, and an optional one may be null instead; "keep"
--   closed        "refuse", "describe": objects take no other properties; what an object says of others is refused or
--                 told in the description, and refused where it has no properties besides. "keep": as the schema says
--   one_of        what `oneOf` goes out as
--   all_of        "merge": its schemas become one, or the schema is refused; "keep"
--   references    "keep", alone in their schema; "wrap": beside other keywords in an anyOf of their own; "alone": other
--                 keywords are left out; "inline": what they stand for is put in place
--   recursive     "keep", "refuse": schemas that lead back to themselves
--   booleans      "keep", "refuse"; "empty": true as {}, false is refused: true and false as schemas
--   items         "required": an array says what is in it; "keep"
--   untyped       "refuse", "keep": schemas without type, anyOf, $ref, enum and const
--   enum          "scalars": one with arrays or objects, and such a const, is told in the description; "keep"
--   constant      what `const` goes out as: "const" or "enum"
--   alone         true: the provider takes no schema beside documents to be cited, nor beside the answer's beginning
--   first_keys    true: the objects of an anyOf begin with different properties
--   limits        {properties, levels, characters, enum_values, long_enum = {values, characters}, optional, unions,
--                 strict_tools; of_request = true: schema and strict tools of a request count together}
--   too_complex   words, in lower case, with which the provider refuses schemas within the limits; nil: none known
-- Words of `keywords`: "keep"; "drop"; "describe": told in the description; "refuse"; "format"; "pattern": kept without
-- look-around and back-references; "anchored": a pattern kept with ^ and $; "few": 0 and 1 kept; "exclusive": an
-- inclusive bound, of integers, "bound": beside one of these; "schemas": an array of schemas.
-- Sources: structured output guides of the providers; recordings of refusals.

local ANNOTATIONS = { description = "keep" }

-- Keywords that no dialect has in its grammar.
local LOGIC = { "not", "if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas",
  "patternProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contains", "minContains",
  "maxContains", "additionalItems" }
local BOUNDS = { "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf" }
local LENGTHS = { "minLength", "maxLength" }
local ITEMS = { "minItems", "maxItems" }

-- A table of keywords from {word = array of keywords}.
local function keywords(words)
  local made = { minProperties = "describe", maxProperties = "describe", uniqueItems = "describe", format = "format" }
  for name, word in next, ANNOTATIONS do made[name] = word end
  for word, lists in next, words do
    for _, list in ipairs(lists) do
      for _, name in ipairs(type(list) == "table" and list or { list }) do made[name] = word end
    end
  end
  return made
end

local function set(words)
  local made = {}
  for word in words:gmatch "%S+" do made[word] = true end
  return made
end

local COMMON_FORMATS = "date-time time date duration email hostname ipv4 ipv6 uuid"

local dialects = {}

--- OpenAI's schemas with `strict`, and those of hosts that took its rules over.
dialects.openai_strict = {
  keywords = keywords { refuse = { LOGIC, "prefixItems" }, keep = { BOUNDS, ITEMS }, describe = { LENGTHS },
    pattern = { "pattern" } },
  formats = set(COMMON_FORMATS), required = "all", closed = "refuse", one_of = "anyOf", all_of = "merge",
  references = "wrap", recursive = "keep", booleans = "refuse", items = "required", untyped = "refuse", enum = "keep",
  constant = "const", first_keys = true,
  limits = { properties = 5000, levels = 10, characters = 120000, enum_values = 1000,
    long_enum = { values = 250, characters = 15000 } },
}

--- Anthropic's format and strict tools; limits are a request's.
dialects.anthropic = {
  keywords = keywords { describe = { LOGIC, BOUNDS, LENGTHS, "pattern", "maxItems", "prefixItems" },
    few = { "minItems" }, keep = { "title" } },
  formats = set(COMMON_FORMATS .. " uri"), required = "keep", closed = "describe", one_of = "anyOf", all_of = "merge",
  references = "alone", recursive = "refuse", booleans = "refuse", items = "keep", untyped = "refuse",
  enum = "scalars", constant = "const",
  limits = { optional = 24, unions = 16, strict_tools = 20, of_request = true },
  alone = true, too_complex = { "schema is too complex", "compiled grammar is too large" },
}

--- The models behind Bedrock's Converse.
dialects.bedrock = {
  keywords = keywords { describe = { LOGIC, BOUNDS, LENGTHS, "pattern", "maxItems", "prefixItems" },
    few = { "minItems" } },
  formats = dialects.anthropic.formats, required = "keep", closed = "describe", one_of = "anyOf", all_of = "merge",
  references = "inline", recursive = "refuse", booleans = "refuse", items = "keep", untyped = "refuse",
  enum = "scalars", constant = "const", alone = true, limits = {},
}

--- Gemini's responseJsonSchema.
dialects.gemini = {
  keywords = keywords { describe = { LOGIC, LENGTHS, "pattern", "multipleOf" },
    keep = { ITEMS, "title" }, bound = { "minimum", "maximum" }, exclusive = { "exclusiveMinimum", "exclusiveMaximum" },
    schemas = { "prefixItems" } },
  formats = set "date-time date time", required = "keep", closed = "keep", one_of = "oneOf", all_of = "merge",
  references = "wrap", recursive = "refuse", booleans = "empty", items = "keep", untyped = "keep", enum = "keep",
  constant = "enum", limits = {},
}

--- Ollama's format.
dialects.ollama = {
  keywords = keywords { describe = { LOGIC, "prefixItems", "pattern" }, keep = { BOUNDS, LENGTHS, ITEMS } },
  formats = set "date-time date time uuid", required = "keep", closed = "keep", one_of = "anyOf", all_of = "keep",
  references = "inline", recursive = "refuse", booleans = "keep", items = "keep", untyped = "keep", enum = "keep",
  constant = "const", limits = {},
}

--- Servers that make a grammar of the schema: llama.cpp's, and others with grammars of their own.
dialects.gbnf = {
  keywords = keywords { describe = { LOGIC, "prefixItems" }, keep = { BOUNDS, LENGTHS, ITEMS },
    anchored = { "pattern" } },
  formats = dialects.ollama.formats, required = "keep", closed = "keep", one_of = "anyOf", all_of = "keep",
  references = "keep", recursive = "keep", booleans = "keep", items = "keep", untyped = "keep", enum = "keep",
  constant = "const", limits = {},
}

--- Nothing is known: schemas go out as they are, but for the root (plain.lua).
dialects.plain = { limits = {} }

return dialects
