-- Requests for embeddings, in each dialect: golden bytes, purposes, truncation, options that providers do not have.

local embed_kit = require "spec.lua.call.embed.kit"
local koine = require "koine"

local THREE = { "Ruby", "Python", "JavaScript" }
local TEXTS = '["Ruby","Python","JavaScript"]'

-- Name → path and bodies of the requests.
local GOLDEN = {
  openai = { "/v1/embeddings", '{"model":"text-embedding-3-small","dimensions":256,"encoding_format":"base64","input":'
    .. TEXTS .. "}" },
  mistral = { "/v1/embeddings", '{"model":"mistral-embed","output_dimension":256,"encoding_format":"base64","input":'
    .. TEXTS .. "}" },
  voyage = { "/v1/embeddings", '{"model":"voyage-3.5","output_dimension":256,"encoding_format":"base64",'
    .. '"input_type":"document","truncation":false,"input":' .. TEXTS .. "}" },
  perplexity = { "/v1/embeddings", '{"model":"pplx-embed-v1-0.6b","dimensions":256,"input":' .. TEXTS .. "}" },
  compatible = { "/v1/embeddings", '{"model":"bge-m3","dimensions":256,"input":' .. TEXTS .. "}" },
  lmstudio = { "/v1/embeddings", '{"model":"nomic-embed","dimensions":256,"input":' .. TEXTS .. "}" },
  llamacpp = { "/v1/embeddings", '{"model":"nomic-embed","dimensions":256,"input":' .. TEXTS .. "}" },
  openrouter = { "/api/v1/embeddings", '{"model":"openai/text-embedding-3-small","dimensions":256,"input":' .. TEXTS
    .. "}" },
  cohere = { "/v2/embed", '{"model":"embed-v4.0","input_type":"search_document","embedding_types":["float"],'
    .. '"output_dimension":256,"truncate":"NONE","texts":' .. TEXTS .. "}" },
  gemini = { "/v1beta/models/gemini-embedding-001:batchEmbedContents", '{"requests":['
    .. '{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"Ruby"}]},"taskType":"RETRIEVAL_DOCUMENT",'
    .. '"outputDimensionality":256},'
    .. '{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"Python"}]},"taskType":"RETRIEVAL_DOCUMENT",'
    .. '"outputDimensionality":256},'
    .. '{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"JavaScript"}]},'
    .. '"taskType":"RETRIEVAL_DOCUMENT","outputDimensionality":256}]}' },
  gemini_2 = { "/v1beta/models/gemini-embedding-2:batchEmbedContents", '{"requests":['
    .. '{"model":"models/gemini-embedding-2","content":{"parts":[{"text":"title: none | text: Ruby"}]},'
    .. '"outputDimensionality":256},'
    .. '{"model":"models/gemini-embedding-2","content":{"parts":[{"text":"title: none | text: Python"}]},'
    .. '"outputDimensionality":256},'
    .. '{"model":"models/gemini-embedding-2","content":{"parts":[{"text":"title: none | text: JavaScript"}]},'
    .. '"outputDimensionality":256}]}' },
  vertex_predict = { "/v1/publishers/google/models/text-embedding-005:predict",
    '{"parameters":{"outputDimensionality":256,"autoTruncate":false},"instances":['
    .. '{"content":"Ruby","task_type":"RETRIEVAL_DOCUMENT"},{"content":"Python","task_type":"RETRIEVAL_DOCUMENT"},'
    .. '{"content":"JavaScript","task_type":"RETRIEVAL_DOCUMENT"}]}' },
  vertex_content = { "/v1/publishers/google/models/gemini-embedding-2:embedContent",
    '{"embedContentConfig":{"outputDimensionality":256,"autoTruncate":false},'
    .. '"content":{"parts":[{"text":"title: none | text: Ruby"}]}}',
    '{"embedContentConfig":{"outputDimensionality":256,"autoTruncate":false},'
    .. '"content":{"parts":[{"text":"title: none | text: Python"}]}}',
    '{"embedContentConfig":{"outputDimensionality":256,"autoTruncate":false},'
    .. '"content":{"parts":[{"text":"title: none | text: JavaScript"}]}}' },
  ollama = { "/api/embed", '{"model":"mxbai-embed-large","truncate":false,"dimensions":256,"input":' .. TEXTS .. "}" },
  titan = { "/model/amazon.titan-embed-text-v2%3A0/invoke", '{"dimensions":256,"inputText":"Ruby"}',
    '{"dimensions":256,"inputText":"Python"}', '{"dimensions":256,"inputText":"JavaScript"}' },
  nova = { "/model/amazon.nova-2-multimodal-embeddings-v1%3A0/invoke" },
  bedrock_cohere = { "/model/us.cohere.embed-v4%3A0/invoke", '{"input_type":"search_document","output_dimension":256,'
    .. '"truncate":"NONE","texts":' .. TEXTS .. "}" },
}
for i, text in ipairs(THREE) do
  GOLDEN.nova[i + 1] = '{"taskType":"SINGLE_EMBEDDING","singleEmbeddingParams":{"embeddingPurpose":"GENERIC_INDEX",'
    .. '"embeddingDimension":256,"text":{"truncationMode":"NONE","value":"' .. text .. '"}}}'
