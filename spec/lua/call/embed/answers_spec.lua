-- Answers with embeddings: order, widths, lengths, base64 and floats, counts, costs, warnings.

local core = require "koine.core"
local embed_kit = require "spec.lua.call.embed.kit"
local koine = require "koine"

local body = embed_kit.openai_body

local function near(expected, got, within)
  assert.is_true(math.abs(expected - got) <= (within or 1e-6), ("%s, got %s"):format(expected, got))
end

local function packed64(numbers) return koine.base64(koine.vector.pack(numbers)) end

-- So many numbers, none of them 0, of length 1.
local function unit(width, seed)
  local numbers = {}
  for i = 1, width do numbers[i] = math.sin(i * (seed or 1)) + 2 end
  local norm = koine.vector.norm(numbers)
  for i = 1, width do numbers[i] = numbers[i] / norm end
  return numbers
end

describe("embed", function()
  local kit = embed_kit.new()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local function refused(name, inputs, options)
    local result, err = kit.embed(name, inputs, options)
    assert.is_nil(result)
    assert.are.equal("protocol", err.kind)
    assert.are.equal("ServerError", err.class)
    return err
  end

  it("gives a vector for one text, and none for none, without a request", function()
    local result = assert(kit.embed("openai", "one"))
    assert.are.equal(1, #result.vectors)
    assert.are.equal(64, result.dimensions)
    assert.are.same({ input_tokens = 1, requests = 1 }, { input_tokens = result.usage.input_tokens,
      requests = result.usage.requests })
    assert.are.equal("text-embedding-3-small", result.model)
    assert.are.equal(1, #result.request_ids)
    assert.are.same({ 0, 0 }, { #result.warnings, #result.attempts })
    result = assert(kit.embed("openai", {}))
    assert.are.same({ {}, 0 }, { result.vectors, result.usage.requests })
    assert.are.equal(1, #kit.requests())
  end)

  -- 3: what arrived decides, not what was asked
  it("reads floats where base64 was asked, and base64 where floats were", function()
    local numbers = unit(768)
    for _, name in ipairs { "openai", "compatible" } do
      for _, vector in ipairs { numbers, packed64(numbers) } do
        kit.answer(body { vector })
        local result = assert(kit.embed(name, "x"))
        assert.are.equal(768, result.dimensions)
        for i = 1, 768 do near(numbers[i], result.vectors[1][i], 1e-7) end
      end
    end
  end)

  -- 4: the order of `data`
  it("sorts by index, takes the order of arrival where none has one", function()
    local function first_of(indexes)
      kit.answer(body({ { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } }, indexes))
      local result = assert(kit.embed("openai", { "a", "b", "c" }))
      local places = {}
      for i, vector in ipairs(result.vectors) do
        for k = 1, 3 do places[i] = vector[k] == 1 and k or places[i] end
      end
      return table.concat(places)
    end
    assert.are.equal("231", first_of { 2, 0, 1 })
    assert.are.equal("123", first_of(false))
    for indexes, words in pairs { [{ 0, 1, 1 }] = "index 1 stands at two vectors",
      [{ 0, 1, 3 }] = "index 3 stands at one", [{ 0, 1 }] = "only some of the vectors have an index" } do
      kit.answer(body({ { 1 }, { 1 }, { 1 } }, indexes))
      assert.is_truthy(refused("openai", { "a", "b", "c" }).message:find(words, 1, true))
    end
  end)

  -- 7: the shape of Cohere's older models on Bedrock; the count is in a header
  it("reads both shapes of Cohere's on Bedrock, and the count from a header", function()
    for _, embeddings in ipairs { koine.array { koine.array { 0.6, 0.8 } },
      { float = koine.array { koine.array { 0.6, 0.8 } } } } do
      kit.answer { headers = { ["x-amzn-bedrock-input-token-count"] = "3", ["x-amzn-requestid"] = "r-1" },
        body = { id = "x", texts = koine.array { "a" }, embeddings = embeddings } }
      local result = assert(kit.embed("bedrock_cohere", "a", { purpose = "query" }))
      assert.are.same({ 0.6, 0.8 }, result.vectors[1])
      assert.are.equal(3, result.usage.input_tokens)
      assert.are.same({ "r-1" }, { table.unpack(result.request_ids) })
    end
    local result = assert(kit.embed("bedrock_cohere", "a", { purpose = "query", model = "cohere.embed-english-v3" }))
    assert.are.equal(64, result.dimensions)
  end)

  -- 8: one text a request
  it("sends one text a request to Nova, and sums the counts of the headers", function()
    local result = assert(kit.embed("nova", { "four", "eight..8", "x" }))
    assert.are.same({ 3, 3, 1 + 2 + 1 }, { #result.vectors, result.usage.requests, result.usage.input_tokens })
    for i, request in ipairs(kit.requests()) do
      assert.are.equal(({ "four", "eight..8", "x" })[i],
        core.decode(request.body).singleEmbeddingParams.text.value)
    end
  end)

  -- 9: an answer without vectors
  it("refuses an answer with too few vectors", function()
    kit.answer { model = "m", embeddings = koine.array {} }
    local err = refused("ollama", "x")
    assert.is_truthy(err.message:find("asked for 1 vectors, got 0", 1, true), err.message)
    assert.are.same({ vectors = { false }, failed = { first = 1, last = 1 } }, err.partial)
    assert.are.equal(1, #kit.requests())
  end)

  -- 14: numbers of vectors, widths, what is no number
  it("refuses other numbers of vectors, other widths, what is no number", function()
    kit.answer(body { { 1 }, { 1 } })
    assert.is_truthy(refused("openai", { "a", "b", "c" }).message:find("asked for 3 vectors, got 2", 1, true))
    kit.answer(body { unit(192) })
    assert.is_truthy(refused("openai", "a", { dimensions = 768 }).message
      :find("a vector of 192 numbers, where 768 were expected", 1, true))
    kit.answer(body { { 1, 0 }, { 1, 0, 0 } })
    assert.is_truthy(refused("openai", { "a", "b" }).message:find("3 numbers, where 2 were expected", 1, true))
    kit.answer(body { { 1, 0 } }, body { { 1, 0, 0 } })
    local err = refused("openai", { "a", "b" }, { batch = 1 })
    assert.is_truthy(err.message:find("3 numbers, where 2 were expected", 1, true))
    assert.are.same({ vectors = { { 1, 0 }, false }, failed = { first = 2, last = 2 } }, err.partial)
    for _, numbers in ipairs { "[0.5,null]", '[0.5,"1"]', "[]", "null", "[1e999]", '"AAAAAAA"', '"*"', "{}" } do
      kit.answer('{"data":[{"index":0,"embedding":' .. numbers .. "}]}")
      refused("openai", "a")
    end
    for _, text in ipairs { "[]", '"x"', "{}", '{"data":{}}', '{"data":[{}]}', '{"data":[7]}', "" } do
      kit.answer(text)
      refused("openai", "a")
    end
  end)

  -- 20: blank lines before the body are fine, NaN is not JSON
  it("takes an answer that begins with blank lines, not one with NaN", function()
    kit.answer("\n\n  \n" .. core.encode(body { { 0.6, 0.8 } }))
    assert.are.same({ 0.6, 0.8 }, assert(kit.embed("openrouter", "x")).vectors[1])
    kit.answer '{"data":[{"index":0,"embedding":[NaN,1]}]}'
    assert.is_truthy(refused("openrouter", "x").message:find "JSON")
  end)

  it("asks again where an answer was cut", function()
    local whole = core.encode(body { { 0.6, 0.8 } })
    kit.answer(whole:sub(1, 40), whole)
    local result = assert(kit.embed("openai", "x"))
    assert.are.same({ 0.6, 0.8 }, result.vectors[1])
    assert.are.equal("stream_truncated", result.attempts[1].kind)
  end)

  -- 16: both forms
  it("packs where asked, the same numbers within float32", function()
    local texts = { "a long text", "another one" }
    local tables = assert(kit.embed("compatible", texts, { dimensions = 32 }))
    local packed = assert(kit.embed("compatible", texts, { dimensions = 32, as = "packed" }))
    assert.are.equal(32, packed.dimensions)
    for i = 1, 2 do
      assert.are.equal(koine.vector.pack(tables.vectors[i]), packed.vectors[i])
      near(1, koine.vector.norm(packed.vectors[i]))
      near(koine.vector.dot(tables.vectors[1], tables.vectors[i]),
        koine.vector.dot(packed.vectors[1], packed.vectors[i]))
    end
  end)

  it("makes the length 1 unless told not to", function()
    for normalize, expected in pairs { [true] = { 0.6, 0.8 }, [false] = { 3, 4 } } do
      kit.answer(body { { 3, 4 } })
      assert.are.same(expected, assert(kit.embed("openai", "x", { normalize = normalize })).vectors[1])
    end
    assert(kit.embed("titan", "x", { normalize = false }))
    local requests = kit.requests()
    assert.is_false(core.decode(requests[#requests].body).normalize)
  end)

  it("cuts wider vectors where asked, with a warning", function()
    kit.answer(body { { 3, 4, 12 } })
    local result = assert(kit.embed("compatible", "x", { dimensions = 2, truncate_client = true, normalize = false }))
    assert.are.same({ 0.6, 0.8 }, result.vectors[1])
    assert.are.same({ "dimensions_by_client", 2 }, { result.warnings[1].code, result.dimensions })
    kit.answer(body { { 0.6, 0.8 } })
    assert.are.equal(0, #assert(kit.embed("compatible", "x", { dimensions = 2, truncate_client = true })).warnings)
  end)

  it("warns of zeros, of texts that were cut, of another model", function()
    kit.answer(body { { 0, 0 } })
    assert.are.equal("zero_vector", assert(kit.embed("openai", "x")).warnings[1].code)
    local statistics = { token_count = 3, truncated = true }
    local one = { embeddings = { values = koine.array { 1 }, statistics = statistics } }
    kit.answer { predictions = koine.array { one } }
    local result = assert(kit.embed("vertex_predict", "x", { truncate = "end" }))
    assert.are.same({ "truncated", "the provider cut input 1" },
      { result.warnings[1].code, result.warnings[1].message })
    assert.are.equal(3, result.usage.input_tokens)
    for answered, count in pairs { ["NOMIC-embed:latest"] = 0, ["qwen3"] = 1 } do
      local answer = body { { 1 } }
      answer.model = answered
      kit.answer(answer)
      result = assert(kit.embed("lmstudio", "x"))
      assert.are.equal(count, #result.warnings)
      assert.are.equal(answered, result.model)
    end
  end)

  it("counts tokens where the wire does, and sums costs", function()
    local first, second = body { { 1 } }, body { { 1 } }
    first.usage = { prompt_tokens = 3, cost = 0.5 }
    second.usage = { total_tokens = 0, cost = { input_cost = 0.25, total_cost = 0.25, currency = "USD" } }
    kit.answer(first, second)
    local usage = assert(kit.embed("openrouter", { "a", "b" }, { batch = 1 })).usage
    assert.are.same({ 3, 2, 0.75, "provider" }, { usage.input_tokens, usage.requests, usage.cost.total,
      usage.cost_source })
    assert.is_nil(usage.incomplete)
    second.usage = nil
    kit.answer(first, second, first)
    usage = assert(kit.embed("openrouter", { "a", "b", "c" }, { batch = 1 })).usage
    assert.is_nil(usage.input_tokens)
    assert.is_nil(usage.cost)
    assert.is_true(usage.incomplete)
  end)

  it("knows no count and no cost where the answer's is none that could be", function()
    for _, wrong in ipairs { math.maxinteger, -1, "3", 1.5 } do
      local answer = body { { 1 } }
      answer.usage = { prompt_tokens = wrong, cost = -0.5 }
      kit.answer(answer, answer)
      local usage = assert(kit.embed("openrouter", { "a", "b" }, { batch = 1 })).usage
      assert.are.same({ nil, nil, true }, { usage.input_tokens, usage.cost, usage.incomplete })
    end
  end)

  it("gives integers as they came where extra asks for them", function()
    local function integers(name, extra, answer)
      kit.answer(answer)
      local result = assert(kit.embed(name, "x", { extra = extra, dimensions = 16 }))
      assert.are.equal("integer", math.type(result.vectors[1][1]))
      return result.vectors[1]
    end
    assert.are.same({ 3, -4 }, integers("voyage", { output_dtype = "int8" }, body { { 3, -4 } }))
    assert.are.same({ 127, 1, -128 }, integers("mistral", { output_dtype = "binary" }, body { "fwGA" }))
    assert.are.same({ 127, 1, 128 }, integers("voyage", { output_dtype = "ubinary" }, body { "fwGA" }))
    assert.are.same({ 3, -4 }, integers("cohere", { embedding_types = koine.array { "int8" } },
      { embeddings = { int8 = koine.array { koine.array { 3, -4 } } } }))
    local adapter = kit.adapter "voyage"
    local ok, err = pcall(adapter.embed, adapter, "x", { as = "packed", extra = { output_dtype = "int8" } })
    assert.are.same({ false, "as" }, { ok, err.field })
  end)
end)
