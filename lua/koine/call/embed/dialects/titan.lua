--- Amazon Titan's embeddings on Bedrock: one text a request. The model has no words for a purpose, and no switch that
-- cuts long texts.

local answers = require "koine.call.embed.answer"
local write = require "koine.call.embed.write"

local dialect = { paths = { "embedding" }, keep = { "inputTextTokenCount" } }

--- The body for one text.
function dialect.render(ask, texts)
  if ask.truncate then ask.unsupported "truncate" end
  if ask.title then ask.unsupported "title" end
  local raw
  if not ask.normalize then raw = false end
  return write.body(ask, { { "dimensions", ask.dimensions }, { "normalize", raw }, { "inputText", texts[1] } })
end

--- The vector of an answer: see init.lua.
function dialect.read(answer)
  if answer.embedding == nil then return nil, "the answer has no embedding" end
  return { vectors = { answer.embedding }, tokens = answers.count(answer.inputTextTokenCount) }
end

return dialect
