--- Item 28: texts as vectors. `kit.embed` are the options of every call: the model of the vectors, where the adapter
-- has none.

local TEXTS = { "Lua is a small language", "Bread needs flour and water", "Lua is a small language" }

-- The options of a call, with others over them.
local function options(kit, more)
  local made = {}
  for _, from in ipairs { kit.embed, more or {} } do
    for name, value in pairs(from) do made[name] = value end
  end
  return made
end

-- Embeds texts with a new adapter, whose provider makes vectors up: the result.
local function embedded(self, inputs, more)
  self.script { { embeddings = true } }
  local result, err = self.new():embed(inputs, options(self, more))
  self.assert.is_nil(err, err and tostring(err))
  return result
end

return function(kit)
  local assert, wanted = kit.assert, kit.embed ~= nil

  kit:single(28, "as many vectors as texts, in their order", wanted, function(self)
    local result = embedded(self, TEXTS)
    assert.are.equal(#TEXTS, #result.vectors, "#result.vectors")
    for i, vector in ipairs(result.vectors) do
      assert.are.equal(result.dimensions, #vector, ("#result.vectors[%d]: result.dimensions"):format(i))
      for _, number in ipairs(vector) do
        assert.are.equal("number", type(number), ("type(result.vectors[%d][…])"):format(i))
      end
    end
    assert.are.same(result.vectors[1], result.vectors[3], "the vectors of the same text")
    assert.are_not.same(result.vectors[1], result.vectors[2], "the vectors of other texts")
    assert.is_true(#result.model > 0, "result.model: not empty")
    assert.are.equal("table", type(result.usage), "type(result.usage)")
    assert.are.equal("table", type(result.warnings), "type(result.warnings)")
  end)

  kit:single(28, "one text, as a string", wanted, function(self)
    local one, list = embedded(self, TEXTS[1]), embedded(self, { TEXTS[1] })
    assert.are.equal(1, #one.vectors, "#result.vectors")
    assert.are.same(list.vectors, one.vectors, "result.vectors: those of an array of the one text")
  end)

  kit:single(28, "no texts, no request", wanted, function(self)
    self.script {}
    local before = self:count()
    local result, err = self.new():embed({}, options(self))
    assert.is_nil(err, err and tostring(err))
    assert.are.same({}, result.vectors, "result.vectors")
    assert.are.equal(before, self:count(), "the number of requests: none went out")
  end)

  kit:single(28, "vectors as packed strings", wanted, function(self)
    local result = embedded(self, TEXTS, { as = "packed" })
    for i, vector in ipairs(result.vectors) do
      assert.are.equal("string", type(vector), ("type(result.vectors[%d])"):format(i))
      assert.are.equal(4 * result.dimensions, #vector, ("#result.vectors[%d]"):format(i))
    end
  end)

  kit:single(28, "a text that is none is refused by its place, before any request", wanted, function(self)
    self.script { { embeddings = true } }
    for _, blank in ipairs { "", " \n", 5 } do
      local adapter = self.new()
      local err = self:raised("ArgumentError", adapter.embed, adapter, { "a", blank }, options(self))
      assert.is_truthy(err.field:find("2", 1, true), "err.field: it names the second text")
    end
    local adapter = self.new()
    self:raised("ArgumentError", adapter.embed, adapter, "a", options(self, { dimension = 3 }))
  end)

  kit:single(28, "a failure is one of the errors of chats, and of all or none", wanted and kit.supports.errors,
    function(self)
      self.script { { error = { status = 401, message = "error-words" } } }
      local result, err = self.new():embed(TEXTS, options(self, { retry = false }))
      assert.is_nil(result, "result: nil, err expected")
      assert.are.equal("AuthenticationError", err.class, "err.class")
      assert.is_truthy(err.message:find("error-words", 1, true), "err.message: the provider's words are in it")
    end)
end
