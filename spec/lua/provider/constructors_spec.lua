-- The ways to an adapter that name its provider in an option or not at all: koine.adapter, koine.compatible.

local core = require "koine.core"
local koine = require "koine"
local raised = require "spec.support.raised"

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