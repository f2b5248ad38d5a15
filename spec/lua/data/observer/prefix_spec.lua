-- Whether the body of a request begins as the one before it.

local core = require "koine.core"
local prefix = require "koine.data.observer.prefix"

describe("a request's beginning", function()
  local function changed(before, now)
    local turns = {}
    assert.is_nil(prefix.changed(turns, "k", core.encode(before)))
    return prefix.changed(turns, "k", core.encode(now))
  end

  local function said(...)
    local list = {}
    for i, words in ipairs { ... } do list[i] = { role = "user", content = { { type = "text", text = words } } } end
    return list
  end

  it("goes on where messages are added, and blocks to the last one", function()
    assert.is_nil(changed({ messages = said("a") }, { messages = said("a", "b"), temperature = 1 }))
    local grown = said("a", "b")
    table.insert(grown[2].content, { type = "text", text = "c" })
    assert.is_nil(changed({ messages = said("a", "b") }, { messages = grown }))
    local first = said("a", "b")
    table.insert(first[1].content, { type = "text", text = "c" })
    assert.are.equal("messages[1].content[2]", changed({ messages = said("a", "b") }, { messages = first }))
  end)

  it("does not where something is changed, missing or other than before", function()
    assert.are.equal("messages[2].content[1].text",
      changed({ messages = said("a", "b") }, { messages = said("a", "x") }))
    assert.are.equal("messages[2]", changed({ messages = said("a", "b") }, { messages = said("a") }))
    assert.are.equal("tools[1].name", changed({ tools = { { name = "a" } }, messages = said("a") },
      { tools = { { name = "b" } }, messages = said("x") }))
    assert.are.equal("tools[2]",
      changed({ tools = { { name = "a" } } }, { tools = { { name = "a" }, { name = "b" } } }))
    assert.are.equal("system", changed({ messages = said("a") }, { system = "s", messages = said("a") }))
    assert.are.equal("model", changed({ model = "a" }, { model = "b" }))
  end)

  it("is compared without the marks of caches", function()
    local before, now = said("a"), said("a", "b")
    before[1].content[1].cache_control = { type = "ephemeral" }
    now[2].content[1].cache_control = { type = "ephemeral" }
    assert.is_nil(changed({ messages = before }, { messages = now }))
    before, now = said("a"), said("a", "b")
    table.insert(before[1].content, { cachePoint = { type = "default" } })
    table.insert(now[2].content, { cachePoint = { type = "default" } })
    assert.is_nil(changed({ messages = before }, { messages = now }))
  end)

  it("is kept of the last conversations alone, and not where it is large", function()
    local turns, body = {}, core.encode { messages = said("a") }
    for i = 1, 100 do prefix.changed(turns, "k" .. i, body) end
    assert.are.equal(16, #turns)
    assert.is_nil(turns.k1)
    assert.are.equal("messages[1].content[1].text", prefix.changed(turns, "k100", core.encode { messages = said("b") }))
    assert.is_nil(prefix.changed(turns, "k100", core.encode { messages = said(("x"):rep(1 << 20)) }))
    assert.is_nil(turns.k100)
    assert.are.equal(15, #turns)
  end)
end)
