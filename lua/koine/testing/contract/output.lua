--- Item 27: answers of a shape (the option `output`), in every way in which a model can be asked for one.

local core = require "koine.core"
local records = require "koine.data.records"
local vocabulary = require "koine.data.vocabulary"

local SHAPE = { type = "object", required = core.array { "name", "age", "tags" }, additionalProperties = false,
  properties = { name = { type = "string" }, age = { type = "integer" },
    tags = { type = "array", items = { type = "string" } } } }
local ADA = '{"name":"Ada","age":36,"tags":["a","né\\"\\\\"]}'
local EVE = '{"name":"Eve","age":"thirty","tags":[]}' -- whose age does not fit
local USAGE = { input_tokens = 42, output_tokens = 7 }

-- The option, with fields over the usual ones.
local function output(more)
  local made = { schema = SHAPE, name = "person" }
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

-- Answers that hold these texts in a way: as text, or as the arguments of the call that is the answer.
local function answers(mode, texts)
  local list = {}
  for i, text in ipairs(texts) do
    local content = text
    if mode == "tool" then
      content = { { type = "tool_use", id = "call_out_" .. i, name = "person", arguments = core.decode(text) } }
    end
    list[i] = { content = content, usage = USAGE, chunk = 4 }
  end
  return list
end

-- How many requests there were behind the first `before`; what was sent again as it was, as after a login, counts once.
local function asked(self, before)
  local n, seen = 0, {}
  for i, request in ipairs(self.requests and self.requests() or {}) do
    local is_new = i > before and not seen[request.body]
    n, seen[request.body] = is_new and n + 1 or n, is_new
  end
  return n
end

-- Asks a new adapter, in the item's mode: the Response, the deltas, how many requests there were before. With the mode
-- "auto" the answers come in the way that the adapter takes.
local function ask(self, texts, option, opts)
  local function once(mode)
    local all = { output = output(option) }
    for name, value in pairs(opts or {}) do all[name] = value end
    self.script(answers(mode, texts))
    local before = self:count()
    local response, err, deltas = self:ask(self.new(), "Who?", all)
    self.assert.is_nil(err, err and tostring(err))
    return response, deltas, before
  end
  local mode = option and option.mode
  local response, deltas, before = once(mode)
  if not mode and response.output_mode == "tool" then return once "tool" end
  return response, deltas, before
end

-- Asserts the deltas of a value that grew: their fields, and that the last one has the Response's.
local function has_grown(self, response, deltas)
  local assert, last = self.assert, nil
  for i, delta in ipairs(deltas) do
    if delta.type == "output_delta" then
      local at = ("deltas[%d] (output_delta)"):format(i)
      for _, field in ipairs(vocabulary.output_deltas.output_delta) do
        assert.is_not_nil(delta[field], at .. "." .. field)
      end
      last = delta
    elseif delta.type == "output_reset" then
      last = nil
    end
  end
  assert.is_not_nil(last, "deltas: an output_delta")
  assert.is_true(records.equal(last.value, response.output), "the last output_delta's value: response.output")
end

