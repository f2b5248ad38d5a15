--- OpenAI's embeddings, and those of all who speak its format: what they call the width, whether they can be asked for
-- base64, for a purpose or to cut long texts, says the row.

local core = require "koine.core"
local answers = require "koine.call.embed.answer"
local write = require "koine.call.embed.write"

local dialect = { paths = { "data[].embedding" }, keep = { "model", "usage" } }

--- The body for these texts. Voyage AI, of those who cut, cuts at the end alone.
function dialect.render(ask, texts)
  local facts = ask.facts
  local purpose = facts.purposes and facts.purposes[ask.purpose]
  local cuts = facts.truncation and { facts.truncation, ask.truncate ~= false } or {}
  if ask.truncate == "start" or ask.truncate and not facts.truncation then
    ask.unsupported("truncate", facts.truncation and "the provider cuts at the end only: cut there" or nil)
  end
  if ask.title then ask.unsupported "title" end
  return write.body(ask, { { "model", ask.model }, { facts.dimensions or "dimensions", ask.dimensions },
    { "encoding_format", facts.base64 and "base64" or nil }, { "input_type", purpose }, cuts,
    { "input", core.array(texts) } })
end

-- The entries in the order of their indexes, or as they came where none has one. nil and what is wrong.
local function in_order(data)
  local placed, indexed = {}, 0
  for i, entry in ipairs(data) do
    local index = answers.count(answers.member(entry, "index"))
    if answers.member(entry, "embedding") == nil then return nil, ("data[%d] has no vector"):format(i - 1) end
    if index then
      if placed[index + 1] then return nil, ("index %d stands at two vectors"):format(index) end
      if index >= #data then return nil, ("index %d stands at one of %d vectors"):format(index, #data) end
      placed[index + 1], indexed = entry, indexed + 1
    end
  end
  if indexed == 0 then return data end
  if indexed < #data then return nil, "only some of the vectors have an index" end
  return placed
end

--- The vectors of an answer to n texts, in their order, and what else it says: see init.lua.
function dialect.read(answer, n)
  local data, why = answers.list(answer.data, n, "data")
  if data then data, why = in_order(data) end
  if not data then return nil, why end
  local vectors, usage = {}, answers.member(answer, "usage")
  for i, entry in ipairs(data) do vectors[i] = entry.embedding end
  local cost = answers.member(usage, "cost")
  if type(cost) == "table" then cost = cost.total_cost end
  return { vectors = vectors, model = answer.model, cost = answers.amount(cost),
    tokens = answers.count(answers.member(usage, "prompt_tokens"))
      or answers.count(answers.member(usage, "total_tokens")) }
end

return dialect
