-- Conversations in which some answers have a shape: the history stays legal over turns, tools and providers.

local core = require "koine.core"
local kit = require("spec.lua.call.output.kit").new()
local koine = require "koine"
local raised = require "spec.support.raised"

local ADA = kit.ADA
local CALL = { type = "tool_use", id = "call_1", name = "person", arguments = { name = "Ada", age = 36 } }
local LOOK = { type = "tool_use", id = "call_2", name = "look_up", arguments = {} }

local function wanted(mode, more)
  local output = { schema = kit.PERSON, name = "person", mode = mode }
  for name, value in pairs(more or {}) do output[name] = value end
  return { output = output }
end

-- An adapter for each wire.
local ADAPTERS = {
  messages = kit.claude, chat = kit.gpt,
  responses = function() return kit.gpt { api = "responses" } end,
  gemini = function()
    return koine.gemini { model = "gemini-3-flash-preview", base_url = kit.server.url .. "/v1beta", key = "test-key-1" }
  end,
  ollama = function() return koine.ollama { model = "m", base_url = kit.server.url } end,
}
local WIRES = { "messages", "chat", "responses", "gemini", "ollama" }

describe("a conversation", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local function nothing_wrong()
    for i, request in ipairs(kit.requests()) do assert.are.same({}, request.problems, "request " .. i) end
  end

  local function roles(talk)
    local list = {}
    for i, message in ipairs(talk.history) do list[i] = message.role:sub(1, 1) end
    return table.concat(list)
  end

  it("takes the options of one exchange, beside its own", function()
    kit.server:script { { content = ADA }, { content = "Yes." } }
    local talk = koine.conversation(kit.gpt(), { system = "Be brief.", max_tokens = 99 })
    local r = assert(talk:ask("Who?", wanted "native"))
    assert.are.equal("Ada", r.output.name)
    r = assert(talk:ask("Sure?", { max_tokens = 7 }))
    assert.is_nil(r.output_mode)
    local first, second = kit.body(1), kit.body(2)
    assert.are.same({ 99, 7 }, { first.max_completion_tokens, second.max_completion_tokens })
    assert.are.equal("Be brief.", second.messages[1].content)
    assert.is_nil(second.response_format)
    assert.are.equal("uaua", roles(talk))
    assert.is_nil(talk.opts.output)
  end)

  it("hands deltas to the function among those options", function()
    kit.server:script { { content = ADA, chunk = 4 } }
    local talk, last = koine.conversation(kit.gpt()), nil
    local opts = wanted "native"
    opts.on_delta = function(delta) last = delta.type == "output_delta" and delta.value or last end
    assert(talk:ask("Who?", opts))
    assert.are.same({ name = "Ada", age = 36 }, last)
  end)

  it("raises for options that there are not, and keeps its history", function()
    local talk = koine.conversation(kit.gpt())
    assert.are.equal("otput", raised(function() talk:ask("Who?", { otput = {} }) end).field)
    assert.are.equal("on_delta", raised(function() talk:ask("Who?", 5) end).field)
    assert.are.equal("", roles(talk))
  end)

  for _, wire in ipairs(WIRES) do
    it("stays legal over values by native field, by tool and in words, and over answers without: " .. wire, function()
      local talk = koine.conversation(ADAPTERS[wire]())
      kit.server:script { { content = ADA }, { content = "Hm." }, { content = { CALL } }, { content = "Well." },
        { content = ADA }, { content = "Bye." } }
      for _, mode in ipairs { "native", "tool", "prompt" } do
        assert.are.equal("Ada", assert(talk:ask("Who?", wanted(mode))).output.name)
        assert(talk:ask "Sure?")
      end
      nothing_wrong()
      assert.are.equal("uauauauauaua", roles(talk))
    end)

    it("has one answer in its history where there were several rounds: " .. wire, function()
      local talk = koine.conversation(ADAPTERS[wire]())
      local wrong = { type = "tool_use", id = "call_9", name = "person", arguments = { name = "Ada" } }
      kit.server:script { { content = { wrong } }, { content = { CALL } }, { content = "Yes." } }
      local r = assert(talk:ask("Who?", wanted("tool", { repair = 1 })))
      assert.are.equal(36, r.output.age)
      assert(talk:ask "Sure?")
      nothing_wrong()
      assert.are.equal("uaua", roles(talk))
    end)

    it("goes on with tools of the caller's, and ends in the value: " .. wire, function()
      local talk = koine.conversation(ADAPTERS[wire](), { tools = { kit.LOOK_UP } })
      local opts = wanted "tool"
      kit.server:script { { content = { LOOK } }, { content = { CALL } }, { content = { LOOK, CALL } },
        { content = "Yes." } }
      local r = assert(talk:ask("Who?", opts))
      assert.are.equal(1, #r.tool_calls)
      r = assert(talk:results({ { tool_use_id = r.tool_calls[1].id, content = "36" } }, opts))
      assert.are.equal(36, r.output.age)
      r = assert(talk:ask("Again?", opts)) -- a call that is left undone
      assert.are.same({ 36, 1 }, { r.output.age, #r.tool_calls })
      assert(talk:ask "Sure?")
      nothing_wrong()
    end)
  end

  it("goes from provider to provider with its values", function()
    local talk = koine.conversation(kit.claude())
    for i, wire in ipairs { "messages", "chat", "gemini", "responses", "ollama", "messages" } do
      talk.adapter = ADAPTERS[wire]()
      local mode = i % 2 == 1 and "tool" or "native"
      kit.server:script { { content = mode == "tool" and { CALL } or ADA } }
      assert.are.equal("Ada", assert(talk:ask("Who?", wanted(mode))).output.name, wire)
    end
    nothing_wrong()
    local texts = {} -- what earlier answers said, in the last request
    for _, message in ipairs(kit.body(6).messages) do
      if message.role == "assistant" then texts[#texts + 1] = core.decode(message.content[1].text) end
    end
    assert.are.equal(5, #texts)
    for _, value in ipairs(texts) do assert.are.same({ name = "Ada", age = 36 }, value) end
  end)

  it("asks a fallback, whose second member may answer in its own way", function()
    local first, second = kit.claude { retry = false }, kit.gpt { retry = false }
    local talk = koine.conversation(koine.fallback { first, second }, { tools = { kit.LOOK_UP } })
    kit.server:script { { content = { LOOK } }, { error = { status = 529, message = "busy" } }, { content = ADA },
      { content = "Yes." } }
    local opts = wanted "native"
    local r = assert(talk:ask("Who?", opts))
    r = assert(talk:results({ { tool_use_id = r.tool_calls[1].id, content = "36" } }, opts))
    assert.are.same({ 36, "openai" }, { r.output.age, r.provider })
    assert(talk:ask "Sure?")
    nothing_wrong()
  end)

  it("survives a dump with a value that came as a call", function()
    kit.server:script { { content = { LOOK, CALL } }, { content = "Yes." } }
    local talk = koine.conversation(kit.claude(), { tools = { kit.LOOK_UP } })
    assert(talk:ask("Who?", wanted "tool"))
    local text = core.encode(talk:dump())
    talk = koine.conversation.load(kit.gpt(), core.decode(text), { tools = { kit.LOOK_UP } })
    assert(talk:ask "Sure?")
    nothing_wrong()
  end)
end)
