--- Embeddings of Vertex AI's newer models: one text a request.

local answers = require "koine.call.embed.answer"
local google = require "koine.call.embed.google"
local write = require "koine.call.embed.write"

local dialect = { paths = { "embedding.values" }, keep = { "usageMetadata", "truncated" } }

--- The body for one text.
function dialect.render(ask, texts)
  if ask.truncate == "start" then ask.unsupported("truncate", "the provider cuts at the end only: cut there") end
  local title, purpose = google(ask)
  return write.body(ask, {
    { "embedContentConfig", write.object { { "taskType", purpose }, { "title", title },
      { "outputDimensionality", ask.dimensions }, { "autoTruncate", ask.truncate ~= false } } },
    { "content", write.object { { "parts", write.array { write.object { { "text", texts[1] } } } } } } })
end

--- The vector of an answer: see init.lua.
function dialect.read(answer)
  local values = answers.member(answer, "embedding", "values")
  if values == nil then return nil, "the answer has no embedding.values" end
  return { vectors = { values }, truncated = answer.truncated == true and { 1 } or nil,
    tokens = answers.count(answers.member(answer, "usageMetadata", "promptTokenCount")) }
end

return dialect
