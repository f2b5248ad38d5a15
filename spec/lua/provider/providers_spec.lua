local core = require "koine.core"
local files = require "spec.support.files"
local koine = require "koine"
local rows = require "koine.provider"
local raised = require "spec.support.raised"

local function set(...)
  local known = {}
  for _, name in ipairs { ... } do known[name] = true end
  return known
end

local ROW = set("name", "title", "rank", "codec", "base_url", "base_urls", "list", "counts", "env", "auth",
  "key_optional", "default_model", "headers", "id_header", "quirks", "plain_max_tokens", "options", "api", "apis",
  "own_ids", "login", "models", "models_checked", "source", "says")
local MODEL = set("prefix", "context", "max_output", "thinking", "efforts", "vision", "price", "multiplier", "quirks")
-- What a chat goes to behind the base URL, and a count of its tokens.
local PATHS = { chat = { "/chat/completions" }, responses = { "/responses", "/responses/input_tokens" },
  anthropic = { "/v1/messages", "/v1/messages/count_tokens" } }
local UNVERSIONED = { "/messages", "/messages/count_tokens" }
local PRICE = set("input", "output", "cache_read", "cache_write", "cache_write_1h")

describe("provider rows", function()
  for _, name in ipairs(rows.names) do
    it(name .. " is well formed", function()
      local row = rows.load(name)
      for field in pairs(row) do assert.is_true(ROW[field] or false, field) end
      assert.are.equal(name, row.name)
      assert.is_string(row.title)
      local chosen = rows.chosen(row, {})
      assert.is_truthy(set("chat", "anthropic", "responses")[chosen.codec])
      assert.is_truthy(chosen.list == false or chosen.list:find "^/")
      local by_key = set("bearer", "x-api-key", "api-key", "none")[chosen.auth]
      if not by_key then assert.is_function(require("koine.provider.auth." .. chosen.auth).prepare) end
      local is_local = row.base_url and row.base_url:find "^http://127%.0%.0%.1:%d+" ~= nil or false
      assert.are.equal(is_local or not row.env, row.key_optional or false)
      assert.is_truthy(row.source == "recordings" or row.source == "documentation")
      assert.is_true(row.base_url == nil or row.base_urls == nil)
      if row.base_url then
        assert.is_truthy(is_local or row.base_url:find "^https://")
        assert.is_nil(row.base_url:find "/$")
        assert.is_truthy(row.env[1]:find(by_key and "^[A-Z_]+_API_KEY$" or "^[A-Z_]+_TOKEN$"))
      end
    end)

    it(name .. " sends chats and counts to the paths of their wires", function()
      local row = rows.load(name)
      for key, fields in pairs(row.apis or { row }) do
        local adapter = koine[name] { model = "m", api = row.apis and key, base_url = "http://127.0.0.1:1" }
        local request = { model = "m", stream = true, messages = { { role = "user", content = "Hi." } } }
        local paths = name == "llamacpp" and key == "anthropic" and UNVERSIONED or PATHS[fields.codec]
        assert.are.equal(paths[1], (select(5, adapter:render(request))))
        assert.are.equal(paths[2], (select(5, adapter:render(request, "count"))))
        if fields.counts then assert.is_string(paths[2]) end
        for _, codec in ipairs { "chat", "responses" } do
          assert.are.equal(PATHS[codec][1], (select(5, adapter:render(request, "chat", codec))))
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

describe("a row", function()
  local TOOL = { name = "add", description = "Adds.", parameters = { type = "object", additionalProperties = false } }
  local ID = "call_0123456789abcdef0123456789abcdef0123456789abcdef"
  local MARK = "reasoning-words"

  -- The body that an adapter sends for an answer with reasoning of its own and a call, decoded; and its warnings.
  local function sent(name, model, fields)
    local adapter = koine[name] { model = model, base_url = "http://127.0.0.1:1",
      api = name == "openai" and "chat" or nil }
    local state = core.state(adapter)
    local request = { model = model, stream = false, tools = { TOOL }, system = "s", max_tokens = 9000,
      thinking_mode = state.info.thinking, max_output = state.info.max_output, messages = {
        { role = "user", content = "q" },
        { role = "assistant", content = {
          { type = "thinking", thinking = MARK, provider_data = { provider = name, model = model } },
          { type = "tool_use", id = ID, name = "add", arguments = {} } } },
        { role = "user", content = { { type = "tool_result", tool_use_id = ID, content = "5" } } } } }
    for field, value in pairs(fields or {}) do request[field] = value end
    local body, _, warnings = adapter:render(request)
    return core.decode(body), warnings
  end

  -- The field of the assistant's message that holds the reasoning; nil when none does. The others are as on every wire.
  local function reasoning_field(body)
    local found
    for field, value in pairs(body.messages[3]) do
      if value == MARK then found = field end
      assert.is_truthy(value == MARK or set("role", "content", "tool_calls")[field], field)
    end
    return found
  end

  it("sends reasoning back where its provider wants it, and nowhere else", function()
    local expected = { deepseek = "reasoning_content", groq = "reasoning", cerebras = "reasoning", vllm = "reasoning",
      moonshot = "reasoning_content", llamacpp = "reasoning_content", ollama_compat = "reasoning",
      xai = "reasoning_content" }
    for _, name in ipairs { "deepseek", "groq", "cerebras", "vllm", "moonshot", "llamacpp", "ollama_compat", "xai",
      "openai", "azure", "fireworks", "together", "lmstudio", "perplexity", "compatible" } do
      assert.are.equal(expected[name], reasoning_field(sent(name, "m")), name)
    end
    assert.are.equal("thinking", sent("mistral", "m").messages[3].content[1].type)
  end)

  it("of DeepSeek sends reasoning back on every answer of V4, never on one of the older reasoner", function()
    local said = { { role = "user", content = "q" }, { role = "assistant", content = "a" },
      { role = "user", content = "r" } }
    assert.are.equal(MARK, sent("deepseek", "deepseek-v4-flash").messages[3].reasoning_content)
    assert.are.equal("", sent("deepseek", "deepseek-v4-flash", { messages = said }).messages[3].reasoning_content)
    assert.is_nil(sent("deepseek", "deepseek-reasoner").messages[3].reasoning_content)
  end)

  it("sends ids as its provider takes them", function()
    local function id(name)
      local body = sent(name, "m")
      local call = body.messages[3].tool_calls[1].id
      assert.are.equal(call, body.messages[4].tool_call_id)
      return call
    end
    for _, name in ipairs { "moonshot", "groq", "deepseek", "vllm", "compatible" } do
      assert.are.equal(ID, id(name), name)
    end
    for _, name in ipairs { "openai", "azure" } do assert.are.equal(40, #id(name), name) end
    assert.is_truthy(id("mistral"):find("^" .. ("%w"):rep(9) .. "$"))
  end)

  it("names things as its provider does", function()
    for name, field in pairs { openai = "max_completion_tokens", azure = "max_completion_tokens", groq = "max_tokens",
      deepseek = "max_tokens" } do
      assert.are.equal(9000, sent(name, "m")[field], name)
    end
    for model, role in pairs { ["gpt-5"] = "developer", o3 = "developer", ["gpt-4.1"] = "system",
      ["gpt-5-chat-latest"] = "system" } do
      assert.are.equal(role, sent("openai", model).messages[1].role, model)
    end
    assert.are.equal("any", sent("mistral", "m", { tool_choice = "any" }).tool_choice)
    assert.are.equal("required", sent("groq", "m", { tool_choice = "any" }).tool_choice)
    assert.are.equal("add", sent("mistral", "m").messages[4].name)
    assert.is_nil(sent("xai", "grok-4").tools[1]["function"].parameters.additionalProperties)
    assert.is_false(sent("openai", "m").tools[1]["function"].parameters.additionalProperties)
    for name, content in pairs { lmstudio = "", ollama_compat = "", openai = core.null, vllm = core.null } do
      assert.are.equal(content, sent(name, "m").messages[3].content, name)
    end
  end)

  it("of OpenAI takes tools on this wire without reasoning only, from gpt-5.4 on", function()
    assert.are.equal("none", sent("openai", "gpt-5.4").reasoning_effort)
    local body, warnings = sent("openai", "gpt-5.6", { thinking = "high" })
    assert.are.equal("none", body.reasoning_effort)
    assert.are.equal("thinking", warnings[1].field)
    assert.are.equal("high", sent("openai", "gpt-5.2", { thinking = "high" }).reasoning_effort)
  end)

  it("keeps what the model refuses out, with a warning each", function()
    local options = { temperature = 0.5, top_p = 0.5, stop_sequences = { "X" } }
    local expected = { ["gpt-4.1"] = "", ["gpt-5"] = "temperature top_p", ["o3"] = "temperature top_p stop_sequences" }
    for model, fields in pairs(expected) do
      local body, warnings = sent("openai", model, options)
      local warned = {}
      for i, warning in ipairs(warnings) do
        warned[i] = warning.field
        assert.is_nil(body[warning.field])
      end
      assert.are.equal(fields, table.concat(warned, " "), model)
    end
    assert.is_nil(sent("xai", "grok-4", options).stop)
  end)

  it("refuses media that its provider refuses", function()
    local function image(source) return { { role = "user", content = { { type = "image", source = source } } } } end
    for name, source in pairs { cerebras = "data:image/png;base64,QQ==", ollama_compat = "https://h/i.png" } do
      assert.are.equal("messages[1].content[1]", raised(sent, name, "m", { messages = image(source) }).field, name)
    end
    local part = sent("mistral", "m", { messages = image "https://h/i.png" }).messages[2].content[1]
    assert.are.equal("https://h/i.png", part.image_url)
  end)
end)

describe("thinking = false", function()
  -- What the call sends, and what it warns of.
  local function off(name, model)
    local server <close> = assert(koine.testing.start { script = { { content = "a" } } })
    local adapter = koine[name] { model = model, base_url = server.url, key = "k",
      api = name == "openai" and "chat" or nil }
    local response = assert(adapter:chat("Hi", { thinking = false, max_tokens = 10 }))
    local requests = assert(server:requests())
    return core.decode(requests[1].body), response.warnings
  end

  it("is said where the model has a word for it, and warned of where it thinks anyway", function()
    local body, warnings = off("openai", "gpt-5.1")
    assert.are.equal("none", body.reasoning_effort)
    assert.are.same({}, warnings)
    body, warnings = off("openai", "gpt-5")
    assert.is_nil(body.reasoning_effort)
    assert.are.equal("thinking", warnings[1].field)
    assert.are.same({}, select(2, off("openai", "gpt-4.1")))
    assert.are.same({}, select(2, off("anthropic", "claude-sonnet-4-5")))
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
    assert.are.equal("model", raised(koine.adapter, "together").field)
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
    assert.are.same({ "anthropic", "bearer" }, { row.codec, row.auth })
    row = core.state(koine.compatible { base_url = "http://h", model = "m", quirks = { null_content = "empty" } }).row
    assert.are.same({ "compatible", "chat" }, { row.name, row.codec })
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
    assert.are.equal(require "koine.data.errors", koine.errors)
    assert.are.equal(koine.errors.try, koine.try)
    assert.are.equal("text", koine.text({ text = "x" }).type)
    assert.are.equal("Hi", koine.response({ content = "Hi", model = "m", stop_reason = "end_turn" }):text())
    local modules = { conversation = "call.conversation", custom_adapter = "call.custom_adapter",
      packing = "dispatch.packing", pricing = "call.pricing", testing = "testing" }
    for name, module in pairs(modules) do assert.are.equal(require("koine." .. module), koine[name]) end
    for _, name in ipairs { "run", "spawn", "gather", "timeout", "sleep" } do
      assert.are.equal(require "koine.task.scheduler"[name], koine[name])
    end
    for _, name in ipairs { "set_host", "pump", "engine" } do
      assert.are.equal(require "koine.task.wait"[name], koine[name])
    end
    for _, name in ipairs { "playbook", "contract" } do
      assert.are.equal(require("koine.testing." .. name), koine.testing[name])
    end
    assert.is_nil(koine.nothing_of_the_sort)
    assert.is_nil(koine.testing.nothing_of_the_sort)
  end)
end)
