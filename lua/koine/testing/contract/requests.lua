--- Items 8–17 and 24: what reaches the provider.
-- Items that look at requests are left out where the adapter cannot show them.

local records = require "koine.data.records"

local IMAGE = "iVBORw0KGgo="

local function text(words) return { type = "text", text = words } end
local function user(...) return { role = "user", content = { ... } } end
local function assistant(...) return { role = "assistant", content = { ... } } end
local function call(id, name) return { type = "tool_use", id = id, name = name, arguments = { a = 2, b = 3 } } end
local function result(id, content, is_error)
  return { type = "tool_result", tool_use_id = id, content = content, is_error = is_error }
end

local function prompts(kit)
  local assert, seen = kit.assert, kit.requests ~= nil

  kit:item(8, "system as a string", seen, function(self)
    local _, body = self:sent("Hello?", { system = "system-words" })
    assert.are.equal(1, self:found(body, "system-words"), 'the request: how often it carries "system-words"')
    local role = self:role_of(body, "system-words")
    assert.are_not.equal("assistant", role, "system: the role that it goes out with")
    if not self.supports.system_as_user then
      assert.are_not.equal("user", role, "system: the role that it goes out with")
    end
    local _, bare = self:sent("Hello?", { system = "" })
    assert.is_nil(bare.system, "system: nothing for an empty one")
  end)

  kit:item(8, "system as an array of text blocks", seen, function(self)
    local _, body = self:sent("Hello?", { system = { text "system-words-one",
      { type = "text", text = "system-words-two", cache_control = { type = "ephemeral" } } } })
    assert.are.equal(1, self:found(body, "system-words-one"), 'the request: how often it carries "system-words-one"')
    assert.are.equal(1, self:found(body, "system-words-two"), 'the request: how often it carries "system-words-two"')
  end)

  kit:item(9, "max_tokens: the constructor's, and the call's over it", seen, function(self)
    local _, default = self:sent("Hello?", nil, { max_tokens = 1711 })
    assert.are.equal(1, self:found(default, 1711), "max_tokens: how often the request carries the constructor's")
    local _, call_s = self:sent("Hello?", { max_tokens = 1712 }, { max_tokens = 1711 })
    assert.are.equal(0, self:found(call_s, 1711), "max_tokens: the constructor's, which the call's replaces")
    assert.are.equal(1, self:found(call_s, 1712), "max_tokens: how often the request carries the call's")
  end)

  kit:item(10, "tools as records, as plain tables, mixed and in order", seen, function(self)
    local plain, record = self.tool "plain_tool", records.tool_definition(self.tool "record_tool")
    plain.run = function() end
    for _, tools in ipairs { { plain }, { record }, { plain, record }, { record, plain } } do
      local raw, body = self:sent("Hello?", { tools = tools })
      local last = 0
      for _, tool in ipairs(tools) do
        assert.are.equal(1, self:found(body, tool.name), "tools: how often the request carries " .. tool.name)
        local at = raw:find(tool.name, 1, true)
        assert.is_true(at > last, "the tools' order changed")
        last = at
      end
    end
  end)

  kit:item(10, "no tools, no key", seen, function(self)
    local _, body = self:sent("Hello?", { tools = {} })
    assert.is_nil(body.tools, "tools: nothing for none")
  end)
end

