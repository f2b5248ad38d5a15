-- The rows of the providers: their fields, the models they know, and what a model costs.

local core = require "koine.core"
local dialects = require "koine.data.schema.rewrite.dialects"
local embeddings = require "koine.testing.loopback.embeddings"
local files = require "spec.support.files"
local koine = require "koine"
local paths = require "koine.testing.loopback.paths"
local places = require "spec.lua.provider.places"
local rows = require "koine.provider"
local raised = require "spec.support.raised"

local function set(...)
  local known = {}
  for _, name in ipairs { ... } do known[name] = true end
  return known
end

local ROW = set("name", "title", "rank", "codec", "base_url", "base_urls", "blanks", "list", "show", "loaded", "pull",
  "counts", "env", "auth", "key_optional", "default_model", "headers", "id_header", "quirks", "plain_max_tokens",
  "options", "api", "apis", "own_ids", "login", "heads", "service", "list_base_url", "express_base_url", "places",
  "variables", "models", "models_checked", "source", "seen", "says", "failed_output", "chat",
  "embed", "output_extra", "telemetry")
local EMBED = set("path", "base_url", "dialect", "model", "batch", "tokens", "base64", "dtype", "dimensions",
  "truncation", "purposes", "wrap", "in_path", "head", "tokens_header", "not_found", "hint", "substitutes", "models",
  "prefix")
local MODEL = set("prefix", "context", "max_output", "thinking", "efforts", "vision", "price", "multiplier", "quirks")
local _, place_of = paths.places(paths.endpoints)
local PRICE = set("input", "output", "cache_read", "cache_write", "cache_write_1h")

