--- Ollama's own embeddings. Unless it is told not to, the server cuts long texts in silence; for an empty text it has
-- no vector, and still answers 200.

local core = require "koine.core"
local answers = require "koine.call.embed.answer"
local write = require "koine.call.embed.write"

local dialect = { paths = { "embeddings[]" }, keep = { "model", "prompt_eval_count" } }

--- The body for these texts.
function dialect.render(ask, texts)
  if ask.truncate == "start" then ask.unsupported("truncate", "the provider cuts at the end only: cut there") end
  if ask.title then ask.unsupported "title" end
  return write.body(ask, { { "model", ask.model }, { "truncate", ask.truncate ~= false },
    { "dimensions", ask.dimensions }, { "input", core.array(texts) } })
end

--- The vectors of an answer to n texts: see init.lua.
function dialect.read(answer, n)
  local vectors, why = answers.list(answer.embeddings, n, "embeddings")
  if not vectors then return nil, why end
  return { vectors = vectors, model = answer.model, tokens = answers.count(answer.prompt_eval_count) }
end

return dialect
