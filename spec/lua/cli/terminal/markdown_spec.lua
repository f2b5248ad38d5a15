-- Markdown on a terminal: styles are added, nothing is taken away, wherever the pieces of an answer end.

local markdown = require "koine.cli.terminal.markdown"

-- What is shown of these pieces, with the escape sequences as <1;2>.
local function shown(...)
  local renderer, parts = markdown.new(), {}
  for i, piece in ipairs { ... } do parts[i] = renderer:feed(piece) end
  return ((table.concat(parts) .. renderer:finish()):gsub("\27%[0?;?([%d;]*)m", "<%1>"))
end

local function bare(text) return (text:gsub("<[%d;]*>", "")) end

local TEXT = [[
# A *fine* heading

Some **strong** and *soft* and ***both***, `code **x**` and ``a ` b``.
* an item with 2 * 3 and a lone * star
- 2**3 \*not\* snake_case **open
next line, C# and #hash

```lua
local a = b ** c -- # `no`
~~~
```
behind ```in line``` it
~~~~
```
~~~~
日本 **語**.]]

describe("Markdown on a terminal", function()
  it("marks headings, strong text, emphasis and code", function()
    assert.are.equal("<1># Title<>\ntext", shown "# Title\ntext")
    assert.are.equal("a <1>**b**<> c", shown "a **b** c")
    assert.are.equal("a <3>*b*<> c", shown "a *b* c")
    assert.are.equal("<1;3>***b***<>", shown "***b***")
    assert.are.equal("a <2>`b **c**`<> d", shown "a `b **c**` d")
    assert.are.equal("<2>``a ` b``<>", shown "``a ` b``")
    assert.are.equal("<1># a <1;2>`b`<1> c<>\n", shown "# a `b` c\n")
  end)

  it("marks blocks of code up to their own fence", function()
    assert.are.equal("<2>```c\n**a**\n~~~\n```<>\nb", shown "```c\n**a**\n~~~\n```\nb")
    assert.are.equal("<2>~~~~\n```\n~~~\n~~~~<>\n", shown "~~~~\n```\n~~~\n~~~~\n")
    assert.are.equal("<2>```\na ``` b\n<>", shown "```\na ``` b\n")
    assert.are.equal("<2>```\n``` no end\n<>", shown "```\n``` no end\n")
    assert.are.equal("1. x\n   <2>```\n   y\n   ```<>\nz", shown "1. x\n   ```\n   y\n   ```\nz")
  end)

  it("leaves marks that mean nothing alone", function()
    for _, text in ipairs { "2 * 3 * 4", "* item\n* item", "a\\*b\\*", "C# and #hash", "snake_case_name", "a ~ b ~~ c",
      "**** x", "a* b*" } do
      assert.are.equal(text, shown(text))
    end
    assert.are.equal("<2>```x```<> y", shown "```x``` y")
  end)

  it("ends at the line end what has no end", function()
    assert.are.equal("a <1>**b<>\nc", shown "a **b\nc")
    assert.are.equal("a <3>*b<>\nc", shown "a *b\nc")
    assert.are.equal("a <2>`b<>\nc", shown "a `b\nc")
    assert.are.equal("a <1>**b<>", shown "a **b")
    assert.are.equal("a *", shown "a *")
  end)

  it("shows the same wherever a piece ends, and every character", function()
    local whole, pieces = shown(TEXT), {}
    assert.are.equal(TEXT, bare(whole))
    for char in TEXT:gmatch(utf8.charpattern) do pieces[#pieces + 1] = char end
    assert.are.equal(whole, shown(table.unpack(pieces)))
    for at = 1, #pieces - 1 do
      assert.are.equal(whole, shown(table.concat(pieces, "", 1, at), table.concat(pieces, "", at + 1)))
    end
  end)

  it("holds back nothing but a run of marks", function()
    local renderer = markdown.new()
    assert.are.equal("a ", renderer:feed "a *")
    assert.are.equal("\27[0;3m*b", renderer:feed "b")
    assert.are.equal("", renderer:feed "*")
    assert.are.equal("*\27[0m c", renderer:feed " c")
    assert.are.equal("", renderer:feed "``")
    assert.are.equal("\27[0;2m``\27[0m", renderer:finish())
  end)
end)
