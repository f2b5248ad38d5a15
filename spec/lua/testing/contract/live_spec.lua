-- The contract without a script: a server that answers as it likes, here the loopback provider that echoes; and
-- adapters that break it, which are found out.

local custom_adapter = require "koine.call.custom_adapter"
local core = require "koine.core"
local find_saboteurs = require "spec.lua.testing.contract.kit.find_saboteurs"
local free_port = require "spec.support.free_port"
local koine = require "koine"
local raised = require "spec.support.raised"

local contract = koine.testing.contract

local server

-- Options over options; the adapter of a constructor.
local function made(construct, ...)
  local all = {}
  for i = 1, select("#", ...) do
    for name, value in pairs((select(i, ...)) or {}) do all[name] = value end
  end
  return construct(all)
end

local WIRES = {
  { "koine.anthropic", koine.anthropic, { model = "claude-sonnet-4-5" }, "" },
  { "koine.openai, Chat", koine.openai, { model = "gpt-4.1", api = "chat" }, "/v1" },
  { "koine.openai, Responses", koine.openai, { model = "gpt-5", api = "responses" }, "/v1" },
  { "koine.llamacpp", koine.llamacpp, { model = "m" }, "/v1" },
  { "koine.gemini", koine.gemini, { model = "gemini-3.5-flash" }, "/v1beta" },
  { "koine.gemini, 2.0", koine.gemini, { model = "gemini-2.0-flash" }, "/v1beta" },
  { "koine.bedrock", koine.bedrock, { model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0" }, "" },
  { "koine.ollama", koine.ollama, { model = "qwen3:4b" }, "" },
}

-- The spec of a live suite for one wire; `sabotage(adapter)` gives the adapter to judge.
local function suite(wire, more, sabotage)
  local function at(base_url)
    return function(opts)
      local adapter = made(wire[2], { key = "test-key", base_url = base_url() }, wire[3], opts)
      return sabotage and sabotage(adapter) or adapter
    end
  end
  local spec = { live = true, describe = describe, it = it, assert = assert, teardown = teardown,
    new = at(function() return server.url .. wire[4] end),
    refused = at(function() return server.url .. "/nowhere" end),
    unreachable = at(function() return "http://127.0.0.1:" .. free_port() end) }
  for name, value in pairs(more or {}) do spec[name] = value end
  return spec
end

setup(function()
  server = assert(koine.testing.start())
  assert(server:script "echo")
end)
teardown(function() server:stop() end)

for _, wire in ipairs(WIRES) do contract.describe("live, " .. wire[1], suite(wire)) end

-- The numbers of the items that a sabotaged adapter fails, and how many items there are.
local function failures(sabotage, more)
  local items, failed = {}, {}
  local stubs = { describe = function(_, body) body() end, teardown = function() error "nothing to undo" end,
    it = function(name, test) items[#items + 1] = { name = name, test = test } end }
  for name, value in pairs(more or {}) do stubs[name] = value end
  contract.describe("sabotaged", suite(WIRES[1], stubs, sabotage))
  for _, item in ipairs(items) do
    local ok, err = pcall(item.test)
    if not ok then failed[math.tointeger(tonumber(item.name:match "^%d+"))] = tostring(err and err.message or err) end
  end
  return failed, #items
end

-- An adapter with one method replaced: replace(method, self, messages, opts).
local function with_chat(replace)
  return function(adapter)
    local chat = adapter.chat
    return setmetatable({ chat = function(_, messages, opts) return replace(chat, adapter, messages, opts) end },
      { __index = function(_, name)
        local method = adapter[name]
        return type(method) == "function" and function(_, ...) return method(adapter, ...) end or method
      end })
  end
end

-- One whose Response is changed.
local function with_response(change)
  return with_chat(function(chat, adapter, messages, opts)
    local response, err = chat(adapter, messages, opts)
    if not response then return nil, err end
    local fields = response:to_table()
    fields.tool_calls = nil
    change(fields)
    return core.response(fields)
  end)
end

-- Options whose deltas pass through f, which returns them or nil.
local function with_deltas(f)
  return with_chat(function(chat, adapter, messages, opts)
    local all, on_delta = {}, opts and opts.on_delta
    for name, value in pairs(opts or {}) do all[name] = value end
    all.on_delta = on_delta and function(delta)
      if f(delta) then on_delta(delta) end
    end
    return chat(adapter, messages, all)
  end)
end

local SABOTEURS = {
  { "nothing", {}, function(adapter) return adapter end },
  { "no usage", { 1 }, with_response(function(fields) fields.usage = {} end) },
  { "a stop reason that nobody knows", { 1, 2, 17, 25 }, with_response(function(fields)
    fields.stop_reason = "stop"
  end) },
  { "text lost from the answer", { 1, 2, 17 }, with_response(function(fields) fields.content[1].text = "x" end) },
  { "deltas without ends", { 1, 2, 17 }, with_deltas(function(delta) return not delta.type:find "end$" end) },
  { "deltas without starts", { 1, 2, 17 }, with_deltas(function(delta) return not delta.type:find "start$" end) },
  { "errors raised as strings", { 20 }, with_chat(function(chat, adapter, messages, opts)
    local response, err = chat(adapter, messages, opts)
    return response, err and tostring(err)
  end) },
  { "the consumer's errors swallowed", { 25 }, with_deltas(function() return false end) },
  { "the caller's tables changed", { 24 }, with_chat(function(chat, adapter, messages, opts)
    if type(messages) == "table" then messages[1].seen = true end
    local response, err = chat(adapter, messages, opts)
    return response, err
  end) },
  { "an assistant's answer that cannot go back", { 17 }, with_chat(function(chat, adapter, messages, opts)
    local last = type(messages) == "table" and messages[2]
    if last then last.content = core.array {} end
    return chat(adapter, last and { messages[2] } or messages, opts)
  end) },
}

describe("the contract, live", function()
  find_saboteurs(it, SABOTEURS, failures, 25)

  it("plays tool calls back where the server makes some", function()
    local call = { type = "tool_use", name = "add", arguments = { a = 2, b = 3 } }
    local answers = {}
    for i = 1, 6 do answers[i] = { content = i % 3 == 0 and "It is 5." or { call } } end
    local items = {}
    contract.describe("calls", suite(WIRES[1], { describe = function(_, body) body() end,
      it = function(name, test) items[name] = test end }))
    for _, name in ipairs { "17. an answer goes back, with results for its calls (plain)",
      "17. an answer goes back, with results for its calls (streamed)" } do
      assert(server:reset())
      assert(server:script(answers))
      items[name]()
      assert.are.equal(3, #server:requests())
      assert.is_truthy(server:requests()[3].body:find('"tool_result"', 1, true))
    end
    assert(server:reset())
    assert(server:script "echo")
  end)

  it("keeps nothing from the network", function()
    local offline = koine.testing.offline
    koine.testing.offline = function() error "a live suite went offline" end
    local ok, failed = pcall(failures, SABOTEURS[1][3])
    koine.testing.offline = offline
    assert.is_true(ok, tostring(failed))
    assert.are.same({}, failed)
  end)

  it("leaves out what was not given and what the server cannot do", function()
    local _, all = failures(SABOTEURS[1][3])
    local _, fewer = failures(SABOTEURS[1][3], { supports = { tools = false } })
    assert.are.equal(all - 2, fewer)
  end)

  it("names what belongs to the other mode", function()
    local function nothing() end
    local function field(spec) return raised.as("ArgumentError", contract.describe, "x", spec).field end
    assert.are.equal("contract.live", field { live = "yes", new = nothing })
    assert.are.equal("contract.new", field { live = true })
    assert.are.equal("contract.script", field { live = true, new = nothing, script = nothing })
    assert.are.equal("contract.requests", field { live = true, new = nothing, requests = nothing })
    assert.are.equal("contract.refused", field { new = nothing, script = nothing, refused = nothing })
  end)

  it("judges adapters written in Lua too", function()
    local claude = koine.anthropic { model = "m", key = "k", base_url = server.url }
    local failed = failures(function()
      return custom_adapter { name = "Toy", options = { model = "m" }, open = function(_, messages, opts)
        opts.model = nil
        return claude:open(messages, opts)
      end }
    end)
    failed[20] = nil -- the adapter behind it is never refused
    assert.are.same({}, failed)
  end)
end)
