-- Claude on other providers' servers: addresses, keys, what is known of the models.

local core = require "koine.core"
local koine = require "koine"
local raised = require "spec.support.raised"
local rows = require "koine.provider"

-- f with this variable, or without it where the value is nil.
local function with_variable(name, value, f)
  local getenv = os.getenv
  os.getenv = function(wanted) -- luacheck: ignore
    if wanted == name then return value end
    return getenv(wanted)
  end
  local results = table.pack(pcall(f))
  os.getenv = getenv -- luacheck: ignore
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

describe("Claude on Azure", function()
  local server

  setup(function() server = assert(koine.testing.start()) end)
  teardown(function() server:stop() end)
  before_each(function()
    assert(server:reset())
    assert(server:script "echo")
  end)

  local VARIABLE = "ANTHROPIC_FOUNDRY_RESOURCE"

  local function address(given, variable)
    given.model = "claude-sonnet-4-5"
    return with_variable(VARIABLE, variable, function() return core.state(koine.azure_claude(given)).base_url end)
  end

  it("is at the resource of the option, else of the variable", function()
    assert.are.equal("https://ours.services.ai.azure.com/anthropic", address { resource = "ours" })
    assert.are.equal("https://ours.services.ai.azure.com/anthropic", address({ resource = "ours" }, "theirs"))
    assert.are.equal("https://theirs-2.services.ai.azure.com/anthropic", address({}, "theirs-2"))
    assert.are.equal("http://127.0.0.1:1/x", address({ base_url = "http://127.0.0.1:1/x" }, "theirs"))
  end)

  it("needs a resource, and refuses what is none", function()
    for _, variable in ipairs { false, "" } do
      local err = raised(address, {}, variable or nil)
      assert.are.equal("resource", err.field)
      assert.is_truthy(err.message:find(VARIABLE, 1, true))
    end
    for _, bad in ipairs { "evil.example/", "a.b", "a b", "a@b" } do
      assert.are.equal("resource", raised(address, { resource = bad }).field)
      assert.are.equal("resource", raised(address, {}, bad).field)
    end
  end)

  it("takes a key, or a token of Entra ID", function()
    local asked = 0
    local function token()
      asked = asked + 1
      return "token-" .. asked
    end
    local options = { model = "ours", base_url = server.url .. "/anthropic", key = "the-key" }
    assert(koine.azure_claude(options):chat "Hi")
    options.auth, options.key = "bearer", token
    local adapter = koine.azure_claude(options)
    for _ = 1, 2 do assert(adapter:chat "Hi") end
    assert.is_true(assert(adapter:count_tokens "Hi") > 0)
    local sent = assert(server:requests())
    for _, request in ipairs(sent) do assert.are.same({}, request.problems) end
    assert.are.same({ "/anthropic/v1/messages", "the-key" }, { sent[1].path, sent[1].headers["x-api-key"] })
    assert.are.same({ "Bearer token-1", "Bearer token-2" }, { sent[2].headers.authorization,
      sent[3].headers.authorization })
    assert.is_nil(sent[2].headers["x-api-key"])
    assert.are.equal("/anthropic/v1/messages/count_tokens", sent[4].path)
  end)
end)

describe("Claude's models elsewhere", function()
  it("are Anthropic's, without its prices", function()
    local own = rows.load "anthropic"
    for _, name in ipairs { "azure_claude", "bedrock_claude" } do
      local row = rows.load(name)
      assert.are.equal(#own.models, #row.models)
      for _, known in ipairs(own.models) do
        local found = rows.model(row, known.prefix)
        assert.are.same({ known.prefix, known.context, known.max_output, known.thinking },
          { found.prefix, found.context, found.max_output, found.thinking })
        assert.is_nil(rows.pricing(rows.family(row, known.prefix)))
      end
    end
    assert.is_truthy(rows.pricing(rows.family(own, own.models[1].prefix)))
  end)
end)