local function histories(kit)
  local assert, seen = kit.assert, kit.requests ~= nil

  kit:item(11, "tool calls and their results, ids matching", seen, function(self)
    local _, body = self:sent({ user(text "go"), assistant(call("call_hist_1", "add"), call("call_hist_2", "add")),
      user(result("call_hist_2", "result-words-two"),
        result("call_hist_1", { text "result-words-one-a", text "result-words-one-b" })) },
      { tools = { self.tool "add" } })
    self:carries(body, "result-words-one-a", "result-words-one-b", "result-words-two")
    if self.supports.exact_ids then
      assert.are.equal(2, self:exactly(body, "call_hist_1"), 'the request: how often it carries "call_hist_1"')
      assert.are.equal(2, self:exactly(body, "call_hist_2"), 'the request: how often it carries "call_hist_2"')
    end
  end)

  kit:item(11, "is_error is delivered", seen, function(self)
    local function sent(is_error)
      return (self:sent({ user(text "go"), assistant(call("call_hist_1", "add")),
        user(result("call_hist_1", "no such file", is_error)) }, { tools = { self.tool "add" } }))
    end
    assert.are_not.equal(sent(nil), sent(true), "is_error: the request with true differs from one without")
    if self.supports.wire then
      assert.are.equal(sent(nil), sent(false), "is_error: the request with false is one without")
    end
  end)

  kit:item(12, "text and tool call of one assistant message", seen, function(self)
    local _, body = self:sent({ user(text "go"), assistant(text "assistant-words", call("call_hist_1", "add_both")),
      user(result("call_hist_1", "5")) }, { tools = { self.tool "add_both" } })
    self:carries(body, "assistant-words", "add_both")
  end)

  kit:item(13, "several text blocks, several messages of one role", seen, function(self)
    local _, body = self:sent { user(text "words-one", text "words-two"), { role = "user", content = "words-three" },
      assistant(text "words-four"), assistant(text "words-five"), user(text "words-six") }
    self:carries(body, "words-one", "words-two", "words-three", "words-four", "words-five", "words-six")
  end)

  kit:item(13, "a single string", seen, function(self)
    local _, body = self:sent "words-alone"
    assert.are.equal(1, self:found(body, "words-alone"), 'the request: how often it carries "words-alone"')
    assert.are.equal("user", self:role_of(body, "words-alone"), "messages: the role of a string")
  end)

  for _, block in ipairs { { type = "image", source = IMAGE, media_type = "image/png" },
    { type = "image", source = "data:image/png;base64," .. IMAGE } } do
    kit:item(14, "an image arrives, or is refused by name: " .. block.source:sub(1, 4), seen, function(self)
      local messages = { user(text "What is this?", block) }
      if self.supports.images then
        local _, body = self:sent(messages)
        self:carries(body, IMAGE)
        return
      end
      self.script { { content = "ok" } }
      local before = self:count()
      local ok, err = pcall(self.ask, self, self.new(), messages)
      assert.is_false(ok, "an image that cannot be sent has to raise")
      assert.is_true(err.class == "NotImplementedError" or err.class == "ArgumentError", tostring(err))
      assert.is_truthy(tostring(err):find("image", 1, true), "the error: it names the image")
      assert.are.equal(before, self:count(), "the number of requests: none went out")
    end)
  end
end

local function options(kit)
  local assert, seen = kit.assert, kit.requests ~= nil

  kit:item(15, "thinking: per call, by default, overridden, off", seen and kit.supports.thinking_option, function(self)
    local function sent(opts, given) return (self:sent("Hello?", opts, given)) end
    local off, low, high = sent { thinking = false }, sent { thinking = "low" }, sent { thinking = "high" }
    assert.are_not.equal(off, low, "thinking: \"low\" differs from false in the request")
    assert.are_not.equal(off, high, "thinking: \"high\" differs from false in the request")
    if self.supports.thinking_levels then
      assert.are_not.equal(low, high, "thinking: \"high\" differs from \"low\" in the request")
    end
    assert.are.equal(low, sent(nil, { thinking = "low" }), "thinking: the constructor's")
    assert.are.equal(high, sent({ thinking = "high" }, { thinking = "low" }),
      "thinking: the call's over the constructor's")
    assert.are.equal(off, sent({ thinking = false }, { thinking = "low" }),
      "thinking: false over the constructor's")
    assert.are.equal(off, sent({ thinking = { enabled = false } }, { thinking = "low" }),
      "thinking: {enabled = false} over the constructor's")
  end)

  kit:item(15, "thinking: an unknown value is refused before any request", true, function(self)
    self.script { { content = "ok" } }
    for _, value in ipairs { "extreme", 5, true, { budget = 5 } } do
      assert.are.equal("thinking", self:raised("ArgumentError", self.new, { thinking = value }).field:match "^%l+",
        "the error's field, of the constructor")
      local adapter = self.new()
      local err = self:raised("ArgumentError", self.ask, self, adapter, "Hello?", { thinking = value })
      assert.are.equal("thinking", err.field:match "^%l+", "the error's field, of the call")
    end
  end)

  kit:item(16, "every option is accepted", true, function(self)
    local tools = { self.tool "add" }
    for _, opts in ipairs {
      { system = { text "a", text "b" }, tools = tools, tool_choice = "auto", cache_retention = "short",
        metadata = { user_id = "u-1" }, betas = { "beta-one", "beta-two" }, thinking = { enabled = true,
        budget_tokens = 2048 }, max_tokens = 8000, temperature = 1, stop_sequences = { "END" } },
      { system = "a", tools = tools, tool_choice = "any", cache_retention = "long", betas = "beta-one",
        thinking = "low", top_p = 0.99 },
      { tools = tools, tool_choice = { type = "tool", name = "add" }, cache_retention = "none", temperature = 0.5 },
      { tools = tools, tool_choice = "none", thinking = false },
      { tool_choice = "auto", timeout = { connect = 20, first_byte = 30, idle = 30, total = 60 }, keep_raw = true,
        limits = { line = 1 << 20, event = 1 << 20, body = 1 << 20, decoded = 1 << 20, depth = 64, blocks = 100,
        tool_calls = 100, argument_bytes = 1 << 20, high_water = 1 << 16 }, headers = { ["x-team"] = "red" } },
      { timeout = 60, retry = { max = 0, max_delay = 1, on_ambiguous = false }, extra = {} },
      { retry = false },
    } do
      assert.are.equal("ok", self:answer({ content = "ok" }, nil, opts):text(),
        "response:text()")
    end
  end)

  kit:item(16, "an option that the wire has not fails no call", true, function(self)
    for name, value in pairs { seed = 7, top_k = 40, min_p = 0.05, logprobs = 2 } do
      assert.are.equal("ok", self:answer({ content = "ok" }, nil, { [name] = value }):text(),
        "response:text() with " .. name)
    end
  end)

  kit:item(16, "an unknown option is refused, in the call and in the constructor", true, function(self)
    self.script { { content = "ok" } }
    local adapter = self.new()
    local err = self:raised("ArgumentError", self.ask, self, adapter, "Hello?", { max_token = 5 })
    assert.is_truthy(tostring(err):find("max_tokens", 1, true), "no suggestion in: " .. tostring(err))
    self:raised("ArgumentError", self.new, { modell = "m" })
    self:raised("ArgumentError", self.ask, self, adapter, { { role = "system", content = "x" } })
    self:raised("ArgumentError", self.ask, self, adapter, { { role = "user", content = { { type = "song" } } } })
    self:raised("ArgumentError", self.ask, self, adapter, 5)
  end)
