-- Batches of embeddings: sizes, order, retries of each alone, splits, several at once, what is there when one fails.

local batches = require "koine.call.embed.batches"
local core = require "koine.core"
local embed_kit = require "spec.lua.call.embed.kit"
local koine = require "koine"

-- So many texts, each with a word of its own.
local function texts(n)
  local list = {}
  for i = 1, n do list[i] = "word" .. i end
  return list
end

local function sizes(limits, list)
  local queue, found = batches.new(list, limits), {}
  for first, last in queue.next, queue do found[#found + 1] = last - first + 1 end
  return found
end

describe("batches", function()
  it("are cut by count, by an estimate of tokens, by the bytes of the answer", function()
    assert.are.same({}, sizes({ batch = 3 }, {}))
    assert.are.same({ 3, 3, 1 }, sizes({ batch = 3 }, texts(7)))
    local long = { ("x"):rep(9), ("x"):rep(10), ("x"):rep(99), "x", "x" } -- 3, 4, 33, 1, 1 tokens
    assert.are.same({ 2, 1, 2 }, sizes({ batch = 9, tokens = 7 }, long))
    assert.are.same({ 1, 1, 1, 2 }, sizes({ batch = 9, tokens = 6 }, long))
    assert.are.same({ 5 }, sizes({ batch = 9, tokens = 42 }, long))
    assert.are.same({ 2, 2, 1 }, sizes({ batch = 9, body = 2 * 2 * 22 * 10, width = 10, floats = true }, long))
    assert.are.same({ 5 }, sizes({ batch = 9, body = 2 * 2 * 22 * 10, width = 10 }, long))
    assert.are.same({ 1, 1, 1, 1, 1 }, sizes({ batch = 9, body = 1, width = 10, floats = true }, long))
  end)

  it("are halved at most twelve times, and limits learnt hold for what is left", function()
    local queue = batches.new(texts(4096), { batch = 4096 })
    for i = 1, 12 do
      local first, last = queue:next()
      assert.are.same({ 1, 4096 >> i - 1 }, { first, last })
      assert.is_true(queue:split(first, last, false))
    end
    assert.are.same({ 1, 1 }, { queue:next() })
    assert.are.same({ 2, 2 }, { queue:next() })
    assert.is_false(queue:split(2, 3, false))
    assert.is_false(queue:split(2, 2, false))
  end)
end)

describe("embed", function()
  local kit, slept = embed_kit.new(), nil
  setup(kit.start)
  teardown(kit.stop)
  before_each(function() slept = kit.begin() end)
  after_each(kit.restore)

  -- The number of inputs of each request.
  local function inputs()
    local counts = {}
    for i, request in ipairs(kit.requests()) do
      local body = core.decode(request.body)
      counts[i] = #(body.input or body.texts or body.requests or body.instances)
    end
    return counts
  end

  -- Whether each vector is that of its text: the loopback provider's say so.
  local function check_order(list, result)
    assert.are.equal(#list, #result.vectors)
    local expected = {}
    for i, text in ipairs(list) do
      expected[i] = koine.vector.pack(assert(kit.embed("ollama", text, { dimensions = 512 })).vectors[1])
    end
    for i = 1, #list do assert.are.equal(expected[i], koine.vector.pack(result.vectors[i])) end
  end

  -- 12: 250 inputs to Gemini
  it("sends 250 inputs in three requests, and the one that failed again", function()
    assert(kit.server:script { { embeddings = true }, { error = { status = 500, message = "busy" } } })
    local list = texts(250)
    local result = assert(kit.embed("gemini_2", list, { dimensions = 512 }))
    assert.are.same({ 100, 100, 100, 50 }, inputs())
    assert.are.equal(kit.requests()[2].body, kit.requests()[3].body)
    assert.are.same({ 1, "server", 1, 3 }, { #result.attempts, result.attempts[1].kind, #slept,
      result.usage.requests })
    check_order(list, result)
  end)

  -- 13: by tokens, and halved where the provider counts more
  it("splits by an estimate of tokens, and again where the provider refuses", function()
    local list = {}
    for i = 1, 5 do list[i] = "word" .. i .. (" "):rep(299000) .. "x" end
    assert(kit.embed("openai", list))
    assert.are.same({ 3, 2 }, inputs())
    assert(kit.server:reset())
    assert(kit.server:script { { error = { status = 400, code = "max_tokens_per_request",
      message = "Requested 400000 tokens, max 300000 tokens per request" } } })
    local result = assert(kit.embed("openai", list))
    assert.are.same({ 3, 1, 1, 1, 1, 1 }, inputs())
    assert.are.same({ { class = "split", status_code = 400, waited = 0 } },
      { { class = result.attempts[1].class, status_code = result.attempts[1].status_code,
        waited = result.attempts[1].waited } })
    assert.are.equal(5, #result.vectors)
  end)

  it("learns how many inputs a server takes", function()
    local refusal = { error = { status = 400, message = "Too many inputs. The max number of inputs is 16." } }
    assert(kit.server:script { refusal, refusal })
    local adapter = kit.adapter "openai"
    local list = texts(64)
    local result = assert(adapter:embed(list, { dimensions = 512 }))
    assert.are.same({ 64, 32, 16, 16, 16, 16 }, inputs())
    assert.are.same({ "split", "split" }, { result.attempts[1].class, result.attempts[2].class })
    check_order(list, result)
    assert(kit.server:reset())
    assert(adapter:embed(list))
    assert.are.same({ 16, 16, 16, 16 }, inputs())
  end)

  it("remembers what it learnt, not what a caller asked", function()
    assert(kit.server:script { { error = { status = 400, code = "max_tokens_per_request", message = "too much" } } })
    local adapter = kit.adapter "openai"
    assert(adapter:embed(texts(8), { batch = 4 }))
    assert.are.same({ 4, 2, 2, 2, 2 }, inputs())
    assert(kit.server:reset())
    assert(adapter:embed { ("x"):rep(15), "y" })
    assert.are.same({ 1, 1 }, inputs())
    assert(kit.server:reset())
    assert(adapter:embed(texts(2)))
    assert.are.same({ 2 }, inputs())
  end)

  it("reads an error behind a 200", function()
    kit.answer { error = { code = 429, message = "Rate limit exceeded" } }
    local result, err = kit.embed("openrouter", "x", { retry = false })
    assert.is_nil(result)
    assert.are.same({ "rate_limit", 429 }, { err.kind, err.status_code })
  end)

  it("calls one text that is too long what it is", function()
    assert(kit.server:script { { error = { status = 400, code = "max_tokens_per_request", message = "too much" } } })
    local result, err = kit.embed("openai", "x")
    assert.is_nil(result)
    assert.are.equal("context_overflow", err.kind)
    for status, message in pairs { [400] = "This model's maximum context length is 8192 tokens", [422] = "too long",
      [413] = "inputs must have less than 512 tokens", [500] = "input is too large to process. increase the physical "
        .. "batch size" } do
      assert(kit.server:script { { error = { status = status, message = message } } })
      result, err = kit.embed("compatible", { "x", "y" })
      assert.is_nil(result)
      assert.are.same({ "context_overflow", "RequestError", 1, status }, { err.kind, err.class, #err.attempts,
        err.status_code })
      assert.is_truthy(err.message:find("(inputs 1 to 2)", 1, true), err.message)
    end
  end)

  it("says what to do where a server embeds nothing", function()
    for name, words in pairs { llamacpp = "start the server with --embeddings",
      ollama = "does not support embeddings" } do
      assert(kit.server:script { { error = { status = 501, message = "This server does not support embeddings." } } })
      local result, err = kit.embed(name, "x")
      assert.is_nil(result)
      assert.are.same({ "invalid_request", "capability", 1 }, { err.kind, err.code, #err.attempts })
      assert.is_truthy(err.message:find(words, 1, true), err.message)
    end
  end)

  it("keeps what is there when a batch fails, and starts no other", function()
    assert(kit.server:script { { embeddings = true }, { error = { status = 400, message = "no such dimension" } } })
    local result, err = kit.embed("openai", { "a", "b", "c", "d" }, { batch = 1 })
    assert.is_nil(result)
    assert.are.same({ "invalid_request", 2 }, { err.kind, #kit.requests() })
    assert.are.same({ first = 2, last = 2 }, err.partial.failed)
    assert.are.equal(64, #err.partial.vectors[1])
    assert.are.same({ false, false, false }, { table.unpack(err.partial.vectors, 2) })
    assert(kit.server:script { { error = { status = 400, message = "no such dimension" } } })
    result, err = kit.embed("openai", { "a", "b", "c", "d" }, { batch = 3 })
    assert.is_nil(result)
    assert.is_truthy(err.message:find("no such dimension (inputs 1 to 3)", 1, true))
  end)

  -- 15: nothing is sent
  it("refuses an empty text before anything is sent", function()
    local adapter = kit.adapter "openai"
    for _, case in ipairs { { "", "an empty string" }, { " \n", "white space alone" }, { 7, "a number" },
      { { type = "image" }, "a table" } } do
      local ok, err = pcall(adapter.embed, adapter, { "a", case[1], "c" })
      assert.are.same({ false, "ArgumentError", "input 2" }, { ok, err.class, err.field })
      assert.is_truthy(err.message:find("input 2: ", 1, true) and err.message:find(case[2], 1, true), err.message)
    end
    for _, wrong in ipairs { 7, true, { a = "b" }, { "a", [3] = "c" } } do
      local ok, err = pcall(adapter.embed, adapter, wrong)
      assert.are.same({ false, "inputs" }, { ok, err.field })
    end
    local ok, err = pcall(adapter.embed, adapter)
    assert.are.same({ false, "inputs" }, { ok, err.field })
    assert.are.equal(0, #kit.requests())
  end)

  it("checks its options", function()
    local adapter = kit.adapter "openai"
    for _, case in ipairs { { { dimensions = 0 }, "dimensions" }, { { purpose = "x" }, "purpose" },
      { { truncate = true }, "truncate" }, { { as = "numpy" }, "as" }, { { parallel = 0 }, "parallel" },
      { { truncate_client = true }, "truncate_client" }, { { dimension = 3 }, "dimension" },
      { { max_tokens = 3 }, "max_tokens" }, { { keep_raw = true }, "keep_raw" }, { 7, "options" } } do
      local ok, err = pcall(adapter.embed, adapter, "x", case[1])
      assert.are.same({ false, case[2] }, { ok, err.field })
    end
    local gemini = kit.adapter "gemini"
    local ok, err = pcall(gemini.embed, gemini, "x", { model = ".." })
    assert.are.same({ false, "model" }, { ok, err.field })
  end)

  it("names those who have embeddings where there are none, and is left to authors of adapters", function()
    local claude = koine.anthropic { model = "m", key = "k" }
    local ok, err = pcall(claude.embed, claude, "x")
    assert.are.same({ false, "NotImplementedError", "embed", "Anthropic" }, { ok, err.class, err.method, err.adapter })
    assert.is_truthy(err.message:find("cohere, .*openai, .*voyage"))
    local own = koine.custom_adapter { name = "own" }
    ok, err = pcall(own.embed, own, "x")
    assert.are.same({ false, "NotImplementedError" }, { ok, err.class })
    own = koine.custom_adapter { name = "own", embed = function(_, given) return { vectors = { { #given } } } end }
    assert.are.equal(3, own:embed("abc").vectors[1][1])
  end)

  -- 19: closed between two batches
  it("sends nothing more once the adapter is closed, and keeps what is there", function()
    local adapter, asked
    adapter = kit.adapter("openai", { key = function()
      asked = (asked or 0) + 1
      if asked == 3 then adapter:close() end
      return "test-key-of-embeddings"
    end })
    local result, err = adapter:embed({ "a", "b", "c", "d" }, { batch = 1 })
    assert.is_nil(result)
    assert.are.same({ "cancelled", "CancelledError" }, { err.kind, err.class })
    assert.are.equal(2, #kit.requests())
    assert.are.same({ first = 3, last = 3 }, err.partial.failed)
    assert.are.equal(64, #err.partial.vectors[2])
    assert.are.same({ false, false }, { err.partial.vectors[3], err.partial.vectors[4] })
    local ok, wrong = pcall(adapter.embed, adapter, "x")
    assert.are.same({ false, "adapter" }, { ok, wrong.field })
  end)

  it("keeps several requests in flight where asked, up to four by itself within koine.run", function()
    kit.restore()
    local list = texts(12)
    local function together(f, options)
      assert(kit.server:reset())
      local answers = {}
      for i = 1, 6 do answers[i] = { embeddings = true, fault = { delay_ms = 30 } } end
      assert(kit.server:script(answers))
      local result
      f(function() result = assert(kit.embed("openai", list, options)) end)
      local connections, count = {}, 0
      for _, request in ipairs(kit.requests()) do
        if not connections[request.connection] then count = count + 1 end
        connections[request.connection] = true
      end
      check_order(list, result)
      return count
    end
    local function plainly(f) return f() end
    assert.are.equal(1, together(plainly, { batch = 2, dimensions = 512 }))
    assert.are.equal(3, together(plainly, { batch = 2, parallel = 3, dimensions = 512 }))
    assert.are.equal(4, together(koine.run, { batch = 2, dimensions = 512 }))
    assert.are.equal(1, together(koine.run, { batch = 2, parallel = 1, dimensions = 512 }))
  end)

  it("waits with all requests where one was told to wait", function()
    kit.restore()
    assert(kit.server:script { { error = { status = 429, headers = { ["retry-after-ms"] = "300" }, message = "slow" } },
      { embeddings = true, fault = { delay_ms = 100 } } })
    local began, told = core.monotonic(), {}
    local result = assert(kit.embed("openai", texts(4), { batch = 1, parallel = 2, on_retry = function(entry)
      told[#told + 1] = { entry.kind, entry.waited }
    end, retry = { on_ambiguous = false } }))
    assert.are.same({ { "rate_limit", 0.3 } }, told)
    assert.is_true(core.monotonic() - began >= 0.3)
    assert.are.same({ 4, 5, 1 }, { #result.vectors, #kit.requests(), #result.attempts })
  end)

  it("makes again what may have arrived, whatever the option says", function()
    assert(kit.server:script { { embeddings = true, fault = { reset_after = 0 } } })
    assert.are.equal(1, #assert(kit.embed("openai", "x", { retry = { on_ambiguous = false } })).vectors)
    assert.are.equal(2, #kit.requests())
  end)

  it("ends within its time, all requests together", function()
    kit.restore()
    assert(kit.server:script { { embeddings = true }, { embeddings = true, fault = { delay_ms = 60000 } } })
    local result, err = kit.embed("openai", { "a", "b", "c" }, { batch = 1, timeout = 0.3 })
    assert.is_nil(result)
    assert.are.equal("timeout", err.kind)
    assert.are.equal(64, #err.partial.vectors[1])
    assert.are.same({ first = 2, last = 2 }, err.partial.failed)
  end)

  it("bounds answers, and sends fewer inputs where answers would be larger", function()
    assert(kit.embed("compatible", texts(40), { dimensions = 100, limits = { body = 100 * 22 * 20 } }))
    assert.are.same({ 10, 10, 10, 10 }, inputs())
    local result, err = kit.embed("compatible", "x", { limits = { body = 100 } })
    assert.is_nil(result)
    assert.are.equal("limit", err.kind)
    assert(kit.server:reset())
    local adapter = kit.adapter "compatible"
    assert(adapter:embed(texts(3), { model = "m" })) -- 64 numbers each
    assert(adapter:embed("x", { model = "m", dimensions = 2 }))
    assert(adapter:embed(texts(3), { model = "m", limits = { body = 64 * 22 * 4 } }))
    assert.are.same({ 3, 1, 2, 1 }, inputs())
  end)

  it("shows neither the key nor the texts in errors", function()
    for _, fault in ipairs { { echo_authorization = true }, { truncate_after = 5 }, { content_type = "text/html" } } do
      assert(kit.server:script { { embeddings = true, fault = fault } })
      local _, err = kit.embed("openai", { "a very secret text" }, { retry = { max = 0 } })
      local shown = err and tostring(err) .. (err.raw or "") or ""
      assert.is_nil(shown:find("secret text", 1, true))
      assert.is_nil(shown:find("test-key-of-embeddings", 1, true))
    end
  end)

  it("logs in as chats do: Copilot's token, AWS's signature", function()
    kit.restore()
    assert(kit.server:copilot { github_tokens = { "ghu_of_embeddings" } })
    local copilot = koine.copilot { github_host = kit.server.url, github_token = "ghu_of_embeddings",
      min_request_interval = 0 }
    assert.are.equal(2, #assert(copilot:embed { "a", "b" }).vectors)
    local requests = kit.requests()
    local request = requests[#requests]
    assert.are.same({ "/embeddings", "user" }, { request.path, request.headers["x-initiator"] })
    assert.is_string(request.headers["editor-version"])
    assert.is_truthy(request.headers.authorization:find "^Bearer tid=")
    local adapter, model = kit.adapter("nova", { key = false, credentials = { access_key = "AKIDLOOPBACK",
      secret_key = "loopback/secret+key" } })
    assert.are.equal(1, #assert(adapter:embed("a", { model = model })).vectors)
    requests = kit.requests()
    assert.is_truthy(requests[#requests].headers.authorization:find "^AWS4%-HMAC%-SHA256 ")
  end)
end)
