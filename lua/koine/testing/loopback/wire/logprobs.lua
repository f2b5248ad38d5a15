--- How likely the tokens of scripted answers are, where a request asks for that. A token is a piece of a text as a
-- stream tells it, so that streams and plain answers agree; its likelihood depends on its text alone. Pure.

local json = require "koine.testing.loopback.json"

local object, array = json.object, json.array

local logprobs = {}

local function bytes(text)
  return array { text:byte(1, -1) }
end

-- Of a token, and of the alternatives to it, which are less likely the further down they stand.
local function likelihood(token, rank)
  return -(#token % 8 + 1) / 8 - rank
end

local function element(token, logprob)
  return object("token", token, "logprob", logprob, "bytes", bytes(token))
end

-- The token that is this text, with so many alternatives, itself among them.
local function token(text, count)
  local top = array {}
  for rank = 0, count - 1 do
    top[rank + 1] = element(rank == 0 and text or text .. rank, likelihood(text, rank))
  end
  local made = element(text, likelihood(text, 0))
  json.put(made, "top_logprobs", top)
  return made
end

-- An array of what `form` (text, count) makes of each token of the blocks, or of one piece of text alone.
local function each(blocks, count, form)
  local list = array {}
  for _, block in ipairs(type(blocks) == "string" and { { type = "text", fragments = { blocks } } } or blocks) do
    for _, fragment in ipairs(block.type == "text" and block.fragments or {}) do
      list[#list + 1] = form(fragment, count)
    end
  end
  return list
end

--- The tokens of the blocks of text among these (an array; or a string: one piece of text), in OpenAI's form, each with
-- `count` alternatives.
function logprobs.tokens(blocks, count)
  return each(blocks, count, token)
end

--- The same as arrays side by side, without alternatives, as Together has them.
function logprobs.arrays(blocks)
  return object("tokens", each(blocks, 0, function(text) return text end),
    "token_logprobs", each(blocks, 0, function(text) return likelihood(text, 0) end))
end

local function candidate(text, rank)
  return object("token", rank == 0 and text or text .. rank, "tokenId", #text + rank,
    "logProbability", likelihood(text, rank))
end

--- The same as Gemini has it: those chosen, and beside each the likeliest.
function logprobs.result(blocks, count)
  local sum = 0
  local chosen = each(blocks, 0, function(text)
    sum = sum + likelihood(text, 0)
    return candidate(text, 0)
  end)
  local top = count > 0 and each(blocks, count, function(text)
    local list = array {}
    for rank = 0, count - 1 do
      list[rank + 1] = candidate(text, rank)
    end
    return object("candidates", list)
  end) or nil
  return object("topCandidates", top, "chosenCandidates", chosen, "logProbabilitySum", sum)
end

return logprobs