end

-- The first request's answer goes back with the second, which has to carry the marks, in this order. Returns the
-- second one's decoded body.
local function round_trip(self, content, marks)
  local opts = { tools = { self.tool "add" }, max_tokens = 8000 }
  if self.supports.thinking_option and self.supports.signatures then opts.thinking = { budget_tokens = 2048 } end
  self.script { { content = content, id = "answer_1" }, { content = "5" } }
  local adapter = self.new()
  local history = { { role = "user", content = "2 + 3?" } }
  local response, err = self:ask(adapter, history, opts)
  self.assert.is_nil(err, err and tostring(err))
  history[2] = response:message()
  local results = {}
  for i, use in ipairs(response.tool_calls) do results[i] = result(use.id, "5") end
  history[3] = { role = "user", content = results }
  response, err = self:ask(adapter, history, opts)
  self.assert.is_nil(err, err and tostring(err))
  self.assert.are.equal("5", response:text(), "response:text()")
  local raw, body = self:last_body()
  raw = raw:gsub("\\/", "/")
  local last = 0
  for _, mark in ipairs(marks) do
    self:carries(body, mark)
    if self.supports.blocks then
      local at = raw:find(mark, last + 1, true)
      self.assert.is_not_nil(at, mark .. " is out of order")
      last = at
    end
  end
  return body
end

local function replay(kit)
  local assert, seen = kit.assert, kit.requests ~= nil

  kit:item(17, "an answer goes back: text, calls, ids", seen, function(self)
    local body = round_trip(self, { text "words-before", call("call_back_1", "add"), call("call_back_2", "add") },
      { "words-before" })
    if not self.supports.exact_ids then return end
    assert.are.equal(2, self:exactly(body, "call_back_1"), 'the request: how often it carries "call_back_1"')
    assert.are.equal(2, self:exactly(body, "call_back_2"), 'the request: how often it carries "call_back_2"')
  end)

  kit:item(17, "an answer goes back: signatures and redacted thinking", seen and kit.supports.signatures, function(self)
    local body = round_trip(self, { { type = "thinking", thinking = "thought-words", signature = "Sig/na+ture==" },
      { type = "redacted_thinking", data = "Red/ac+ted==" }, text "words-after", call("call_back_1", "add") },
      { "Sig/na+ture==", "Red/ac+ted==", "words-after", "call_back_1" })
    self:carries(body, "thought-words")
  end)

  kit:item(24, "inputs are not changed, and the same call sends the same bytes", true, function(self)
    local messages = { user(text "", text "go"), assistant(text "", call("a/b", "add")),
      user(text "also", result("a/b", "5")), { role = "user", content = "and?" } }
    local opts = { system = { text "s" }, tools = { self.tool "add" }, cache_retention = "short", thinking = "low" }
    local kept = records.to_table { messages, opts }
    local before = self.requests and (self:sent(messages, opts)) or self:answer({ content = "ok" }, messages, opts)
    assert.is_true(records.equal(kept, { messages, opts }), "the caller's tables were changed")
    if self.requests then assert.are.equal(before, (self:sent(messages, opts)), "the request: the same bytes again") end
  end)
end

return function(kit)
  prompts(kit)
  histories(kit)
  options(kit)
  replay(kit)
end
