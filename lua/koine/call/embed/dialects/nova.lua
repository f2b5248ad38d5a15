--- Amazon Nova's embeddings on Bedrock: one text a request.

local answers = require "koine.call.embed.answer"
local write = require "koine.call.embed.write"

local dialect = { paths = { "embeddings[].embedding" }, keep = {} }

local PURPOSES = { query = "TEXT_RETRIEVAL", classification = "CLASSIFICATION", clustering = "CLUSTERING" }
local CUTS = { [false] = "NONE", ["start"] = "START", ["end"] = "END" }

--- The body for one text. Queries for code have no word of their own.
function dialect.render(ask, texts)
  if ask.purpose == "code_query" then ask.unsupported("purpose", "the model has no word for it: taken as none") end
  if ask.title then ask.unsupported "title" end
  return write.body(ask, { { "taskType", "SINGLE_EMBEDDING" },
    { "singleEmbeddingParams", write.object { { "embeddingPurpose", PURPOSES[ask.purpose] or "GENERIC_INDEX" },
      { "embeddingDimension", ask.dimensions },
      { "text", write.object { { "truncationMode", CUTS[ask.truncate] }, { "value", texts[1] } } } } } })
end

local function vector(entry) return answers.member(entry, "embedding") end

--- The vector of an answer; the count of tokens stands in a header: see init.lua.
function dialect.read(answer, n) return answers.each(answer.embeddings, n, "embeddings", vector) end

return dialect
