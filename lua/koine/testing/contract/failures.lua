--- Items 20, 21, 25: what failures look like.
-- Items about status codes need `supports.errors`, those about bytes and sockets `supports.wire`.

local CLASS_OF = { [400] = "RequestError", [422] = "RequestError", [401] = "AuthenticationError",
  [403] = "AuthenticationError", [429] = "RateLimitError", [500] = "ServerError", [502] = "ServerError",
  [503] = "ServerError" }
local MORE = { [402] = "RateLimitError", [404] = "RequestError", [413] = "RequestError", [408] = "ServerError",
  [504] = "ServerError", [529] = "ServerError" }

local NO_RETRY = { retry = { max = 0 } }

-- Keys of a table of numbers, in order: items are registered in the same order every time.
local function statuses(classes)
  local list = {}
  for status in pairs(classes) do list[#list + 1] = status end
  table.sort(list)
  return list
end

local function by_status(kit, number, classes)
  local assert = kit.assert
  for _, status in ipairs(statuses(classes)) do
    local class = classes[status]
    kit:item(number, ("status %d is a %s"):format(status, class), kit.supports.errors, function(self)
      local err = self:failure({ error = { status = status, message = "error-words" } }, nil, nil, NO_RETRY)
      assert.are.equal(class, err.class, "err.class")
      assert.is_true(err:is(class) and err:is "Error", 'err:is: true for the class and for "Error"')
      assert.are.equal(status, err.status_code, "err.status_code")
      assert.is_true(type(err.provider) == "string" and #err.provider > 0, "no provider")
      assert.is_truthy(err.message:find("error-words", 1, true), "err.message: the provider's words are in it")
      assert.are.equal(err.message, tostring(err), "tostring(err): err.message")
      assert.are.equal("boolean", type(err.retryable), "type(err.retryable)")
    end)
  end
end

local function answers(kit)
  local assert = kit.assert
  by_status(kit, 20, CLASS_OF)
  by_status(kit, 21, MORE)

  kit:item(20, "429 says when to come back", kit.supports.errors, function(self)
    local err = self:failure({ error = { status = 429, headers = { ["retry-after"] = "7" } } }, nil, nil, NO_RETRY)
    assert.are.equal(7, err.retry_after, "err.retry_after")
    assert.is_true(err.retryable, "err.retryable")
  end)

  kit:item(21, "402 is not worth a retry", kit.supports.errors, function(self)
    local err = self:failure({ error = { status = 402, message = "no credit" } }, nil, nil, NO_RETRY)
    assert.is_false(err.retryable, "err.retryable")
  end)

  for _, case in ipairs { { "HTML", "<html><h1>Bad gateway</h1></html>" }, { "empty", "" },
    { "a JSON string", '"gone-words"' }, { "an error that is a string", '{"error":"gone-words"}' } } do
    local body = case[2]
    for _, status in ipairs { 500, 502, 503 } do
      kit:item(21, ("status %d whose body is %s"):format(status, case[1]), kit.supports.wire, function(self)
        local err = self:failure({ error = { status = status, body = body } }, nil, nil, NO_RETRY)
        assert.are.equal("ServerError", err.class, "err.class")
        assert.are.equal(status, err.status_code, "err.status_code")
        assert.is_true(#err.message > 0 and not err.message:find "\n",
          "err.message: one line, not empty")
        if body:find "gone" then
          assert.is_truthy(err.message:find("gone-words", 1, true), "err.message: the body's words are in it")
        end
      end)
    end
  end

  kit:item(21, "Retry-After may be a date", kit.supports.wire, function(self)
    local date = os.date("!%a, %d %b %Y %H:%M:%S GMT", os.time() + 100)
    local err = self:failure({ error = { status = 429, headers = { ["retry-after"] = date } } }, nil, nil, NO_RETRY)
    assert.is_true(err.retry_after > 50 and err.retry_after <= 101, tostring(err.retry_after))
  end)

  kit:item(21, "a 200 whose body is no answer", kit.supports.wire, function(self)
    for _, body in ipairs { "<html>hello</html>", '"text"', "", "[]" } do
      local err = self:failure({ error = { status = 200, body = body } }, nil, nil, NO_RETRY)
      assert.is_true(err.class == "ServerError" or err.class == "ConnectionError", err.class .. " for " .. body)
    end
  end)
end

local function connections(kit)
  local assert = kit.assert

  kit:item(20, "a refused connection", kit.unreachable ~= nil, function(self)
    local response, err = self:ask(self.unreachable(NO_RETRY), "Hello?")
    assert.is_nil(response, "response: nil, err expected")
    assert.are.equal("ConnectionError", err.class, "err.class")
    assert.is_nil(err.status_code, "err.status_code")
    assert.is_true(#err.provider > 0, "err.provider: not empty")
  end)

  -- The provider never answers: only the deadline ends the call, however slow the machine is.
  kit:item(20, "a timeout", kit.supports.wire, function(self)
    local err = self:failure({ content = "never", fault = { stall_after = 0 } }, nil, nil,
      { retry = { max = 0 }, timeout = 0.05 })
    assert.are.equal("ConnectionError", err.class, "err.class")
    assert.are.equal("timeout", err.kind, "err.kind")
    assert.is_nil(err.status_code, "err.status_code")
    assert.is_true(#err.provider > 0, "err.provider: not empty")
  end)

  kit:single(21, "a stream that breaks off gives the part that came", kit.supports.wire, function(self)
    self = setmetatable({ streamed = true }, { __index = self })
    for _, fault in ipairs { { reset_after = 4000 }, { truncate_after = 4000 }, { end_after = 4000 } } do
      local err = self:failure({ content = ("words "):rep(400), fault = fault }, nil, nil, NO_RETRY)
      assert.are.equal("ConnectionError", err.class, tostring(err))
      local text = err.partial:text()
      assert.is_true(#text > 0 and #text < 2400, "a part of the text expected")
      assert.are.equal("error", err.partial.stop_reason, "err.partial.stop_reason")
      assert.is_true(err.partial.partial, "err.partial.partial")
    end
  end)

  kit:single(21, "an error inside a stream carries the part and the status it maps to", kit.supports.errors,
    function(self)
      self = setmetatable({ streamed = true }, { __index = self })
      local err = self:failure({ content = "one two three four", chunk = 4,
        stream_error = { type = "overloaded_error", status = 529, message = "error-words", after = 2 } }, nil, nil,
        NO_RETRY)
      assert.are.equal("ServerError", err.class, "err.class")
      assert.is_truthy(err.message:find("error-words", 1, true), "err.message: the provider's words are in it")
      assert.are.equal("one two ", err.partial:text(), "err.partial:text()")
    end)
end

local function consumers(kit)
  local assert = kit.assert

  kit:single(25, "an error of the consumer goes on unchanged", true, function(self)
    local mine = setmetatable({}, { __tostring = function() return "mine" end })
    self.script { { content = "one two three" }, { content = "four" } }
    local adapter = self.new()
    local ok, err = pcall(adapter.chat, adapter, "Hello?", { stream = true, on_delta = function() error(mine) end })
    assert.is_false(ok, "an error is raised")
    assert.is_true(rawequal(mine, err), "what on_delta raised, unchanged")
    assert.are.equal("four", assert(adapter:chat "Hello?"):text(), "text() of the next answer")
  end)

  kit:single(25, "a stream without a consumer", true, function(self)
    self.script { { content = "one two three" } }
    assert.are.equal("one two three", assert(self.new():chat("Hello?", { stream = true })):text(),
      "response:text()")
  end)

  kit:single(25, "leaving the loop ends the answer", true, function(self)
    self.script { { content = "one two three", chunk = 2 }, { content = "four" } }
    local adapter, n = self.new(), 0
    for _ in adapter:stream "Hello?" do
      n = n + 1
      if n == 2 then break end
    end
    assert.are.equal("four", assert(adapter:chat "Hello?"):text(), "text() of the next answer")
  end)

  kit:single(25, "a loop over an answer that fails raises its error", kit.supports.errors, function(self)
    self.script { { error = { status = 500, message = "error-words" } } }
    local adapter = self.new(NO_RETRY)
    local ok, err = pcall(function() for _ in adapter:stream "Hello?" do error "a delta came" end end)
    assert.is_false(ok, "an error is raised")
    assert.are.equal("ServerError", err.class, tostring(err))
  end)

  kit:single(25, "a closed stream says that it was cancelled", true, function(self)
    self.script { { content = "one two three" } }
    local stream = assert(self.new():open "Hello?")
    assert.is_not_nil(stream:next(), "stream:next(): a delta")
    stream:close()
    stream:close()
    local response, err = stream:response()
    assert.is_nil(response, "response: nil, err expected")
    assert.are.equal("CancelledError", err.class, "err.class")
  end)
end

return function(kit)
  answers(kit)
  connections(kit)
  consumers(kit)
end
