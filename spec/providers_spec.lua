local core = require "koine.core"
local koine = require "koine"
local rows = require "koine.rows"

local function raised(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "nothing was raised")
  return err
end

local function set(...)
  local known = {}
  for _, name in ipairs { ... } do known[name] = true end
  return known
end

local ROW = set("name", "title", "codec", "base_url", "path", "models_path", "count_path",
  "env", "auth", "key_optional",
  "headers", "quirks", "plain_max_tokens", "options", "api", "apis", "own_ids", "models", "models_checked", "source")
local MODEL = set("prefix", "context", "max_output", "thinking", "efforts", "vision", "price", "quirks")
local PRICE = set("input", "output", "cache_read", "cache_write")
local LOCAL = set("llamacpp", "vllm", "lmstudio", "ollama_compat", "compatible")

describe("provider rows", function()
  for _, name in ipairs(rows.names) do
    it(name .. " is well formed", function()
      local row = rows.load(name)
      for field in pairs(row) do assert.is_true(ROW[field] or false, field) end
      assert.are.equal(name, row.name)
      assert.is_string(row.title)
      local chosen = rows.chosen(row, {})
      assert.is_truthy(chosen.codec == "chat" or chosen.codec == "anthropic")
      assert.is_truthy(chosen.path:find "^/")
      assert.is_truthy(set("bearer", "x-api-key", "api-key", "none")[chosen.auth])
      assert.are.equal(LOCAL[name] or false, row.key_optional or false)
      assert.is_truthy(row.source == "recordings" or row.source == "documentation")
      if row.base_url then
        assert.is_truthy(row.base_url:find(LOCAL[name] and "^http://127%.0%.0%.1:%d+" or "^https://"))
        assert.is_nil(row.base_url:find "/$")
        assert.is_truthy(row.env[1]:find "^[A-Z_]+_API_KEY$")
      end
    end)

    it(name .. " knows its models by distinct prefixes", function()
      local row, seen = rows.load(name), {}
      if row.models then assert.is_truthy(row.models_checked:find "^%d%d%d%d%-%d%d%-%d%d$") end
      for _, model in ipairs(row.models or {}) do
        for field in pairs(model) do assert.is_true(MODEL[field] or false, field) end
        assert.is_nil(seen[model.prefix])
        seen[model.prefix] = true
        assert.is_truthy(model.thinking == nil or set("budget", "adaptive", "effort", "none")[model.thinking])
        for field, price in pairs(model.price or {}) do
          assert.is_true(PRICE[field])
          assert.is_true(price > 0)
        end
      end
    end)

    it(name .. " makes adapters with quirks that the core knows, for every model", function()
      local row = rows.load(name)
      local ids = { "some-model" }
      for _, model in ipairs(row.models or {}) do ids[#ids + 1] = model.prefix end
      for _, id in ipairs(ids) do
        local adapter = koine[name] { model = id, base_url = not row.base_url and "http://127.0.0.1:1" or nil }
        assert.are.equal(id, adapter:model_name())
        assert.are.equal(row.title, adapter:provider_name())
        assert.are.equal(rows.model(row, id).context, adapter:max_context_tokens())
        adapter:close()
      end
    end)
  end

  it("are exactly the constructors of the public face", function()
    assert.are.equal(18, #rows.names)
    for _, name in ipairs(rows.names) do assert.is_function(koine[name]) end
    assert.is_nil(koine.gemini)
  end)

  it("cannot be mistaken: unknown names suggest the nearest", function()
    local err = raised(rows.load, "antropic")
    assert.are.equal("ArgumentError", err.class)
    assert.are.equal("anthropic", err.expected)
  end)

  it("refuse a quirk that the core does not know", function()
    local err = raised(koine.openai, { model = "m", quirks = { frobnicate = true } })
    assert.are.equal("ArgumentError", err.class)
    err = raised(koine.openai, { model = "m", quirks = { system_role = "boss" } })
    assert.are.equal("ArgumentError", err.class)
  end)
end)

describe("a model id", function()
  local function id_of(name, id) return rows.model_id(rows.load(name), id) end

  it("loses the prefix of its own provider only", function()
    assert.are.equal("claude-x", id_of("anthropic", "anthropic/claude-x"))
    assert.are.equal("openai/gpt-x", id_of("anthropic", "openai/gpt-x"))
    assert.are.equal("anthropic/", id_of("anthropic", "anthropic/"))
    assert.are.equal("anthropic/ ", id_of("anthropic", "anthropic/ "))
    assert.are.equal("claude-x", id_of("anthropic", "claude-x"))
    assert.are.equal("a/b", id_of("anthropic", "anthropic/a/b"))
  end)

  it("keeps it where the provider's own ids begin so", function()
    assert.are.equal("anthropic/claude-x", id_of("openrouter", "openrouter/anthropic/claude-x"))
    assert.are.equal("openrouter/auto", id_of("openrouter", "openrouter/auto"))
    assert.are.equal("groq/compound-mini", id_of("groq", "groq/compound-mini"))
    assert.are.equal("openai/gpt-oss-120b", id_of("groq", "groq/openai/gpt-oss-120b"))
  end)

  it("finds the longest prefix among the row's models", function()
    local row = rows.load "anthropic"
    assert.are.equal("claude-sonnet-4", rows.model(row, "claude-sonnet-4-5-20250929").prefix)
    assert.are.equal("claude-sonnet-4-6", rows.model(row, "claude-sonnet-4-6").prefix)
    assert.are.equal("claude-opus-5-5", rows.model(row, "claude-opus-5-5").prefix)
    assert.are.equal("claude-opus-5", rows.model(row, "claude-opus-5").prefix)
    assert.are.same({}, rows.model(row, "claude"))
    assert.are.equal("gpt-5-mini", rows.model(rows.load "openai", "gpt-5-mini-2025-08-07").prefix)
  end)
end)

describe("koine.adapter", function()
  it("finds provider and model in one name", function()
    local adapter = koine.adapter "anthropic/claude-sonnet-4-5"
    assert.are.equal("Anthropic", adapter:provider_name())
    assert.are.equal("claude-sonnet-4-5", adapter:model_name())
    adapter = koine.adapter("openrouter/anthropic/claude-haiku-4.5", { key = "k" })
    assert.are.equal("anthropic/claude-haiku-4.5", adapter:model_name())
    assert.are.equal("groq/compound", koine.adapter("groq/compound"):model_name())
    assert.are.equal("m", koine.adapter("vllm", { model = "m" }):model_name())
  end)

  it("leaves the options alone and refuses bad ones", function()
    local given = { key = "k" }
    koine.adapter("openai/gpt-4o", given)
    assert.are.same({ key = "k" }, given)
    assert.are.equal("openai", raised(koine.adapter, "opnai/gpt-4o").expected)
    assert.are.equal("model", raised(koine.adapter, "openai").field)
    assert.are.equal("name", raised(koine.adapter, 5).field)
    assert.are.equal("options", raised(koine.adapter, "openai/m", 5).field)
  end)
end)

describe("koine.compatible", function()
  it("needs an address and a model", function()
    assert.are.equal("base_url", raised(koine.compatible, { model = "m" }).field)
    assert.are.equal("model", raised(koine.compatible, { base_url = "http://h" }).field)
    assert.are.equal("base_url", raised(koine.azure, { model = "m" }).field)
  end)

  it("takes a name, an api, a way to send the key and quirks", function()
    local adapter = koine.compatible { base_url = "http://h/v1", model = "acme/m", name = "acme", api = "anthropic",
      auth = "bearer", key = "k" }
    local row = core.state(adapter).row
    assert.are.equal("acme", adapter:provider_name())
    assert.are.equal("m", adapter:model_name())
    assert.are.same({ "anthropic", "/v1/messages", "bearer" }, { row.codec, row.path, row.auth })
    row = core.state(koine.compatible { base_url = "http://h", model = "m", quirks = { null_content = "empty" } }).row
    assert.are.same({ "compatible", "chat", "/chat/completions" }, { row.name, row.codec, row.path })
    local given = { base_url = "http://h", model = "m", api = "antropic" }
    assert.are.equal("anthropic", raised(koine.compatible, given).expected)
    assert.are.equal("auth", raised(koine.compatible, { base_url = "http://h", model = "m", auth = "basic" }).field)
  end)
end)

describe("koine", function()
  it("loads the rest on first use", function()
    assert.are.equal(core.null, koine.null)
    assert.are.equal(core.array_mt, getmetatable(koine.array {}))
    assert.are.equal("0.1.0", koine.version)
    assert.are.equal(require "koine.errors", koine.errors)
    assert.are.equal(koine.errors.try, koine.try)
    assert.are.equal("text", koine.text({ text = "x" }).type)
    assert.are.equal("Hi", koine.response({ content = "Hi", model = "m", stop_reason = "end_turn" }):text())
    for _, name in ipairs { "conversation", "base", "playbook", "pricing", "testing" } do
      assert.are.equal(require("koine." .. name), koine[name])
    end
    assert.is_nil(koine.set_host)
    assert.is_nil(koine.nothing_of_the_sort)
  end)
end)