end

describe("embed", function()
  local kit = embed_kit.new()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  -- The bodies of the requests, decoded, after embedding with these options.
  local function bodies(name, inputs, options)
    local result = assert(kit.embed(name, inputs, options))
    local list = {}
    for i, request in ipairs(kit.requests()) do
      assert.are.same({}, { table.unpack(request.problems) })
      list[i] = require("koine.core").decode(request.body)
    end
    assert(kit.server:reset())
    return list, result
  end

  -- 1: golden request bytes of each dialect
  for _, name in ipairs(embed_kit.names) do
    it("sends these bytes: " .. name, function()
      local result = assert(kit.embed(name, THREE, { dimensions = 256, purpose = "document", parallel = 1 }))
      assert.are.same({}, { table.unpack(result.warnings) })
      assert.are.equal(3, #result.vectors)
      assert.are.equal(256, result.dimensions)
      local expected = GOLDEN[name]
      local requests = kit.requests()
      assert.are.equal(#expected - 1, #requests)
      for i, request in ipairs(requests) do
        assert.are.equal("POST", request.method)
        assert.are.equal(expected[1], request.path)
        assert.are.equal(expected[i + 1], request.body)
        assert.are.same({}, { table.unpack(request.problems) })
        assert.are.equal("application/json", request.headers["content-type"])
      end
    end)
  end

  it("says the purpose in each provider's words", function()
    local words = { query = { "search_query", "query", "RETRIEVAL_QUERY", "TEXT_RETRIEVAL" },
      document = { "search_document", "document", "RETRIEVAL_DOCUMENT", "GENERIC_INDEX" },
      similarity = { "clustering", nil, "SEMANTIC_SIMILARITY", "GENERIC_INDEX" },
      classification = { "classification", nil, "CLASSIFICATION", "CLASSIFICATION" },
      clustering = { "clustering", nil, "CLUSTERING", "CLUSTERING" },
      code_query = { "search_query", "query", "CODE_RETRIEVAL_QUERY", "GENERIC_INDEX" } }
    for purpose, expected in pairs(words) do
      local options = { purpose = purpose }
      assert.are.equal(expected[1], bodies("cohere", "x", options)[1].input_type)
      assert.are.equal(expected[1], bodies("bedrock_cohere", "x", options)[1].input_type)
      assert.are.equal(expected[2], bodies("voyage", "x", options)[1].input_type)
      assert.are.equal(expected[3], bodies("gemini", "x", options)[1].requests[1].taskType)
      assert.are.equal(expected[3], bodies("vertex_predict", "x", options)[1].instances[1].task_type)
      assert.are.equal(expected[4], bodies("nova", "x", options)[1].singleEmbeddingParams.embeddingPurpose)
      for _, name in ipairs { "openai", "mistral", "ollama", "compatible" } do
        local body, result = bodies(name, "x", options)
        assert.is_nil(body[1].input_type)
        assert.are.equal(0, #result.warnings)
      end
    end
  end)

  it("warns where a purpose is needed and not given, or has no word", function()
    local body, result = bodies("cohere", "x")
    assert.are.equal("search_document", body[1].input_type)
    assert.are.same({ "adjusted_option", "purpose", 1 },
      { result.warnings[1].code, result.warnings[1].field, #result.warnings })
    body, result = bodies("nova", { "x", "y", "z" }, { purpose = "code_query" })
    assert.are.equal("GENERIC_INDEX", body[3].singleEmbeddingParams.embeddingPurpose)
    assert.are.same({ "unsupported_option", 1 }, { result.warnings[1].code, #result.warnings })
    assert.is_nil(bodies("gemini", "x")[1].requests[1].taskType)
  end)

  it("writes a purpose into the text of models that ignore it otherwise", function()
    local expected = { query = "task: search result | query: a {text} %1", code_query = "task: code retrieval | query: "
      .. "a {text} %1", similarity = "task: sentence similarity | query: a {text} %1" }
    for purpose, text in pairs(expected) do
      assert.are.equal(text,
        bodies("gemini_2", "a {text} %1", { purpose = purpose })[1].requests[1].content.parts[1].text)
    end
    local body, result = bodies("gemini_2", "x", { purpose = "document", title = "T {text}" })
    assert.are.equal("title: T {text} | text: x", body[1].requests[1].content.parts[1].text)
    assert.are.equal(0, #result.warnings)
    assert.are.equal("x", bodies("gemini_2", "x")[1].requests[1].content.parts[1].text)
  end)

  it("sends a title with a document, and warns elsewhere", function()
    assert.are.equal("T", bodies("gemini", "x", { purpose = "document", title = "T" })[1].requests[1].title)
    assert.are.equal("T", bodies("vertex_predict", "x", { purpose = "document", title = "T" })[1].instances[1].title)
    for _, case in ipairs { { "gemini", "query" }, { "openai" }, { "cohere", "query" }, { "ollama" }, { "titan" },
      { "nova" } } do
      local _, result = bodies(case[1], "x", { purpose = case[2], title = "T" })
      assert.are.same({ "unsupported_option", "title", 1 },
        { result.warnings[1].code, result.warnings[1].field, #result.warnings })
    end
  end)

  -- 17: nothing is cut in silence
  it("has servers cut nothing unless asked", function()
    local function switches(options)
      return { bodies("ollama", "x", options)[1].truncate,
        bodies("vertex_predict", "x", options)[1].parameters.autoTruncate,
        bodies("vertex_content", "x", options)[1].embedContentConfig.autoTruncate,
        bodies("voyage", "x", options)[1].truncation, bodies("cohere", "x", options)[1].truncate,
        bodies("bedrock_cohere", "x", options)[1].truncate,
        bodies("nova", "x", options)[1].singleEmbeddingParams.text.truncationMode }
    end
    local never = { false, false, false, false, "NONE", "NONE", "NONE" }
    assert.are.same(never, switches())
    assert.are.same(never, switches { truncate = false })
    assert.are.same({ true, true, true, true, "END", "END", "END" }, switches { truncate = "end" })
    assert.are.same({ true, true, true, true, "START", "START", "START" }, switches { truncate = "start" })
    for _, name in ipairs { "ollama", "vertex_predict", "vertex_content", "voyage" } do
      local _, result = bodies(name, "x", { truncate = "start" })
      assert.are.same({ "unsupported_option", "truncate" }, { result.warnings[1].code, result.warnings[1].field })
      _, result = bodies(name, "x", { truncate = "end" })
      assert.are.equal(0, #result.warnings)
    end
    for _, name in ipairs { "openai", "gemini", "titan" } do
      local _, result = bodies(name, "x", { truncate = "end" })
      assert.are.same({ "unsupported_option", "truncate" }, { result.warnings[1].code, result.warnings[1].field })
    end
  end)

  it("sends texts as they are, but for what is no UTF-8, with the caller's prefix", function()
    assert.are.same({ " a\nb ", "é\u{FFFD}" }, { table.unpack(bodies("openai", { " a\nb ", "é\xFF" })[1].input) })
    assert.are.same({ "query: a" }, { table.unpack(bodies("ollama", "a", { prefix = "query: " })[1].input) })
    assert.are.equal("task: clustering | query: p a",
      bodies("gemini_2", "a", { prefix = "p ", purpose = "clustering" })[1].requests[1].content.parts[1].text)
  end)

  it("puts extra before the inputs, sorted, and replaces nothing", function()
    local result = assert(kit.embed("ollama", "x", { extra = { options = { num_ctx = 8 }, keep_alive = "5m",
      model = "other" } }))
    assert.are.equal('{"model":"mxbai-embed-large","truncate":false,"keep_alive":"5m","options":{"num_ctx":8},'
      .. '"input":["x"]}', kit.requests()[1].body)
    assert.are.same({ "extra_ignored", "extra.model" }, { result.warnings[1].code, result.warnings[1].field })
  end)

  it("asks for base64 where extra says so", function()
    assert.are.equal("base64", bodies("compatible", "x", { extra = { encoding_format = "base64" } })[1].encoding_format)
  end)

  it("takes the constructor's limits and headers, not its model and extra", function()
    local adapter = kit.adapter("openai", { model = "gpt-4o", extra = { seed = 1 }, headers = { ["x-team"] = "a" } })
    assert.are.equal("text-embedding-3-small", assert(adapter:embed("x")).model)
    local request = kit.requests()[1]
    assert.are.equal("a", request.headers["x-team"])
    assert.are.equal('{"model":"text-embedding-3-small","encoding_format":"base64","input":["x"]}', request.body)
    local other = kit.adapter "compatible"
    local ok, err = pcall(other.embed, other, "x")
    assert.is_false(ok)
    assert.are.same({ "ArgumentError", "model" }, { err.class, err.field })
  end)

  it("takes the model of an adapter that does nothing else", function()
    assert.are.equal("voyage-code-3",
      assert(koine.voyage { model = "voyage-code-3", base_url = kit.server.url .. "/v1", key = "a-key-of-mine" }
        :embed "x").model)
  end)

  it("takes names with their provider's name before them", function()
    assert(kit.embed("gemini", "x", { model = "models/gemini-embedding-001" }))
    assert(kit.embed("gemini", "x", { model = "gemini/gemini-embedding-001" }))
    for _, request in ipairs(kit.requests()) do
      assert.are.equal("/v1beta/models/gemini-embedding-001:batchEmbedContents", request.path)
    end
  end)
end)
