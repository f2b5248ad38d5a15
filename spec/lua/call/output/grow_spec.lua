-- Values that grow in the stream of an answer with a shape, by loopback and by the recordings.

local kit = require("spec.lua.call.output.kit").new()
local open_view = require "koine.call.output.stream"
local records = require "koine.data.records"

local NATIVE = { schema = kit.PERSON, mode = "native" }
local LIST = { type = "object", required = { "items" }, properties = { items = { type = "array",
  items = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } } } } }

describe("a value that grows", function()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  local function open(adapter, answers, output)
    kit.server:script(answers)
    return assert(adapter:open("Who?", { output = output }))
  end

  -- The output_deltas of a stream, each with a copy of its value.
  local function grown(stream)
    local list = {}
    for delta in stream:deltas() do
      if delta.type == "output_delta" then
        list[#list + 1] = { value = records.to_table(delta.value), path = delta.path, complete = delta.complete }
      end
    end
    return list
  end

  it("has the integers of the output in the end, also where the model wrote fractions", function()
    for _, mode in ipairs { "native", "tool", "prompt" } do
      local text = '{"name":"Ada","age":36.0}'
      local call = { type = "tool_use", name = "response", arguments_json = text }
      local stream <close> = open(kit.gpt(), { { content = mode == "tool" and { call } or text, chunk = 4 } },
        { schema = kit.PERSON, mode = mode })
      local seen = grown(stream)
      assert.are.equal(36, seen[#seen].value.age)
      assert.are.equal("integer", math.type(stream:output().age))
    end
    local stream <close> = open(kit.gpt(), { { content = '{"value":36.0}' } }, { schema = { type = "integer" } })
    assert(stream:response())
    assert.are.equal("integer", math.type(stream:output()))
  end)

  it("may be changed by those who look at it", function()
    local schema = { type = "object", required = { "name" }, properties = { name = { type = "string" },
      sub = { type = "object", properties = { n = { type = "integer" } }, required = { "n" } } } }
    kit.server:script { { content = '{"name":"Ada","sub":{"n":1.0}}', chunk = 3 } }
    local r = assert(kit.gpt():chat("Who?", { output = { schema = schema, mode = "native" }, on_delta = function(delta)
      if delta.type == "output_delta" then delta.value.sub, delta.value.name = 5, nil end
    end }))
    assert.are.same({ name = "Ada", sub = { n = 1 } }, r.output)
  end)

  it("is whole after the response, however many deltas were taken", function()
    for taken = 0, 3 do
      local stream <close> = open(kit.gpt(), { { content = kit.ADA, chunk = 5 } }, NATIVE)
      for _ = 1, taken do stream:next() end
      local before = stream:output()
      assert(stream:response())
      assert.are.same({ name = "Ada", age = 36 }, stream:output())
      assert.are.equal(before or stream:output(), stream:output())
    end
  end)

  it("is that of the first call where the model answers by several at once", function()
    local deltas = { { type = "tool_use_start", tool_name = "person", tool_call_id = "a" },
      { type = "tool_use_start", tool_name = "person", tool_call_id = "b" },
      { type = "tool_use_delta", tool_call_id = "a", argument_delta = '{"name":"Ada"' },
      { type = "tool_use_delta", tool_call_id = "b", argument_delta = '{"name":"Bob"}' },
      { type = "tool_use_delta", tool_call_id = "a", argument_delta = ',"age":36}' } }
    local source = { next = function() return table.remove(deltas, 1) end, close = function() end }
    local stream <close> = assert(open_view(function() return source end, {}, { tool = "person" },
      { row = {} }))
    for _ = 1, 5 do
      while stream:next().type == "output_delta" do end
    end
    assert.are.same({ name = "Ada", age = 36 }, stream:output())
  end)

  it("is one table, changed in place, beside the deltas of the text", function()
    local stream <close> = open(kit.gpt(), { { content = kit.ADA, chunk = 3 } }, NATIVE)
    local first, text, last = nil, {}, nil
    for delta in stream:deltas() do
      if delta.type == "text_delta" then text[#text + 1] = delta.text end
      if delta.type == "output_delta" then
        first = first or delta.value
        assert.are.equal(first, delta.value)
        assert.are.equal(first, stream:output())
        last = delta
      end
    end
    assert.are.equal(kit.ADA, table.concat(text))
    assert.are.same({ name = "Ada", age = 36 }, first)
    assert.are.same({ "", true }, { last.path, last.complete })
    assert.are.same(first, assert(stream:response()).output)
  end)

  it("shows no number before it is whole, and no key that goes away", function()
    local stream <close> = open(kit.gpt(), { { content = kit.ADA, chunk = 1 } }, NATIVE)
    local had = {}
    for _, one in ipairs(grown(stream)) do
      for name in pairs(had) do assert.is_not_nil(one.value[name]) end
      for name in pairs(one.value) do had[name] = true end
      assert.is_true(one.value.age == nil or one.value.age == 36)
      assert.are.equal(one.value.name or "", ("Ada"):sub(1, #(one.value.name or "")))
    end
    assert.are.same({ name = true, age = true }, had)
  end)

  it("is told to its end where its root is wrapped, wherever the pieces begin", function()
    for text, schema in pairs { ['{"value":"abc"}'] = { type = "string" }, ['{"value": 12 }'] = { type = "integer" },
      ['{"value":[1,"b"]}'] = { type = "array" }, ['{"values":1,"value":true}'] = { type = "boolean" } } do
      for chunk = 1, #text do
        local stream <close> = open(kit.claude(), { { content = text, chunk = chunk } }, { schema = schema })
        local last
        for delta in stream:deltas() do
          if delta.type == "output_delta" then
            assert.is_not_nil(delta.value)
            last = delta
          end
        end
        local output = assert(stream:response()).output
        assert.are.same({ "", true, output }, { last.path, last.complete, last.value })
      end
    end
  end)

  it("is seen without the wrapping of its root", function()
    local stream <close> = open(kit.gpt(), { { content = '{"value":["ab","c"]}', chunk = 2 } },
      { schema = { type = "array", items = { type = "string" } }, mode = "native" })
    local list = grown(stream)
    assert.are.same({ "ab", "c" }, list[#list].value)
    for _, one in ipairs(list) do assert.is_nil(one.path:find("value", 1, true)) end
  end)

  it("comes from the call that holds the answer, too", function()
    local stream <close> = open(kit.claude(), { { content = {
      { type = "tool_use", name = "look_up", arguments = { name = "Eve" } },
      { type = "tool_use", name = "person", arguments = { name = "Ada", age = 36 } } }, chunk = 4 } },
      { schema = kit.PERSON, name = "person", mode = "tool" })
    local list = grown(stream)
    assert.are.same({ name = "Ada", age = 36 }, list[#list].value)
    for _, one in ipairs(list) do assert.is_truthy(("Ada"):find(one.value.name or "", 1, true)) end
    assert.are.equal(1, #assert(stream:response()).tool_calls)
  end)

  it("begins behind the words before it where there may be some", function()
    for _, before in ipairs { "Here it is:\n```json\n", "See [1] and [the list:\n```json\n" } do
      local text = before .. kit.ADA .. "\n```"
      local wanted = { schema = kit.PERSON, mode = "prompt" }
      local stream <close> = open(kit.claude(), { { content = text, chunk = 5 } }, wanted)
      local list = grown(stream)
      assert.are.same({ name = "Ada", age = 36 }, list[#list].value)
      assert.are.same({ name = "Ada", age = 36 }, assert(stream:response()).output)
    end
  end)

  it("is the value of the Response in the end, also where words before it looked like one", function()
    for _, text in ipairs { "As [1] says: " .. kit.ADA, "```json\n" .. kit.ADA .. "\n```" } do
      local wanted = { schema = kit.PERSON, mode = "prompt" }
      local stream <close> = open(kit.claude(), { { content = text, chunk = 4 } }, wanted)
      grown(stream)
      local r = assert(stream:response())
      assert.are.same(r.output, stream:output())
      assert.are.equal(stream:output(), stream:output())
    end
  end)

  it("begins anew with another answer", function()
    local stream <close> = open(kit.gpt(), { { content = '{"name":"Eve"}' }, { content = kit.ADA } },
      { schema = kit.PERSON, mode = "native", repair = 1 })
    local before, after, reset
    for delta in stream:deltas() do
      if delta.type == "output_reset" then reset = true end
      if delta.type == "output_delta" then
        if reset then after = delta.value else before = delta.value end
      end
    end
    assert.are.same({ name = "Eve" }, before)
    assert.are.same({ name = "Ada", age = 36 }, after)
  end)

  it("stays with the error of an answer that breaks off", function()
    local breaks = { content = kit.ADA, chunk = 2,
      stream_error = { type = "server_error", message = "no", after = 5 } }
    for _, streamed in ipairs { true, false } do
      kit.server:script { breaks }
      local r, err = kit.gpt { retry = false }:chat("Who?", { stream = true, output = NATIVE,
        on_delta = streamed and function() end or nil })
      assert.is_nil(r)
      assert.are.equal("truncated", err.partial.output_error.code)
      assert.is_truthy(("Ada"):find(err.partial.output.name, 1, true))
    end
  end)

  it("stays as far as it came where the answer is cut at max_tokens, and is not asked for again", function()
    local cut = { content = '{"name":"Ada","age":3', chunk = 4, stop_reason = "max_tokens" }
    for _, mode in ipairs { "native", "prompt" } do
      assert(kit.server:reset())
      local stream <close> = open(kit.gpt(), { cut, { content = kit.ADA } },
        { schema = kit.PERSON, mode = mode, repair = 2 })
      local seen = grown(stream)
      local r = assert(stream:response())
      assert.are.equal("truncated", r.output_error.code)
      assert.is_nil(r.output)
      assert.are.equal(cut.content, r.output_error.text)
      assert.are.same({ name = "Ada" }, seen[#seen].value)
      assert.are.same({ name = "Ada" }, stream:output())
      assert.are.equal(1, #kit.requests())
    end
  end)

  describe("by elements", function()
    local WANTED = { schema = LIST, mode = "native" }
    local TEXT = '{"items":[{"n":1},{"n":"two"},{"n":3}]}'

    it("gives each once, when it is whole, and judges it alone", function()
      for chunk = 1, #TEXT do
        local stream <close> = open(kit.gpt(), { { content = TEXT, chunk = chunk } }, WANTED)
        local seen = {}
        for element, why in stream:elements "/items" do seen[#seen + 1] = { element.n, why and "wrong" or nil } end
        assert.are.same({ { 1 }, { "two", "wrong" }, { 3 } }, seen)
      end
    end)

    it("may be the root's", function()
      local stream <close> = open(kit.gpt(), { { content = '{"value":["a","b"]}', chunk = 3 } },
        { schema = { type = "array", items = { type = "string" } }, mode = "native" })
      local seen = {}
      for element in stream:elements "" do seen[#seen + 1] = element end
      assert.are.same({ "a", "b" }, seen)
    end)

    it("may be below a number, of an item or as a name", function()
      local list = { type = "array", items = { type = "integer" } }
      local wanted = { mode = "prompt", schema = { type = "object", properties = { ["2024"] = list,
        rows = { type = "array", prefixItems = { list, { type = "null" } } } } } }
      for _, path in ipairs { "/2024", "/rows/0" } do
        local stream <close> = open(kit.gpt(), { { content = '{"2024":[1,"a"],"rows":[[1,"a"]]}', chunk = 3 } }, wanted)
        local seen = {}
        for element, why in stream:elements(path) do seen[#seen + 1] = { element, why and "wrong" or nil } end
        assert.are.same({ { 1 }, { "a", "wrong" } }, seen)
      end
    end)

    it("raises the error of an answer that fails", function()
      local stream <close> = open(kit.gpt { retry = false }, { { content = TEXT, chunk = 2,
        stream_error = { type = "server_error", message = "no", after = 12 } } }, { schema = LIST, mode = "native" })
      local ok, err = pcall(function()
        for element in stream:elements "/items" do assert.are.equal(1, element.n) end
      end)
      assert.is_false(ok)
      assert.are.equal("server", err.kind)
    end)
  end)
end)
