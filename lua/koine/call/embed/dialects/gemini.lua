--- Gemini's batches of embeddings. Each request of a batch holds ONE text: several parts of a content become one
-- vector.

local answers = require "koine.call.embed.answer"
local google = require "koine.call.embed.google"
local write = require "koine.call.embed.write"

local dialect = { paths = { "embeddings[].values" }, keep = { "usageMetadata" } }

--- The body for these texts.
function dialect.render(ask, texts)
  if ask.truncate then ask.unsupported "truncate" end
  local title, purpose = google(ask)
  local requests = {}
  for i, text in ipairs(texts) do
    requests[i] = write.object { { "model", "models/" .. ask.model },
      { "content", write.object { { "parts", write.array { write.object { { "text", text } } } } } },
      { "taskType", purpose }, { "title", title }, { "outputDimensionality", ask.dimensions } }
  end
  return write.body(ask, { { "requests", write.array(requests) } })
end

local function values(entry) return answers.member(entry, "values") end

--- The vectors of an answer to n texts: see init.lua.
function dialect.read(answer, n)
  local found, why = answers.each(answer.embeddings, n, "embeddings", values)
  if not found then return nil, why end
  found.tokens = answers.count(answers.member(answer, "usageMetadata", "promptTokenCount"))
  return found
end

return dialect
