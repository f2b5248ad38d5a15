-- The contract itself: adapters that break it are found out. Each saboteur is a playbook with one defect; the items are
-- collected with a stub of busted, run, and the ones that have to fail are looked for among the failures.

local custom_adapter = require "koine.call.custom_adapter"
local contract = require "koine.testing.contract"
local core = require "koine.core"
local errors = require "koine.data.errors"
local find_saboteurs = require "spec.lua.testing.contract.kit.find_saboteurs"
local on_playbook = require "spec.lua.testing.contract.kit.on_playbook"
local records = require "koine.data.records"
local raised = require "spec.support.raised"

-- The answers of a playbook: a primitive for koine.custom_adapter that passes everything on to it.
local function passing_on(book)
  return function(_, messages, opts)
    local model = opts.model
    opts.model = nil
    local stream, err = book:open(messages, opts)
    opts.model = model
    return stream, err
  end
end

-- The numbers of the items that `sabotage(adapter, book)` makes fail, how many items there are, and what all those that
-- fail say, in one text.
local function failures(sabotage, supports)
  local on, items = on_playbook(), {}
  contract.describe("sabotaged", {
    describe = function(_, body) body() end,
    it = function(name, test) items[#items + 1] = { name = name, test = test } end,
    assert = assert, teardown = function(after) items.after = after end,
    new = function(opts)
      local book = on.book()
      opts = records.to_table(opts or {})
      opts.model = "m"
      local adapter = custom_adapter { name = "Sabotaged", options = opts, open = passing_on(book) }
      sabotage(adapter, book)
      return adapter
    end,
    script = on.script, requests = on.requests,
    supports = supports or { errors = true, signatures = true, blocks = true },
  })
  local failed, said = {}, {}
  for _, item in ipairs(items) do
    local ok, err = pcall(item.test)
    if not ok then
      failed[math.tointeger(tonumber(item.name:match "^%d+"))] = item.name
      said[#said + 1] = item.name .. ": " .. tostring(type(err) == "table" and err.message or err)
    end
  end
  items.after()
  return failed, #items, table.concat(said, "\n")
end

-- chat whose Response is changed: change(fields, deltas) gets the fields of a new one.
local function changed_response(adapter, change)
  local chat = adapter.chat
  function adapter:chat(messages, opts)
    local response, err = chat(self, messages, opts)
    if not response then return nil, err end
    local fields = response:to_table()
    fields.tool_calls = nil
    change(fields, opts)
    return core.response(fields)
  end
end

-- chat whose messages are changed: change(block, message) gives the block to send, nil for none.
local function changed_blocks(adapter, change)
  local chat = adapter.chat
  function adapter:chat(messages, opts)
    local sent = type(messages) == "table" and records.to_table(messages) or messages
    for _, message in ipairs(type(sent) == "table" and sent or {}) do
      local kept = {}
      for _, block in ipairs(type(message.content) == "table" and message.content or {}) do
        kept[#kept + 1] = change(block, message)
      end
      if type(message.content) == "table" and #message.content > 0 then message.content = kept end
    end
    return chat(self, sent, opts)
  end
end

local SABOTEURS = {
  { "nothing", {}, function() end },
  { "text lost from the answer", { 1, 4, 18 }, function(adapter)
    changed_response(adapter, function(fields)
      for _, block in ipairs(fields.content) do if block.type == "text" then block.text = "x" end end
    end)
  end },
  { "tool calls lost from content", { 2, 3, 4, 17, 18 }, function(adapter)
    changed_response(adapter, function(fields)
      local kept = core.array {}
      for _, block in ipairs(fields.content) do if block.type ~= "tool_use" then kept[#kept + 1] = block end end
      fields.content, fields.stop_reason = kept, "end_turn"
    end)
  end },
  { "other ids in the answer", { 2, 17, 18 }, function(adapter)
    changed_response(adapter, function(fields)
      for _, block in ipairs(fields.content) do if block.id then block.id = block.id .. "x" end end
    end)
  end },
  { "a stop reason for everything", { 2, 6, 7 }, function(adapter)
    changed_response(adapter, function(fields) fields.stop_reason = "end_turn" end)
  end },
  { "no usage", { 1, 19 }, function(adapter)
    changed_response(adapter, function(fields) fields.usage = { input_tokens = 1, output_tokens = 1 } end)
  end },
  { "another usage when streaming", { 18 }, function(adapter)
    changed_response(adapter, function(fields, opts)
      if opts and opts.stream then fields.usage.output_tokens = fields.usage.output_tokens + 1 end
    end)
  end },
  { "an empty answer filled up", { 5 }, function(adapter)
    changed_response(adapter, function(fields)
      if #fields.content == 0 then fields.content = "…" end
    end)
  end },
  { "calls in another order", { 3, 18 }, function(adapter)
    changed_response(adapter, function(fields)
      table.sort(fields.content, function(a, b) return (a.name or "") > (b.name or "") end)
    end)
  end },
  { "signatures lost", { 17 }, function(adapter)
    changed_response(adapter, function(fields)
      for _, block in ipairs(fields.content) do block.signature = nil end
    end)
  end },
  { "deltas without ends", { 18, 19 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local all, on_delta = records.to_table(opts or {}), (opts or {}).on_delta
      all.on_delta = on_delta and function(delta) if not delta.type:find "end$" then on_delta(delta) end end
      return chat(self, messages, all)
    end
  end },
  { "system and tools never sent", { 8, 10 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local all = {}
      for name, value in pairs(opts or {}) do all[name] = value end
      all.system, all.tools, all.tool_choice = nil, nil, nil
      return chat(self, messages, all)
    end
  end },
  { "constructor's options forgotten", { 9, 15 }, function(adapter, book)
    function adapter:chat(messages, opts) return book:chat(messages, opts) end -- luacheck: no unused
  end },
  { "messages dropped", { 11, 12, 13, 14 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts) -- luacheck: no unused
      if type(messages) == "table" and #messages > 0 then core.check { messages = messages, model = "m" } end
      return chat(self, "dropped", opts)
    end
  end },
  { "images lost", { 14 }, function(adapter)
    changed_blocks(adapter, function(block) return block.type ~= "image" and block or nil end)
  end },
  { "failed results told as good ones", { 11 }, function(adapter)
    changed_blocks(adapter, function(block)
      if block.type == "tool_result" then block.is_error = nil end
      return block
    end)
  end },
  { "text beside calls lost on the way out", { 12 }, function(adapter)
    changed_blocks(adapter, function(block, message)
      if block.type == "text" and message.role == "assistant" then return nil end
      return block
    end)
  end },
  { "thinking checked after the request", { 15 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      if opts and opts.thinking == "extreme" then chat(self, messages) end
      return chat(self, messages, opts)
    end
  end },
  { "an option refused", { 16 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      if opts and opts.limits then error(errors.new { kind = "argument", message = "no limits" }) end
      return chat(self, messages, opts)
    end
  end },
  { "anything accepted as an option", { 15, 16 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local all = {}
      for name, value in pairs(opts or {}) do all[name] = value end
      all.max_token = nil
      if all.thinking == "extreme" then all.thinking = nil end
      return chat(self, messages, all)
    end
  end },
  { "the caller's tables changed", { 24 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      if type(messages) == "table" then
        for _, message in ipairs(messages) do message.seen = true end
      end
      return chat(self, messages, opts)
    end
  end },
  { "errors of one class", { 20, 21 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local response, err = chat(self, messages, opts)
      if err then err.class = "Error" end
      return response, err
    end
  end },
  { "no partial", { 21 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local response, err = chat(self, messages, opts)
      if err then err.partial = nil end
      return response, err
    end
  end },
  { "the consumer's errors swallowed", { 25 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local all = {}
      for name, value in pairs(opts or {}) do all[name] = value end
      if all.on_delta then all.on_delta = function(delta) pcall(opts.on_delta, delta) end end
      return chat(self, messages, all)
    end
  end },
  { "no name", { 22 }, function(adapter) adapter.provider_name = function() return "" end end },
  { "half a model", { 22 }, function(adapter) adapter.list_models = function() return { { id = "m" } } end end },
  { "an unsure login", { 23 }, function(adapter) adapter.authenticated = function() return "yes" end end },
  { "values that nobody judges", { 27 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local response, err = chat(self, messages, opts)
      if response and response.output_error then
        core.annotate(response, "output", core.decode(response:text()))
        core.annotate(response, "output_error", nil)
      end
      return response, err
    end
  end },
  { "no value that grows", { 27 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local all, on_delta = {}, (opts or {}).on_delta
      for name, value in pairs(opts or {}) do all[name] = value end
      all.on_delta = on_delta and function(delta) if delta.type ~= "output_delta" then on_delta(delta) end end
      return chat(self, messages, all)
    end
  end },
  { "repairs that nobody wished", { 27 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local all = {}
      for name, value in pairs(opts or {}) do all[name] = value end
      if all.output and all.output.repair == nil then all.output.repair = 1 end
      return chat(self, messages, all)
    end
  end },
  { "the shape forgotten", { 27 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local all = {}
      for name, value in pairs(opts or {}) do all[name] = value end
      all.output = nil
      return chat(self, messages, all)
    end
  end },
  { "answers that nobody scripted", { 26 }, function(adapter)
    local chat = adapter.chat
    function adapter:chat(messages, opts)
      local ok, response, err = pcall(chat, self, messages, opts)
      if ok then return response, err end
      if response.class ~= "PlaybookExhaustedError" then error(response, 0) end
      return core.response { content = "made up", model = "m", stop_reason = "end_turn", usage = {} }
    end
  end },
}

describe("the contract", function()
  find_saboteurs(it, SABOTEURS, failures, 113)

  it("names the rule and the field of what fails", function()
    for field, sabotage in pairs {
      ["provider_name(): not empty"] = function(adapter) adapter.provider_name = function() return "" end end,
      ["authenticated() after authenticate(): true"] = function(adapter)
        adapter.authenticated = function() return "yes" end
      end,
      ["model_info.more: one of the fields"] = function(adapter)
        adapter.list_models = function() return { { id = "m", name = "m", max_context_tokens = 0,
          supports_vision = false, supports_tool_use = true, supports_streaming = true, more = 1 } } end
      end,
      ["response.stop_reason"] = function(adapter)
        changed_response(adapter, function(fields) fields.stop_reason = "pause_turn" end)
      end,
      ["response.usage.output_tokens"] = function(adapter)
        changed_response(adapter, function(fields) fields.usage.output_tokens = 0 end)
      end,
      ["thinking: the constructor's"] = function(adapter)
        local chat = adapter.chat
        function adapter:chat(messages, opts)
          local all = records.to_table(opts or {})
          if all.thinking == nil then all.thinking = "medium" end
          return chat(self, messages, all)
        end
      end,
    } do
      local _, _, said = failures(sabotage)
      assert.is_truthy(said:find("%d+%. [^\n]*: [^\n]*" .. field:gsub("%p", "%%%0")), field .. " is not in: " .. said)
    end
  end)

  it("leaves out what an adapter cannot do", function()
    local _, all = failures(function() end)
    local _, fewer = failures(function() end, { errors = false, thinking = false, thinking_option = false,
      refusal = false, sensitive = false })
    assert.is_true(fewer < all - 30, ("%d of %d"):format(fewer, all))
  end)

  it("names what is missing or unknown in its own arguments", function()
    local function field(spec) return raised.as("ArgumentError", contract.describe, "x", spec).field end
    local function nothing() end
    assert.are.equal("contract", field(5))
    assert.are.equal("contract.new", field { script = nothing })
    assert.are.equal("contract.script", field { new = nothing })
    assert.are.equal("contract.requests", field { new = nothing, script = nothing, requests = 5 })
    assert.are.equal("contract.embed", field { new = nothing, script = nothing, embed = true })
    assert.are.equal("contract.supports.flying",
      field { new = nothing, script = nothing, supports = { flying = true } })
    assert.are.equal("contract.supports.errors",
      field { new = nothing, script = nothing, supports = { errors = "yes" } })
    assert.are.equal("contract.describe", field { new = nothing, script = nothing })
  end)
end)
