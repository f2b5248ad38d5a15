-- Records as print shows them.

local core = require "koine.core"
local records = require "koine.data.records"

describe("a printed record", function()
  it("has the fields in their order, escapes and cuts texts, and stays on one line", function()
    assert.are.equal('koine.usage {input_tokens = 1, output_tokens = 2, cache_read_tokens = 0, '
      .. 'cache_creation_tokens = 0, reasoning_tokens = 0}',
      tostring(records.usage { input_tokens = 1, output_tokens = 2 }))
    assert.are.equal('koine.text {text = "a \\"b\\"\\n\\27[2J"}', tostring(records.text { text = 'a "b"\n\27[2J' }))
    local long = tostring(records.text { text = ("é"):rep(100) })
    assert.is_truthy(utf8.len(long))
    assert.is_truthy(long:find('é…"}', 1, true))
    assert.are.equal('koine.message {role = "user", content = {{type = "text", text = "hi"}}}',
      tostring(records.message { role = "user", content = { records.text { text = "hi" } } }))
  end)

  it("ends, for tables that hold themselves and for many members", function()
    local loop, many = {}, {}
    loop.loop, loop[1.5], loop[true] = loop, 1, core.null
    for i = 1, 100 do many[i] = i end
    local text = tostring(records.tool_use { id = "i", name = "n", arguments = { loop = loop, many = many } })
    assert.is_true(#text < 500, text)
    assert.is_truthy(text:find("{…}", 1, true) and text:find("19, 20, …}", 1, true))
  end)
end)
