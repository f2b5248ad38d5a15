-- Recorded answers of embeddings. They are not part of the project: KOINE_RECORDINGS names the folder that holds them.

local core = require "koine.core"
local embed_kit = require "spec.lua.call.embed.kit"
local koine = require "koine"
local replay = require "spec.lua.codec.replay"

local THREE = { "Ruby", "Python", "JavaScript" }
local directory = os.getenv "KOINE_RECORDINGS"

local function near(expected, got, within)
  assert.is_true(math.abs(expected - got) <= (within or 1e-6), ("%s, got %s"):format(expected, got))
end

local function body_of(name)
  local file <close> = assert(io.open(("%s/%s.json"):format(directory, name)))
  return core.decode(core.decode(file:read "a").response.body)
end

describe("recorded embeddings", function()
  local kit = embed_kit.new()
  if not directory then
    it("are not here: set KOINE_RECORDINGS", function() assert.is_nil(directory) end)
    return
  end
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  -- What of a result or an error must not depend on how the bytes came.
  local function essence(result, err)
    if err then return { err.kind, err.class, err.status_code, err.message } end
    return { result.vectors, result.dimensions, result.usage, result.model, result.request_ids, result.warnings }
  end

  local seen = {} -- recordings that were replayed

  -- What embed gives for a recording: the same, however its bytes are split.
  local function replayed(recording, name, inputs, options)
    seen[recording] = true
    assert.is_true(kit.replay(recording))
    local result, err = kit.embed(name, inputs, options)
    for _, size in ipairs { 1, 1024 } do
      assert(kit.server:reset())
      assert.is_true(kit.replay(recording, { write_bytes = size }))
      assert.are.same(essence(result, err), essence(kit.embed(name, inputs, options)))
    end
    return result, err
  end

  -- 2: base64 and floats, by the same code
  it("of OpenAI: base64 and floats", function()
    local result = assert(replayed("openai-embeddings/base64-batch", "openai", { "hello", "world" }))
    assert.are.same({ 2, 1536, 1536, 2 }, { #result.vectors, #result.vectors[1], result.dimensions,
      result.usage.input_tokens })
    local bytes = core.base64_decode(body_of("openai-embeddings/base64-batch").data[1].embedding)
    assert.are.equal(string.unpack("<f", bytes), result.vectors[1][1])
    result = assert(replayed("openai-embeddings/float-dimensions-batch", "openai", THREE, { dimensions = 768 }))
    assert.are.same({ 3, 768, 3 }, { #result.vectors, result.dimensions, result.usage.input_tokens })
    assert.are.equal(-0.0170440673828125, result.vectors[1][1])
    assert.are.equal("text-embedding-3-small", result.model)
  end)

  it("of Mistral: counts beside null", function()
    local result = assert(replayed("mistral-embeddings/batch", "mistral", THREE))
    assert.are.same({ 3, 1024, 9 }, { #result.vectors, result.dimensions, result.usage.input_tokens })
  end)

  -- 5: int8 in base64
  it("of Perplexity: signed bytes in base64, a cost", function()
    local recording = "perplexity-embeddings/base64-int8-batch"
    local raw = assert(replayed(recording, "perplexity", THREE, { dimensions = 256, normalize = false }))
    assert.are.same({ 3, 256, "integer", -41 }, { #raw.vectors, raw.dimensions, math.type(raw.vectors[1][1]),
      raw.vectors[1][1] })
    for _, vector in ipairs(raw.vectors) do
      for _, number in ipairs(vector) do assert.is_true(number >= -128 and number <= 127) end
    end
    local result = assert(replayed(recording, "perplexity", THREE, { dimensions = 256 }))
    local norm = koine.vector.norm(raw.vectors[2])
    for _, vector in ipairs(result.vectors) do near(1, koine.vector.norm(vector)) end
    near(raw.vectors[2][7] / norm, result.vectors[2][7])
    assert.are.same({ 3, 1.2e-8, "provider" }, { result.usage.input_tokens, result.usage.cost.total,
      result.usage.cost_source })
  end)

  -- 6: cut vectors of Gemini have another length, and no counts
  it("of Gemini: lengths and counts", function()
    local recording = "gemini-embeddings/batch-dimensions"
    local result = assert(replayed(recording, "gemini", THREE, { dimensions = 768 }))
    assert.are.same({ 3, 768 }, { #result.vectors, result.dimensions })
    for _, vector in ipairs(result.vectors) do near(1, koine.vector.norm(vector)) end
    assert.is_nil(result.usage.input_tokens)
    assert.is_true(result.usage.incomplete)
    local raw = assert(replayed(recording, "gemini", THREE, { dimensions = 768, normalize = false }))
    near(0.57, koine.vector.norm(raw.vectors[1]), 0.05)
    assert.are.equal(-0.008762145, raw.vectors[1][1])
    result = assert(replayed("gemini-embeddings/embedding-2-usage", "gemini_2", "Ruby is a programmer's best friend",
      { dimensions = 768 }))
    assert.are.same({ 8, 768, 0.020942502 }, { result.usage.input_tokens, result.dimensions, result.vectors[1][1] })
  end)

  -- 7: Cohere, on its own and on Bedrock; counts in the body and in a header
  it("of Cohere: vectors by type, counts of the body and of a header", function()
    local result = assert(replayed("cohere-embed/batch-dimensions", "cohere", THREE, { dimensions = 1024,
      purpose = "document" }))
    assert.are.same({ 3, 1024, 3 }, { #result.vectors, result.dimensions, result.usage.input_tokens })
    result = assert(replayed("bedrock-embeddings/cohere-v4-batch", "bedrock_cohere", THREE, { dimensions = 512,
      purpose = "document" }))
    assert.are.same({ 3, 512, 3, "e29490fd-f4e6-4737-a853-753363a05603" }, { #result.vectors, result.dimensions,
      result.usage.input_tokens, result.request_ids[1] })
  end)

  -- 8: Nova, whose count is in a header
  it("of Nova: the count of a header", function()
    local result = assert(replayed("bedrock-embeddings/nova-single", "nova", "Ruby is a programmer's best friend",
      { dimensions = 256 }))
    assert.are.same({ 1, 256, 10 }, { #result.vectors, result.dimensions, result.usage.input_tokens })
  end)

  -- 9: Ollama
  it("of Ollama", function()
    local result = assert(replayed("ollama-embed/batch", "ollama", { "a", "b" }))
    assert.are.same({ 2, 1024, 522, "mxbai-embed-large" }, { #result.vectors, result.dimensions,
      result.usage.input_tokens, result.model })
  end)

  -- 10: Voyage AI
  it("of Voyage AI: base64, a count of 0, an unknown model", function()
    local result = assert(replayed("voyage-embeddings/base64-batch", "voyage", { "hello", "world" }))
    assert.are.same({ 2, 1024, 0 }, { #result.vectors, result.dimensions, result.usage.input_tokens })
    local none, err = replayed("voyage-embeddings/error-400-detail", "voyage", "Hello, world!")
    assert.is_nil(none)
    assert.are.same({ "not_found", "RequestError", 400 }, { err.kind, err.class, err.status_code })
    assert.is_truthy(err.message:find("Model nonexistent is not supported", 1, true))
  end)

  -- 11: unknown models
  it("of unknown models", function()
    for recording, name in pairs { ["openai-embeddings/error-404-model"] = "openai",
      ["cohere-embed/error-404-model"] = "cohere", ["gemini-embeddings/error-404-model"] = "gemini" } do
      local none, err = replayed(recording, name, "Hello, world!")
      assert.is_nil(none)
      assert.are.same({ "not_found", 404 }, { err.kind, err.status_code })
      assert.is_truthy(err.message:find "nonexistent")
    end
  end)

  it("are all replayed, those of every folder", function()
    local unread = {}
    for _, path in ipairs(replay.all(directory, "^[^/]*%-embed")) do
      if not seen[path] then unread[#unread + 1] = path end
    end
    assert.are.same({}, unread)
  end)
end)
