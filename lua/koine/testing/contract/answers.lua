--- Items 1–7, 18, 19: what answers look like, plain and streamed.

local agrees = require "koine.testing.contract.deltas"
local core = require "koine.core"
local records = require "koine.data.records"

local ADD = { type = "tool_use", id = "call_add_1", name = "add", arguments = { a = 2, b = 3 } }
local MUL = { type = "tool_use", id = "call_mul_2", name = "mul", arguments = { a = 4, b = 5, note = "é\"\\" } }
local TEXT = { type = "text", text = "Let me add these — né?" }
local USAGE = { input_tokens = 42, output_tokens = 7 }

-- The fields in which a streamed Response has to equal the plain one.
local FIELDS = { "content", "tool_calls", "model", "stop_reason", "raw_stop_reason", "stop_sequence", "usage",
  "container", "logprobs", "id", "provider", "status_code", "warnings", "partial", "degenerate" }

-- The same with every provider_data.raw decoded: a stream brings its members in fragments, in an order of its own.
local function comparable(value)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, member in pairs(value) do
    copy[key] = key == "raw" and type(member) == "string" and core.decode(member) or comparable(member)
  end
  return copy
end

-- Asserts the usage that USAGE scripts.
local function has_usage(kit, response)
  if kit.streamed and not kit.supports.stream_usage then return end
  kit.assert.are.equal(USAGE.input_tokens, response.usage.input_tokens, "response.usage.input_tokens")
  kit.assert.are.equal(USAGE.output_tokens, response.usage.output_tokens, "response.usage.output_tokens")
end

