-- Helpers of the specs of embeddings: the loopback provider, an adapter of each dialect on it, an environment without
-- keys, retries that do not sleep.

local environment = require "spec.support.environment"
local koine = require "koine"
local retry = require "koine.net.retry"
local sleeps = require "spec.lua.net.sleeps"

local recordings = os.getenv "KOINE_RECORDINGS"

local kit = {}

-- By dialect: the constructor, its options, the model, what stands behind the server's address.
local ADAPTERS = {
  openai = { "openai", "/v1", model = "text-embedding-3-small" },
  mistral = { "mistral", "/v1", model = "mistral-embed" },
  voyage = { "voyage", "/v1", model = "voyage-3.5", options = { model = "m" } },
  perplexity = { "perplexity", "", model = "pplx-embed-v1-0.6b" },
  compatible = { "compatible", "/v1", model = "bge-m3", options = { model = "m" } },
  lmstudio = { "lmstudio", "/v1", model = "nomic-embed", options = { model = "m" } },
  llamacpp = { "llamacpp", "/v1", model = "nomic-embed", options = { model = "m" } },
  openrouter = { "openrouter", "/api/v1", model = "openai/text-embedding-3-small" },
  cohere = { "cohere", "/v2", model = "embed-v4.0" },
  gemini = { "gemini", "/v1beta", model = "gemini-embedding-001" },
  gemini_2 = { "gemini", "/v1beta", model = "gemini-embedding-2" },
  vertex_predict = { "vertex", "/v1/publishers/google", model = "text-embedding-005" },
  vertex_content = { "vertex", "/v1/publishers/google", model = "gemini-embedding-2" },
  ollama = { "ollama", "", model = "mxbai-embed-large", options = { model = "m" } },
  titan = { "bedrock", "", model = "amazon.titan-embed-text-v2:0" },
  nova = { "bedrock", "", model = "amazon.nova-2-multimodal-embeddings-v1:0" },
  bedrock_cohere = { "bedrock", "", model = "us.cohere.embed-v4:0" },
}

--- Those names, sorted.
kit.names = {}
for name in pairs(ADAPTERS) do kit.names[#kit.names + 1] = name end
table.sort(kit.names)

--- A kit for the tests of one file.
function kit.new()
  local one, server = {}, nil
  local random = retry.random

  function one.start()
    server = assert(koine.testing.start())
    one.server = server
  end

  function one.stop() server:stop() end

  --- Begins a test: an array of the sleeps (seconds) that were not slept.
  function one.begin()
    assert(server:reset())
    environment.replace {}
    retry.random = function() return 0 end
    return sleeps.record()
  end

  function one.restore()
    retry.random = random
    environment.restore()
    sleeps.restore()
  end

  --- The adapter of that name, and the model that it embeds with.
  function one.adapter(name, options)
    local entry, given = ADAPTERS[name], {}
    for key, value in pairs(entry.options or {}) do given[key] = value end
    for key, value in pairs(options or {}) do given[key] = value end
    given.base_url = server.url .. entry[2]
    if given.key == nil then given.key = "test-key-of-embeddings" end
    if given.key == false then given.key = nil end
    if entry[1] == "bedrock" then given.region = "us-east-1" end
    return koine[entry[1]](given), entry.model
  end

  --- Embeds with the adapter of that name: what embed returns.
  function one.embed(name, inputs, options, constructor)
    local adapter, model = one.adapter(name, constructor)
    local given = { model = model }
    for key, value in pairs(options or {}) do given[key] = value end
    return adapter:embed(inputs, given)
  end

  --- The requests that the server saw.
  function one.requests() return assert(server:requests()) end

  --- Has the server answer with these bodies (tables or text), or whole replies {status, headers, body}, in turn.
  function one.answer(...)
    local answers = {}
    for i, reply in ipairs { ... } do
      answers[i] = { reply = type(reply) == "table" and (reply.status or reply.headers) and reply or { body = reply } }
    end
    assert(server:script(answers))
  end

  --- Has the server replay a recording, with a fault (nil: none); false where there are none here.
  function one.replay(name, fault)
    if not recordings then return false end
    assert(server:script { { replay = ("%s/%s.json"):format(recordings, name), fault = fault } })
    return true
  end

  return one
end

--- The body of an answer of OpenAI's with these vectors, each an array of numbers or a string of base64; `indexes`:
-- what stands at each, nil: the positions, false: nothing.
function kit.openai_body(vectors, indexes)
  local data = koine.array {}
  for i, vector in ipairs(vectors) do
    local index
    if indexes then index = indexes[i] elseif indexes == nil then index = i - 1 end
    data[i] = { object = "embedding", index = index,
      embedding = type(vector) == "table" and koine.array(vector) or vector }
  end
  return { object = "list", data = data, model = "m", usage = { prompt_tokens = 2, total_tokens = 2 } }
end

return kit
