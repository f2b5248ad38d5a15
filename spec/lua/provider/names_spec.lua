-- The names in `require "koine"`: the providers, and everything else.

local core = require "koine.core"
local koine = require "koine"
local places = require "spec.lua.provider.places"
local raised = require "spec.support.raised"
local rows = require "koine.provider"

describe("providers", function()
  it("have the names of OpenTelemetry's conventions, else their own", function()
    local names = { anthropic = "anthropic", openai = "openai", azure = "azure.ai.openai", deepseek = "deepseek",
      groq = "groq", mistral = "mistral_ai", moonshot = "moonshot_ai", perplexity = "perplexity", xai = "x_ai",
      gemini = "gcp.gemini", vertex = "gcp.vertex_ai", vertex_claude = "gcp.vertex_ai", bedrock = "aws.bedrock",
      bedrock_claude = "aws.bedrock", bedrock_openai = "aws.bedrock", ollama = "ollama", unheard_of = "unheard_of" }
    for row, name in pairs(names) do assert.are.equal(name, rows.telemetry(row)) end
  end)

  it("alone have such names; others are nil", function()
    for _, name in ipairs { "antropic", "nonsense", "Gemini", "" } do assert.is_nil(koine[name]) end
    assert.is_nil(koine[1])
    assert.are.equal("ArgumentError", raised(koine.adapter, "nonsense/m").class)
  end)

  it("are listed with what a program wants to know of them", function()
    local list, by_name = koine.providers(), {}
    for i, one in ipairs(list) do
      assert.are.equal(rows.names[i], one.name)
      by_name[one.name] = one
    end
    assert.are.equal(#rows.names, #list)
    assert.are.same({ name = "copilot", title = "GitHub Copilot", env = { "GH_COPILOT_TOKEN" },
      default_model = "gpt-4.1", base_url = "https://api.githubcopilot.com", login = true, embeds = true },
      by_name.copilot)
    assert.are.same({ name = "compatible", title = "Compatible server", env = {}, key_optional = true,
      embeds = true },
      by_name.compatible)
    assert.are.same({ 1, 2 }, { by_name.anthropic.rank, by_name.openai.rank })
    by_name.copilot.env[1] = "changed"
    assert.are.equal("GH_COPILOT_TOKEN", rows.load("copilot").env[1])
  end)

  it("with a usual model need none named, the others do", function()
    for _, one in ipairs(koine.providers()) do
      local options = places(rows.load(one.name))
      if one.default_model then
        assert.are.equal(one.default_model, koine[one.name](options):model_name())
        assert.are.equal(one.default_model, koine.adapter(one.name, options):model_name())
        options.model = "m"
        assert.are.equal("m", koine[one.name](options):model_name())
        options.model = nil
      else
        assert.are.equal("model", raised(koine[one.name], options).field)
      end
      assert.are.equal("model", raised(koine[one.name], { model = "", base_url = options.base_url }).field)
    end
    assert.are.equal("gpt-4.1", koine.copilot({}):model_name())
  end)

  it("are named for a model that stands alone", function()
    for model, whole in pairs { ["gpt-4.1"] = "openai/gpt-4.1", ["gpt-5-mini"] = "openai/gpt-5-mini",
      ["claude-sonnet-4-5-20250929"] = "anthropic/claude-sonnet-4-5-20250929", ["grok-4"] = "xai/grok-4",
      ["deepseek-chat"] = "deepseek/deepseek-chat", ["claude-opus-4.7"] = "copilot/claude-opus-4.7",
      ["gemini-3.5-flash"] = "gemini/gemini-3.5-flash" } do
      local err = raised(koine.adapter, model)
      assert.are.same({ "ArgumentError", "name", whole }, { err.class, err.field, err.expected })
      assert.is_truthy(err.message:find(('did you mean "%s"?'):format(whole), 1, true), err.message)
      assert.are.equal(model, koine.adapter(whole, {}):model_name())
    end
    assert.is_nil(raised(koine.adapter, "llama-9").message:find("did you mean", 1, true))
  end)
end)

describe("pairs(koine)", function()
  it("goes over every public name, in order, with its value", function()
    local names, seen = {}, {}
    for name, value in pairs(koine) do
      names[#names + 1] = name
      seen[name] = true
      assert.are.equal(koine[name], value)
      assert.is_not_nil(value, name)
    end
    local sorted = table.move(names, 1, #names, 1, {})
    table.sort(sorted)
    assert.are.same(sorted, names)
    for _, name in ipairs { "anthropic", "compatible", "adapter", "agent", "tool", "run", "park", "text", "response",
      "testing", "errors", "null", "version", "providers", "try", "session", "executor", "dispatcher" } do
      assert.is_true(seen[name] or false, name)
    end
  end)

  it("leaves out what was not built in", function()
    local script = [[package.preload["koine.testing"], package.searchers[2] = nil, (function(find)
        return function(name) if name ~= "koine.testing" then return find(name) end end
      end)(package.searchers[2])
      local names = {}
      for name in pairs(require "koine") do names[name] = true end
      assert(names.agent and names.tool and not names.testing)]]
    assert.is_true((os.execute(("LUA_PATH='%s' LUA_CPATH='%s' %s -e '%s'"):format(package.path, package.cpath,
      os.getenv "KOINE_LUA" or "lua5.4", script))))
  end)
end)

describe("koine", function()
  it("loads the rest on first use", function()
    assert.are.equal(core.null, koine.null)
    assert.are.equal(core.array_mt, getmetatable(koine.array {}))
    assert.truthy(koine.version:find "^%d+%.%d+%.%d+$")
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