--- Embeddings of the loopback provider: which dialect a path speaks, and its answers with made-up vectors. They depend
-- on the words of a text alone, so that texts that share words are near to each other. Pure.

local core = require "koine.core"
local base64 = require "koine.data.base64"
local json = require "koine.testing.loopback.json"
local vector = require "koine.call.embed.vector"

local object, array = json.object, json.array

local embeddings = { check = require "koine.testing.loopback.embeddings.check" }

local WIDTH = 64 -- where a request names none

-- Where embeddings are: the dialect, the end of the path, the wire before whose prefixes it stands.
local PLACES = {
  { "openai", "/embeddings", "chat" },
  { "gemini", "/models/[^/]+:batchEmbedContents", "gemini" },
  { "vertex_predict", "/models/[^/]+:predict", "gemini" },
  { "vertex_content", "/models/[^/]+:embedContent", "gemini" },
  { "ollama", "/api/embed", "ollama" },
}
-- Models of Bedrock's that embed, of which the path names one.
local MODELS = { { "cohere", "cohere%.embed" }, { "titan", "titan%-embed" }, { "nova", "nova.*embed" } }

--- The dialect that a path speaks, and the wire whose errors and keys go with it; nil for any other path. `is_served`
-- is a function(wire, prefix) → whether that wire is served behind the prefix.
function embeddings.dialect(path, is_served)
  if path == "/v2/embed" then
    return "cohere", "chat"
  end
  local model = path:match "^/model/([^/]+)/invoke$"
  for _, entry in ipairs(model and MODELS or {}) do
    if model:find(entry[2]) then
      return entry[1], "bedrock"
    end
  end
  for _, place in ipairs(PLACES) do
    local prefix = path:match("^(.*)" .. place[2]:gsub("%-", "%%-") .. "$")
    if prefix and is_served(place[3], prefix) then
      return place[1], place[3]
    end
  end
end

-- A text's vector, of length 1.
local function made(text, width)
  local numbers, sum = {}, 0
  for i = 1, width do
    numbers[i] = 0.0
  end
  for word in text:lower():gmatch "%w+" do
    local hash = core.crc32(word)
    local at = hash % width + 1
    numbers[at] = numbers[at] + (hash >> 16 & 1 == 0 and 1 or -1)
  end
  for i = 1, width do
    sum = sum + numbers[i] * numbers[i]
  end
  if sum == 0 then
    numbers[1], sum = 1.0, 1.0
  end
  for i = 1, width do
    numbers[i] = numbers[i] / math.sqrt(sum)
  end
  return numbers
end

-- The vectors of these texts.
local function vectors(texts, width, scale)
  local list = array {}
  for i, text in ipairs(texts) do
    local numbers = made(text, width or WIDTH)
    for k = 1, #numbers do
      numbers[k] = numbers[k] * (scale or 1)
    end
    list[i] = array(numbers)
  end
  return list
end

local function tokens(texts)
  local sum = 0
  for _, text in ipairs(texts) do
    sum = sum + (#text + 3) // 4
  end
  return sum
end

local answers = {}

function answers.openai(body, texts)
  local data = array {}
  for i, numbers in ipairs(vectors(texts, body.dimensions or body.output_dimension)) do
    data[i] = object("object", "embedding", "index", i - 1,
      "embedding", body.encoding_format == "base64" and base64(vector.pack(numbers)) or numbers)
  end
  return object("object", "list", "data", data, "model", body.model,
    "usage", object("prompt_tokens", tokens(texts), "total_tokens", tokens(texts)))
end

function answers.cohere(body, texts, path)
  local list = vectors(texts, body.output_dimension)
  if path:find "cohere%.embed%-%a+%-v3" then
    return object("id", "loopback", "texts", array(texts), "embeddings", list)
  end
  return object("id", "loopback", "texts", array(texts), "embeddings", object("float", list),
    "meta", not path:find "^/model/" and object("billed_units", object("input_tokens", tokens(texts))) or nil,
    "response_type", "embeddings_by_type")
end

-- Cut vectors of the older model have another length than 1, and no counts go with them.
function answers.gemini(body, texts, path)
  local width, old = body.requests[1].outputDimensionality, path:find("gemini-embedding-001", 1, true)
  local list = array {}
  for i, numbers in ipairs(vectors(texts, width, old and width and 0.57)) do
    list[i] = object("values", numbers)
  end
  return object("embeddings", list, "usageMetadata", not old and object("promptTokenCount", tokens(texts)) or nil)
end

function answers.vertex_predict(body, texts)
  local width, list = json.is_object(body.parameters) and body.parameters.outputDimensionality, array {}
  for i, numbers in ipairs(vectors(texts, width)) do
    list[i] = object("embeddings", object("values", numbers,
      "statistics", object("token_count", tokens { texts[i] }, "truncated", false)))
  end
  return object("predictions", list)
end

function answers.vertex_content(body, texts)
  local config = body.embedContentConfig or {}
  return object("embedding", object("values", vectors(texts, config.outputDimensionality)[1]),
    "usageMetadata", object("promptTokenCount", tokens(texts)))
end

function answers.ollama(body, texts)
  return object("model", body.model, "embeddings", vectors(texts, body.dimensions), "total_duration", 5000000,
    "load_duration", 1000000, "prompt_eval_count", tokens(texts))
end

function answers.titan(body, texts)
  return object("embedding", vectors(texts, body.dimensions)[1], "inputTextTokenCount", tokens(texts))
end

function answers.nova(body, texts)
  return object("embeddings", array { object("embeddingType", "TEXT",
    "embedding", vectors(texts, body.singleEmbeddingParams.embeddingDimension)[1]) })
end

--- The answer's body to a request that was checked, and a header with it or nil.
function embeddings.answer(dialect, body, texts, path)
  local header = path:find "^/model/" and { "x-amzn-bedrock-input-token-count", tostring(tokens(texts)) } or nil
  return json.encode(answers[dialect](body, texts, path)), header
end

return embeddings
