--- The items that need no script: they hold whatever a server answers. Numbered as the scripted ones that ask the same.

local agrees = require "koine.testing.contract.deltas"
local core = require "koine.core"
local errors = require "koine.data.errors"
local records = require "koine.data.records"

local HELLO = "Say hello in five words."
local SUM = "What is 2 plus 3? Use the tool."
local COLOUR = { schema = { type = "object", properties = { colour = { type = "string" } },
  required = core.array { "colour" }, additionalProperties = false }, repair = 1 }

local STOPS = {}
for word in ("end_turn tool_use max_tokens stop_sequence pause_turn refusal sensitive context_overflow")
  :gmatch "%S+" do
  STOPS[word] = true
end

-- Asks a new adapter: the Response and the deltas, which agree with it.
local function answered(self, messages, opts, given)
  local response, err, deltas = self:ask(self.new(given), messages, opts)
  self.assert.is_nil(err, err and tostring(err))
  if self.streamed then agrees(self, deltas, response) end
  return response, deltas
end

-- Asserts what every Response is.
local function is_whole(kit, response)
  local assert, text, calls = kit.assert, {}, 0
  for i, block in ipairs(response.content) do
    assert.are.equal("string", type(block.type), ("type(response.content[%d].type)"):format(i))
    if block.type == "text" then text[#text + 1] = block.text end
    if block.type == "tool_use" then
      calls = calls + 1
      assert.is_true(rawequal(block, response.tool_calls[calls]), "content and tool_calls hold different tables")
    end
  end
  assert.are.equal(table.concat(text), response:text(), "response:text(): the text blocks")
  assert.are.equal(calls, #response.tool_calls, "#response.tool_calls")
  assert.is_true(STOPS[response.stop_reason] == true, "response.stop_reason: " .. tostring(response.stop_reason))
  assert.is_true(#response.model > 0, "response.model: not empty")
  assert.is_true(#response.provider > 0, "response.provider: not empty")
  assert.are.equal("table", type(response.warnings), "type(response.warnings)")
  assert.are.equal("assistant", response:message().role, "response:message().role")
  assert.is_true(rawequal(response.content, response:message().content),
    "response:message().content: the table response.content itself")
end

-- Asserts that a Response says what was used: counts that are possible.
local function has_usage(kit, response)
  local usage, assert = response.usage, kit.assert
  for _, name in ipairs { "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens",
    "reasoning_tokens" } do
    local count = usage[name]
    assert.is_true(count == nil or math.type(count) == "integer" and count >= 0, "response.usage." .. name)
  end
  if kit.streamed and not kit.supports.stream_usage then return end
  local input = (usage.input_tokens or 0) + (usage.cache_read_tokens or 0) + (usage.cache_creation_tokens or 0)
  assert.is_true(input > 0, "response.usage.input_tokens, with what the cache held: more than 0")
  assert.is_true((usage.output_tokens or 0) > 0, "response.usage.output_tokens: more than 0")
  assert.is_true((usage.reasoning_tokens or 0) <= usage.output_tokens, "response.usage.reasoning_tokens: some of them")
end

local function answers(kit)
  local assert = kit.assert

  kit:item(1, "a reply is whole", true, function(self) is_whole(self, (answered(self, HELLO))) end)

  kit:item(1, "a reply says what was used", true, function(self) has_usage(self, (answered(self, HELLO))) end)

  kit:item(2, "calls of tools are legal", kit.supports.tools, function(self)
    local response = answered(self, SUM, { tools = { self.tool "add" } })
    is_whole(self, response)
    local seen = {}
    for i, call in ipairs(response.tool_calls) do
      local at = ("response.tool_calls[%d]"):format(i)
      assert.are.equal("add", call.name, at .. ".name")
      assert.is_true(#call.id > 0 and not seen[call.id], at .. ".id: not empty, and its own")
      assert.are.equal("table", type(call.arguments), at .. ".arguments: " .. tostring(call.arguments_error))
      seen[call.id] = true
    end
    if #response.tool_calls > 0 then
      assert.are.equal("tool_use", response.stop_reason, "response.stop_reason")
    end
  end)

  kit:item(27, "an answer of a shape is a value, or says what is wrong with it", kit.supports.output, function(self)
    local response, err = self:ask(self.new(), "Name a colour.", { output = COLOUR })
    assert.is_nil(err, err and tostring(err))
    assert.is_true((response.output == nil) ~= (response.output_error == nil),
      "response: either output or output_error")
    if response.output then
      assert.are.equal("string", type(response.output.colour), "type(response.output.colour)")
    else
      assert.is_true(#response.output_error.message > 0, "response.output_error.message: not empty")
    end
  end)

  kit:single(18, "the iterator, open and on_delta give deltas of one grammar", true, function(self)
    local adapter = self.new()
    local stream <close> = assert(adapter:open(HELLO))
    local deltas = {}
    for delta in stream:deltas() do deltas[#deltas + 1] = records.to_table(delta) end
    agrees(self, deltas, assert(stream:response()))
    assert.is_nil(stream:next(), "stream:next() after the end: nil")
    assert.is_true(rawequal(stream:response(), stream:response()), "stream:response(): the same one again")
  end)

  kit:single(19, "two answers at once do not mix", true, function(self)
    local adapter, streams, deltas = self.new(), {}, { {}, {} }
    for i = 1, 2 do streams[i] = assert(adapter:open(HELLO)) end
    local open = 2
    while open > 0 do
      open = 0
      for i = 1, 2 do
        local delta, err = streams[i]:next()
        assert.is_nil(err, err and tostring(err))
        if delta then
          open, deltas[i][#deltas[i] + 1] = open + 1, records.to_table(delta)
        end
      end
    end
    for i = 1, 2 do agrees(self, deltas[i], assert(streams[i]:response())) end
  end)
end

local function requests(kit)
  local assert = kit.assert

  kit:item(17, "an answer goes back, with results for its calls", true, function(self)
    local opts = { tools = self.supports.tools and { self.tool "add" } or nil }
    local history = { { role = "user", content = self.supports.tools and SUM or HELLO } }
    for _ = 1, 2 do
      local response = answered(self, history, opts)
      history[#history + 1] = response:message()
      local content = {}
      for i, call in ipairs(response.tool_calls) do
        content[i] = { type = "tool_result", tool_use_id = call.id, content = "5" }
      end
      if #content == 0 then content[1] = { type = "text", text = "And again?" } end
      history[#history + 1] = { role = "user", content = content }
    end
    is_whole(self, (answered(self, history, opts)))
  end)

  kit:item(24, "inputs are not changed", true, function(self)
    local messages = { { role = "user", content = { { type = "text", text = HELLO } } } }
    local opts = { system = { { type = "text", text = "Be brief." } },
      tools = self.supports.tools and { self.tool "add" } or nil }
    local kept = records.to_table { messages, opts }
    answered(self, messages, opts)
    assert.is_true(records.equal(kept, { messages, opts }), "the caller's tables were changed")
  end)
end

-- Asserts what every failure of a call is.
local function is_failure(kit, response, err)
  local assert = kit.assert
  assert.is_nil(response, "response: nil, err expected")
  assert.is_true(errors.is_error(err), "one of Koine's errors expected, got " .. tostring(err))
  assert.is_true(err:is(err.class) and err:is "Error", 'err:is: true for the class and for "Error"')
  assert.is_true(type(err.provider) == "string" and #err.provider > 0, "err.provider: not empty")
  assert.is_true(#err.message > 0 and not err.message:find "\n", "err.message: one line, not empty")
  assert.are.equal("boolean", type(err.retryable), "type(err.retryable)")
end

local function failures(kit)
  local assert = kit.assert

  kit:item(15, "a wrong value is refused before any request", true, function(self)
    local adapter = self.new()
    for field, opts in pairs { thinking = { thinking = "extreme" }, max_tokens = { max_tokens = -1 } } do
      local err = self:raised("ArgumentError", self.ask, self, adapter, HELLO, opts)
      assert.are.equal(field, err.field, "the error's field")
    end
    self:raised("ArgumentError", self.ask, self, adapter, HELLO, { max_token = 5 })
    self:raised("ArgumentError", self.ask, self, adapter, { { role = "system", content = "x" } })
  end)

  kit:item(20, "what the server refuses has a status", kit.refused ~= nil, function(self)
    local response, err = self:ask(self.refused { retry = false }, HELLO)
    is_failure(self, response, err)
    assert.is_true(math.type(err.status_code) == "integer" and err.status_code >= 400, "err.status_code")
    assert.are.equal(core.error_class(err.kind, err.status_code), err.class, "err.class: that of err.kind")
  end)

  kit:item(20, "a refused connection", kit.unreachable ~= nil, function(self)
    local response, err = self:ask(self.unreachable { retry = false }, HELLO)
    is_failure(self, response, err)
    assert.are.equal("ConnectionError", err.class, "err.class")
    assert.is_nil(err.status_code, "err.status_code")
  end)

  kit:single(25, "an error of the consumer goes on unchanged", true, function(self)
    local mine, adapter = setmetatable({}, { __tostring = function() return "mine" end }), self.new()
    local ok, err = pcall(adapter.chat, adapter, HELLO, { stream = true, on_delta = function() error(mine) end })
    assert.is_false(ok, "an error is raised")
    assert.is_true(rawequal(mine, err), "what on_delta raised, unchanged")
    is_whole(self, assert(adapter:chat(HELLO)))
  end)

  kit:single(25, "leaving the loop ends the answer", true, function(self)
    local adapter = self.new()
    local iterate, state, first, closing = adapter:stream(HELLO)
    do
      local _ <close> = closing -- as a loop does that is left with break
      assert.is_not_nil(iterate(state, first), "stream(): a delta")
    end
    is_whole(self, assert(adapter:chat(HELLO)))
  end)

  kit:single(25, "a closed stream says that it was cancelled", true, function(self)
    for _, started in ipairs { false, true } do
      local stream = assert(self.new():open(HELLO))
      if started then assert.is_not_nil(stream:next(), "stream:next(): a delta") end
      stream:close()
      stream:close()
      local response, err = stream:response()
      assert.is_nil(response, "response: nil, err expected")
      assert.are.equal("CancelledError", err.class, "err.class")
    end
  end)
end

return function(kit)
  answers(kit)
  requests(kit)
  failures(kit)
end
