--- Cohere's own embeddings (v2), and the same models on Amazon Bedrock, where the path names the model.

local core = require "koine.core"
local answers = require "koine.call.embed.answer"
local write = require "koine.call.embed.write"

-- Vectors of each type that was asked for; the older models on Bedrock answer without a type.
local dialect = { paths = { "embeddings.*[]", "embeddings[]" }, keep = { "meta" } }

local PURPOSES = { query = "search_query", document = "search_document", similarity = "clustering",
  classification = "classification", clustering = "clustering", code_query = "search_query" }
local CUTS = { [false] = "NONE", ["start"] = "START", ["end"] = "END" }

--- The body for these texts. Every model from v3 on has to be told a purpose.
function dialect.render(ask, texts)
  if not ask.purpose then
    ask.warn("adjusted_option", "purpose",
      'the model has to be told one: "document" is taken; give "query" for queries')
  end
  if ask.title then ask.unsupported "title" end
  local types = not (ask.facts.in_path or ask.extra and ask.extra.embedding_types) and core.array { "float" } or nil
  return write.body(ask, { { "model", not ask.facts.in_path and ask.model or nil },
    { "input_type", PURPOSES[ask.purpose or "document"] }, { "embedding_types", types },
    { "output_dimension", ask.dimensions }, { "truncate", CUTS[ask.truncate] }, { "texts", core.array(texts) } })
end

-- The array of vectors: that of floats, else that of the first type by name.
local function of_type(embeddings)
  if type(embeddings) ~= "table" or getmetatable(embeddings) == core.array_mt then return embeddings end
  local names = {}
  for name in pairs(embeddings) do names[#names + 1] = tostring(name) end
  table.sort(names, core.before)
  return embeddings.float or embeddings[names[1]]
end

--- The vectors of an answer to n texts: see init.lua.
function dialect.read(answer, n)
  local vectors, why = answers.list(of_type(answer.embeddings), n, "embeddings")
  if not vectors then return nil, why end
  return { vectors = vectors, tokens = answers.count(answers.member(answer, "meta", "billed_units", "input_tokens")) }
end

return dialect