-- Asserts the tool calls of a Response: in content and in tool_calls the same tables, ids and arguments as scripted.
local function has_calls(kit, response, ...)
  local assert, wanted = kit.assert, { ... }
  assert.are.equal(#wanted, #response.tool_calls, "#response.tool_calls")
  local n = 0
  for _, block in ipairs(response.content) do
    if block.type == "tool_use" then
      n = n + 1
      assert.is_true(rawequal(block, response.tool_calls[n]), "content and tool_calls hold different tables")
    end
  end
  assert.are.equal(#wanted, n, "the number of tool_use blocks in response.content")
  for i, call in ipairs(wanted) do
    local got = response.tool_calls[i]
    assert.are.equal(call.id, got.id, "tool_calls[" .. i .. "].id")
    assert.are.equal(call.name, got.name, "tool_calls[" .. i .. "].name")
    assert.is_true(records.equal(call.arguments, got.arguments), "tool_calls[" .. i .. "].arguments")
    assert.is_nil(got.arguments_error, "tool_calls[" .. i .. "].arguments_error")
  end
end

return function(kit)
  local assert, supports = kit.assert, kit.supports

  kit:item(1, "a reply of text", true, function(self)
    local response = self:answer { content = "Hello there!", usage = USAGE }
    assert.are.equal(1, #response.content, "#response.content")
    assert.are.equal("text", response.content[1].type, "response.content[1].type")
    assert.are.equal("Hello there!", response.content[1].text, "response.content[1].text")
    assert.are.equal("Hello there!", response:text(), "response:text()")
    assert.are.same({}, response.tool_calls, "response.tool_calls")
    assert.are.equal("end_turn", response.stop_reason, "response.stop_reason")
    assert.is_true(#response.model > 0, "response.model: not empty")
    has_usage(self, response)
    assert.are.equal("assistant", response:message().role, "response:message().role")
    assert.is_true(rawequal(response.content, response:message().content),
      "response:message().content: the table response.content itself")
    assert.are.equal("table", type(response.warnings), "type(response.warnings)")
  end)

  kit:item(2, "a reply of one tool call", true, function(self)
    local response = self:answer({ content = { ADD } }, nil, { tools = { self.tool "add" } })
    assert.are.equal(1, #response.content, "#response.content")
    has_calls(self, response, ADD)
    assert.are.equal("tool_use", response.stop_reason, "response.stop_reason")
    assert.are.equal("", response:text(), "response:text()")
  end)

  kit:item(3, "a reply of several tool calls", true, function(self)
    has_calls(self, self:answer({ content = { ADD, MUL } }, nil, { tools = { self.tool "add", self.tool "mul" } }),
      ADD, MUL)
  end)

  kit:item(4, "a reply of text and a tool call", true, function(self)
    local response = self:answer({ content = { TEXT, ADD } }, nil, { tools = { self.tool "add" } })
    assert.are.equal(TEXT.text, response:text(), "response:text()")
    assert.are.equal("text", response.content[1].type, "response.content[1].type")
    assert.are.equal("tool_use", response.content[2].type, "response.content[2].type")
    has_calls(self, response, ADD)
    assert.are.equal("tool_use", response.stop_reason, "response.stop_reason")
  end)

  kit:item(5, "an empty reply", true, function(self)
    local response, deltas = self:answer { content = "" }
    assert.are.same({}, response.content, "response.content")
    assert.are.same({}, response.tool_calls, "response.tool_calls")
    assert.are.equal("", response:text(), "response:text()")
    assert.are.equal("end_turn", response.stop_reason, "response.stop_reason")
    assert.are.same({}, deltas, "deltas: none")
  end)

  kit:item(6, "a reply cut by the cap", true, function(self)
    local response = self:answer { content = "Once upon a", stop_reason = "max_tokens" }
    assert.are.equal("max_tokens", response.stop_reason, "response.stop_reason")
    assert.are.equal("Once upon a", response:text(), "response:text()")
  end)

  for _, word in ipairs { "refusal", "sensitive" } do
    kit:item(7, "a reply that ends in " .. word, supports[word], function(self)
      assert.are.equal(word, self:answer { content = "I can", stop_reason = word }.stop_reason,
        "response.stop_reason")
    end)
  end

  kit:item(7, "words of refusal", supports.refusal_words, function(self)
    local response, deltas = self:answer { content = { { type = "refusal", text = "I won't." } } }
    assert.are.equal("refusal", response.stop_reason, "response.stop_reason")
    assert.are.equal("", response:text(), "response:text()")
    assert.are.same({}, deltas, "deltas: none")
    for _, block in ipairs(response.content) do
      assert.are.equal("refusal", block.type, "block.type")
      assert.are.equal("I won't.", block.text, "block.text")
    end
  end)

  kit:single(18, "deltas follow the grammar and agree with the Response, which equals the plain one", true,
    function(self)
      local content = { TEXT, ADD, MUL }
      if supports.thinking then table.insert(content, 1, { type = "thinking", thinking = "Two and three, then." }) end
      local answer = { content = content, usage = USAGE, id = "answer_1", chunk = 3 }
      local opts = { tools = { self.tool "add", self.tool "mul" } }
      local plain = self:answer(answer, nil, opts)
      self = setmetatable({ streamed = true }, { __index = self })
      local streamed, deltas = self:answer(answer, nil, opts)
      agrees(self, deltas, streamed)
      for _, field in ipairs(FIELDS) do
        if field ~= "usage" or supports.stream_usage then
          assert.is_true(records.equal(comparable(plain[field]), comparable(streamed[field])),
            field .. " differs between stream and plain")
        end
      end
      if supports.thinking then
        assert.are.equal("thinking", deltas[1].type:match "^%l+", "deltas[1].type: that of the first block")
      end
    end)

  kit:single(19, "parallel tool calls may come interleaved; usage and model are there", true, function(self)
    self = setmetatable({ streamed = true }, { __index = self })
    local response, deltas = self:answer({ content = { ADD, MUL }, interleave = true, chunk = 2, usage = USAGE,
      model = "model-as-reported" }, nil, { tools = { self.tool "add", self.tool "mul" } })
    agrees(self, deltas, response)
    has_calls(self, response, ADD, MUL)
    has_usage(self, response)
    if supports.answer_model then assert.are.equal("model-as-reported", response.model, "response.model") end
  end)

  kit:single(19, "two answers at once do not mix", true, function(self)
    self.script { { content = "aaaaaaaa", chunk = 1 }, { content = "bbbbbbbb", chunk = 1 } }
    local adapter = self.new()
    local first <close> = assert(adapter:open "one?")
    assert.is_not_nil(first:next(), "next() of the first answer: a delta")
    local second <close> = assert(adapter:open "two?")
    assert.is_not_nil(second:next(), "next() of the second answer: a delta")
    assert.is_not_nil(first:next(), "next() of the first answer: a delta")
    assert.are.equal("bbbbbbbb", assert(second:response()):text(), "text() of the second answer")
    assert.are.equal("aaaaaaaa", assert(first:response()):text(), "text() of the first answer")
  end)

  kit:single(18, "the iterator gives the same deltas as on_delta", true, function(self)
    local answer = { content = { TEXT, ADD } }
    local opts = { tools = { self.tool "add" } }
    self = setmetatable({ streamed = true }, { __index = self })
    local _, deltas = self:answer(answer, nil, opts)
    self.script { answer, answer }
    local adapter, pulled = self.new(), {}
    for delta in adapter:stream("Hello?", opts) do pulled[#pulled + 1] = records.to_table(delta) end
    assert.are.same(deltas, pulled, "the deltas of stream(), which are those of on_delta")
    local stream <close> = assert(adapter:open("Hello?", opts))
    local first = assert(stream:next())
    assert.are.same(deltas[1], records.to_table(first), "the first delta of open(), which is that of on_delta")
    assert.are.equal(TEXT.text, assert(stream:response()):text(), "stream:response():text()")
    assert.is_nil(stream:next(), "stream:next() after the end: nil")
  end)
end
