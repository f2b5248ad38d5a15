--- Embeddings of Vertex AI's older models. Unless it is told not to, the server cuts long texts, and says so in the
-- answer alone.

local answers = require "koine.call.embed.answer"
local google = require "koine.call.embed.google"
local write = require "koine.call.embed.write"

local dialect = { paths = { "predictions[].embeddings.values" }, keep = {} }

--- The body for these texts.
function dialect.render(ask, texts)
  if ask.truncate == "start" then ask.unsupported("truncate", "the provider cuts at the end only: cut there") end
  local title, purpose = google(ask)
  local instances = {}
  for i, text in ipairs(texts) do
    instances[i] = write.object { { "content", text }, { "task_type", purpose }, { "title", title } }
  end
  return write.body(ask, {
    { "parameters", write.object { { "outputDimensionality", ask.dimensions },
      { "autoTruncate", ask.truncate ~= false } } },
    { "instances", write.array(instances) } })
end

local function values(entry) return answers.member(entry, "embeddings", "values") end

--- The vectors of an answer to n texts: see init.lua.
function dialect.read(answer, n)
  local found, why = answers.each(answer.predictions, n, "predictions", values)
  if not found then return nil, why end
  local tokens = 0
  found.truncated = {}
  for i, entry in ipairs(answer.predictions) do
    local statistics = answers.member(entry, "embeddings", "statistics")
    local count = answers.count(answers.member(statistics, "token_count"))
    tokens = tokens and count and tokens + count
    if answers.member(statistics, "truncated") == true then table.insert(found.truncated, i) end
  end
  found.tokens = tokens or nil
  return found
end

return dialect