-- Asserts that the Response has the value that ADA is.
local function has_value(self, response, deltas)
  local assert, problem = self.assert, response.output_error
  assert.is_nil(problem, "response.output_error: " .. tostring(problem and problem.message))
  assert.is_true(records.equal(core.decode(ADA), response.output), "response.output: the value that was answered")
  assert.are.equal("end_turn", response.stop_reason, "response.stop_reason")
  assert.are.equal(0, #response.tool_calls, "response.tool_calls: the answer's own call is none")
  assert.is_true(#response.content > 0, "response.content: the answer as the model gave it")
  if self.streamed then has_grown(self, response, deltas) end
end

local function values(kit)
  local assert = kit.assert

  for _, mode in ipairs { "auto", "prompt", "tool" } do
    kit:item(27, "an answer of a shape is its value: " .. mode, kit.supports.output, function(self)
      local response, deltas = ask(self, { ADA }, mode ~= "auto" and { mode = mode } or nil)
      has_value(self, response, deltas)
      if mode ~= "auto" then assert.are.equal(mode, response.output_mode, "response.output_mode") end
    end)
  end

  kit:item(27, "any object, without a schema", kit.supports.output, function(self)
    self.script { { content = '{"a":1}' } }
    local response, err = self:ask(self.new(), "Any JSON object.", { output = { mode = "object" } })
    assert.is_nil(err, err and tostring(err))
    assert.are.same({ a = 1 }, response.output, "response.output")
    assert.are.equal("object", response.output_mode, "response.output_mode")
  end)

  kit:item(27, "an answer that calls tools has no value yet", kit.supports.output, function(self)
    local call = { type = "tool_use", id = "call_add_1", name = "add", arguments = { a = 2, b = 3 } }
    self.script { { content = { call } } }
    local response, err = self:ask(self.new(), "Who?", { tools = { self.tool "add" }, output = output() })
    assert.is_nil(err, err and tostring(err))
    assert.are.equal("tool_use", response.stop_reason, "response.stop_reason")
    assert.are.equal(1, #response.tool_calls, "#response.tool_calls")
    assert.is_nil(response.output, "response.output")
    assert.is_nil(response.output_error, "response.output_error")
  end)

  kit:single(27, "adapter:object gives the value, or an error of kind output", kit.supports.output, function(self)
    local options = { output = output { mode = "prompt" } }
    self.script { { content = ADA }, { content = EVE } }
    local adapter = self.new()
    local value, response = adapter:object("Who?", options)
    assert.is_not_nil(value, tostring(response))
    assert.is_true(records.equal(core.decode(ADA), value), "object(): the value")
    assert.are.equal(ADA, response:text(), "object(): the Response")
    local nothing, err = adapter:object("Who?", options)
    assert.is_nil(nothing, "object(): nil, err expected")
    assert.are.equal("output", err.kind, "err.kind")
    assert.are.equal("invalid", err.code, "err.code")
    assert.are.equal(EVE, err.partial:text(), "err.partial: the Response")
  end)
end

-- Texts that are no value, by what is wrong with them: {code, text, stop reason}.
local PROBLEMS = { { "not_json", "I do not know." }, { "invalid", EVE }, { "empty", "" },
  { "truncated", ADA:sub(1, 20), "max_tokens" } }

local function faults(kit)
  local assert = kit.assert

  for _, case in ipairs(PROBLEMS) do
    local code, text, stop = table.unpack(case)
    kit:item(27, "an answer that does not fit is no error of the call: " .. code, kit.supports.output, function(self)
      self.script { { content = text, stop_reason = stop } }
      local response, err = self:ask(self.new(), "Who?", { output = output { mode = "prompt" } })
      assert.is_nil(err, err and tostring(err))
      assert.is_nil(response.output, "response.output")
      local problem = response.output_error
      assert.is_not_nil(problem, "response.output_error")
      assert.are.equal(code, problem.code, "response.output_error.code")
      assert.is_true(#problem.message > 0, "response.output_error.message: not empty")
      assert.are.equal(text, problem.text, "response.output_error.text")
    end)
  end

  for _, mode in ipairs { "prompt", "tool" } do
    kit:item(27, "the model is asked again: " .. mode, kit.supports.output, function(self)
      local response, deltas, before = ask(self, { EVE, ADA }, { mode = mode, repair = 1 })
      has_value(self, response, deltas)
      if self.supports.stream_usage or not self.streamed then
        assert.are.equal(2 * USAGE.output_tokens, response.usage.output_tokens, "response.usage.output_tokens: of both")
      end
      if self.requests then
        assert.are.equal(2, asked(self, before), "the number of requests")
        local _, body = self:last_body()
        self:carries(body, "thirty", "age")
      end
    end)
  end

  kit:item(27, "the model is not asked again unless that is wished", kit.supports.output, function(self)
    local response, _, before = ask(self, { EVE, ADA }, { mode = "prompt" })
    assert.are.equal("invalid", (response.output_error or {}).code, "response.output_error.code")
    if self.requests then assert.are.equal(1, asked(self, before), "the number of requests") end
  end)

  kit:item(27, "the caller's own check is heard", kit.supports.output, function(self)
    local function check(value) return value.age > 40, "too-young-words" end
    local response = ask(self, { ADA }, { mode = "prompt", check = check })
    local problem = response.output_error or {}
    assert.is_nil(response.output, "response.output")
    assert.are.equal("invalid", problem.code, "response.output_error.code")
    assert.is_truthy((problem.message or ""):find("too-young-words", 1, true), "response.output_error.message")
  end)

  kit:item(27, "a wrong option is refused before any request", kit.supports.output, function(self)
    self.script { { content = ADA } }
    for field, option in pairs { ["output"] = 5, ["output.name"] = output { name = "a b" },
      ["output.mode"] = output { mode = "magic" }, ["output.schema"] = { name = "person" },
      ["output.schema.type"] = { schema = { type = "text" } }, ["output.repair"] = output { repair = -1 } } do
      local adapter = self.new()
      local err = self:raised("ArgumentError", self.ask, self, adapter, "Who?", { output = option })
      assert.are.equal(field, err.field, "err.field")
    end
  end)
end

return function(kit)
  values(kit)
  faults(kit)
end