describe("provider rows", function()
  for _, name in ipairs(rows.names) do
    it(name .. " is well formed", function()
      local row = rows.load(name)
      for field in pairs(row) do assert.is_true(ROW[field] or false, field) end
      assert.are.equal(name, row.name)
      assert.is_string(row.title)
      local chosen = rows.chosen(row, {})
      assert.is_table(paths.endpoints[chosen.codec])
      assert.is_truthy(chosen.list == false or chosen.list:find "^/")
      assert.is_truthy(chosen.show == nil or chosen.show:find "^/")
      assert.is_truthy(chosen.loaded == nil or chosen.loaded:find "^/")
      local by_key = set("bearer", "x-api-key", "api-key", "x-goog-api-key", "none")[chosen.auth]
      if not by_key then assert.is_function(require("koine.provider.auth." .. chosen.auth).prepare) end
      local is_local = row.base_url and row.base_url:find "^http://127%.0%.0%.1:%d+" ~= nil or false
      assert.are.equal(is_local or not row.env, row.key_optional or false)
      assert.is_truthy(row.source == "recordings" or row.source == "documentation")
      assert.is_true(row.base_url == nil or row.base_urls == nil)
      if row.base_url then
        assert.is_truthy(is_local or row.base_url:find "^https://")
        assert.is_nil(row.base_url:find "/$")
        local variable = row.env[1]
        assert.is_truthy(variable:find "^[A-Z_]+_API_KEY$" or not by_key
          and (variable:find "^[A-Z_]+_TOKEN" or variable:find "^[A-Z_]+_CREDENTIALS$"), variable)
      end
    end)

    it(name .. " has embeddings at a path that the loopback provider serves, or none", function()
      local row = rows.load(name)
      local list = { row.embed }
      for _, facts in ipairs(row.embed and row.embed.models or {}) do
        list[#list + 1] = setmetatable({}, { __index = function(_, field)
          if facts[field] ~= nil then return facts[field] end
          return row.embed[field]
        end })
      end
      for _, facts in ipairs { row.embed, table.unpack(row.embed and row.embed.models or {}) } do
        for field in next, facts do assert.is_true(EMBED[field] or false, field) end
      end
      for _, facts in ipairs(list) do
        local base = facts.base_url or row.base_url or row.express_base_url
        local prefix = base and base:match "^https?://[^/]+(.*)$":gsub("{%w+}", "x") or "/v1"
        local model = facts.prefix or facts.model or "m"
        local dialect = embeddings.dialect(prefix .. facts.path:gsub("{model}", model), function(wire, before)
          return paths.serves(wire, before, {})
        end)
        assert.are.equal(facts.dialect, dialect)
        assert.is_function(require("koine.call.embed.dialects." .. dialect).render)
      end
    end)

    it(name .. " sends chats and counts to the paths of their wires", function()
      local row = rows.load(name)
      for key, fields in pairs(row.apis or { row }) do
        local adapter = koine[name] { model = "m", api = row.apis and key, base_url = "http://127.0.0.1:1" }
        local request = { model = "m", stream = true, messages = { { role = "user", content = "Hi." } } }
        -- Messages has its version in the path, but where the base URL has it.
        local on_vertex = (fields.quirks or {}).route == "raw_predict"
        local wire = on_vertex and "anthropic_vertex" or fields.codec
        local prefix = wire == "anthropic" and name ~= "llamacpp" and "/v1" or ""
        local function check_path(path, counts)
          local place, before = place_of(path:match "^[^?]*")
          assert.are.same({ wire, counts, prefix }, { place.wire, place.counts, before })
        end
        check_path(select(5, adapter:render(request)), false)
        local count_path = select(5, adapter:render(request, "count"))
        if count_path then check_path(count_path, true) end
        assert.are.equal(paths.endpoints[wire].count_path ~= nil, count_path ~= nil)
        if fields.counts then assert.is_string(count_path) end
        for codec, path in pairs { chat = "/chat/completions", responses = "/responses" } do
          assert.are.equal(path, (select(5, adapter:render(request, "chat", codec))))
        end
      end
    end)

    it(name .. " knows its models by distinct prefixes", function()
      local row, seen = rows.load(name), {}
      if row.models then assert.is_truthy(row.models_checked:find "^%d%d%d%d%-%d%d%-%d%d$") end
      for _, model in ipairs(row.models or {}) do
        for field in pairs(model) do assert.is_true(MODEL[field] or false, field) end
        assert.is_nil(seen[model.prefix])
        seen[model.prefix] = true
        assert.is_truthy(model.thinking == nil or set("budget", "adaptive", "effort", "level", "none")[model.thinking])
        for field, price in pairs(model.price or {}) do
          assert.is_true(PRICE[field])
          assert.is_true(price > 0)
        end
      end
    end)

    it(name .. " says what answers can be held to", function()
      local row = rows.load(name)
      if row.chat == false then return assert.is_table(row.embed) end
      local function check(quirks)
        assert.is_truthy(set("none", "object", "schema")[quirks.structured], "structured is not said")
        assert.is_true(quirks.structured == "schema" or not quirks.structured_strict)
        assert.is_truthy(not quirks.structured_strict or quirks.schema_dialect == "openai_strict")
        local dialect = quirks.schema_dialect
        assert.is_truthy(dialect == nil or dialects[dialect], dialect)
      end
      for key in pairs(row.apis or { [""] = true }) do
        check(rows.chosen(row, { api = row.apis and key }).quirks or {})
      end
    end)

    it(name .. " makes adapters with quirks that the core knows, for every model", function()
      local row = rows.load(name)
      local ids = { "some-model" }
      for _, model in ipairs(row.models or {}) do ids[#ids + 1] = model.prefix end
      for _, id in ipairs(ids) do
        local options = places(row)
        options.model = id
        local adapter = koine[name](options)
        assert.are.equal(id, adapter:model_name())
        assert.are.equal(row.title, adapter:provider_name())
        assert.are.equal(rows.model(row, id).context, adapter:max_context_tokens())
        adapter:close()
      end
    end)
  end

  it("may name every dialect of schemas, and no other", function()
    for dialect in pairs(dialects) do
      koine.compatible { model = "m", base_url = "http://127.0.0.1:1", quirks = { schema_dialect = dialect } }
    end
    assert.are.equal("quirks.schema_dialect", raised(koine.compatible, { model = "m", base_url = "http://127.0.0.1:1",
      quirks = { schema_dialect = "none" } }).field)
  end)

  it("know by model what its answers can be held to", function()
    for id, want in pairs {
      ["anthropic/claude-sonnet-4-5"] = "schema+", ["anthropic/claude-opus-4-1-20250805"] = "schema+",
      ["anthropic/claude-sonnet-4-20250514"] = "none+", ["anthropic/claude-3-5-haiku-latest"] = "none+",
      ["anthropic/claude-new-9"] = "schema+", ["vertex_claude/claude-sonnet-4-5@20250929"] = "none+",
      ["vertex_claude/claude-sonnet-4-6"] = "schema+",
      ["bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0"] = "schema+",
      ["bedrock/anthropic.claude-opus-4-8"] = "none+", ["bedrock/amazon.nova-pro-v1:0"] = "none+",
      ["openai/gpt-4o-2024-08-06"] = "schema+", ["openai/gpt-4o-2024-05-13"] = "object+",
      ["openai/gpt-4.1"] = "schema+",
      ["openai/gpt-4-turbo"] = "object+", ["openai/ft:gpt-4o-mini:x"] = "schema+", ["gemini/gemini-3-pro"] = "schema+",
      ["gemini/gemini-2.5-flash"] = "schema-", ["gemini/gemini-2.0-flash"] = "object-", ["vertex/gemini-9"] = "schema+",
      ["groq/openai/gpt-oss-20b"] = "schema-", ["groq/llama-3.3-70b"] = "object-", ["moonshot/kimi-k2"] = "schema+",
      ["llamacpp/m"] = "schema-", ["compatible/m"] = "none-", ["ollama/qwen3"] = "schema-",
    } do
      local name, model = id:match "^([^/]+)/(.+)$"
      local options = places(rows.load(name))
      options.model = model
      local quirks = core.state(koine[name](options)).quirks
      assert.are.equal(want, quirks.structured .. (quirks.structured_tools and "+" or "-"), id)
    end
  end)

  it("have distinct ranks", function()
    local seen = {}
    for _, name in ipairs(rows.names) do
      local rank = rows.load(name).rank
      assert.is_truthy(rank == nil or math.type(rank) == "integer" and rank > 0 and not seen[rank], name)
      if rank then seen[rank] = true end
    end
  end)

  it("are exactly the constructors of the public module", function()
    local names = {}
    for _, path in ipairs(files.below("lua/koine/provider/rows", ".lua")) do
      names[#names + 1] = path:match "([^/]+)%.lua$"
    end
    table.sort(names)
    assert.are.same(names, rows.names)
    assert.is_true(#names >= 19)
    for _, name in ipairs(names) do assert.is_function(koine[name]) end
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
    assert.are.equal("claude-sonnet-4-5", rows.model(row, "claude-sonnet-4-5-20250929").prefix)
    assert.are.equal("claude-sonnet-4", rows.model(row, "claude-sonnet-4-20250514").prefix)
    assert.are.equal("claude-sonnet-4-6", rows.model(row, "claude-sonnet-4-6").prefix)
    assert.are.equal("claude-opus-5-5", rows.model(row, "claude-opus-5-5").prefix)
    assert.are.equal("claude-opus-5", rows.model(row, "claude-opus-5").prefix)
    assert.are.same({}, rows.model(row, "claude"))
    assert.are.equal("gpt-5-mini", rows.model(rows.load "openai", "gpt-5-mini-2025-08-07").prefix)
    assert.are.equal("gemini-2.5-pro", rows.model(rows.load "gemini", "models/gemini-2.5-pro").prefix)
    assert.are.same({}, rows.model(rows.load "gemini", "tunedModels/gemini-2.5-pro"))
  end)
end)
describe("a price", function()
  local function price(row, id) return rows.pricing(rows.family(row, id)) end

  for _, name in ipairs(rows.names) do
    it("of " .. name .. " is that of a model and its dated versions, of no other model that begins the same", function()
      local row = rows.load(name)
      local own = {}
      for _, model in ipairs(row.models or {}) do own[model.prefix] = true end
      for _, model in ipairs(row.models or {}) do
        local id, expected = model.prefix, rows.pricing(model)
        assert.are.same(expected, price(row, id))
        for _, date in ipairs { "-2025-08-07", "-20250807", "@20250807", "@2025-08-07" } do
          assert.are.same(expected, price(row, id .. date), id .. date)
        end
        for _, other in ipairs { "-pro", "-mini-2", "-latest", "x", "-", "@", "@latest", "-2025", "-0807", "-20251399",
          "-2025-08-07-preview", "-20250807x", ".1" } do
          if not own[id .. other] then assert.is_nil(price(row, id .. other), id .. other) end
        end
        if model.price and name == "anthropic" then
          assert.are.equal(2 * model.price.input, model.price.cache_write_1h)
          assert.is_number(model.price.cache_write)
        end
      end
    end)
  end

  it("is not that of the family's cheapest", function()
    local openai, claude = rows.load "openai", rows.load "anthropic"
    for _, id in ipairs { "gpt-5-pro", "gpt-5-codex", "gpt-5.2-pro", "o3-pro", "o3-deep-research", "o1-pro", "o1-mini",
      "gpt-4o-audio-preview", "gpt-4o-mini-realtime-preview", "gpt-4.1-2025", "gpt-5-chat" } do
      assert.is_nil(price(openai, id), id)
      assert.is_number(rows.model(openai, id).context) -- what else is known of the family still holds
    end
    assert.are.equal(5, price(openai, "gpt-4o-2024-05-13").input_per_mtok)
    assert.are.equal(2.5, price(openai, "gpt-4o-2024-11-20").input_per_mtok)
    assert.are.equal(15, price(claude, "claude-opus-4-1-20250805").input_per_mtok)
    assert.are.equal(5, price(claude, "claude-opus-4-5@20251101").input_per_mtok)
    assert.is_nil(price(claude, "claude-opus-4-9"))
    assert.is_nil(price(claude, "claude-sonnet-4-5-latest"))
  end)
end)