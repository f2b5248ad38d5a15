-- What a tool said, as blocks: each kind of item, and the bounds.

local core = require "koine.core"
local content = require "koine.protocol.mcp.tools.content"
local records = require "koine.data.records"

local PNG = core.base64_encode("\x89PNG\r\n\x1A\n" .. ("x"):rep(100))
local JPEG = core.base64_encode("\xFF\xD8\xFF" .. ("x"):rep(100))

-- The blocks of these items, which a message takes.
local function blocks(items, more)
  local result = { content = core.array(items) }
  for field, value in pairs(more or {}) do result[field] = value end
  local made = content.blocks(result)
  records.check_message({ role = "user", content = {
    { type = "tool_result", tool_use_id = "c", content = made, is_error = false } } }, "message")
  return made
end

-- The text of a single item.
local function text(item, more)
  local made = blocks({ item }, more)
  assert.are.equal(1, #made)
  assert.are.equal("text", made[1].type)
  return made[1].text
end

describe("an item", function()
  it("of text is a text, unchanged", function()
    assert.are.same({ { type = "text", text = "a\n\27[1m\tb" } }, blocks { { type = "text", text = "a\n\27[1m\tb" } })
  end)

  it("of an image is an image", function()
    assert.are.same({ { type = "image", source = PNG, media_type = "image/png" } },
      blocks { { type = "image", data = PNG, mimeType = "image/png" } })
    assert.are.same({ { type = "image", source = "AAAA", media_type = "image/webp" } },
      blocks { { type = "image", data = "AA\nAA", mimeType = "image/webp" } })
  end)

  it("of an image has the type that its bytes say", function()
    assert.are.equal("image/jpeg", blocks({ { type = "image", data = JPEG, mimeType = "image/png" } })[1].media_type)
    assert.are.equal("image/jpeg", blocks({ { type = "image", data = "AAAA", mimeType = "image/JPG" } })[1].media_type)
  end)

  it("of an image that no provider takes is a line", function()
    assert.are.equal("[image, image/svg+xml, 3 bytes: not shown]",
      text { type = "image", data = "AAAA", mimeType = "image/svg+xml" })
    assert.are.equal("[image, no type, 0 bytes: not shown]", text { type = "image" })
    assert.are.equal("[image, image/png, 0 bytes: not shown]",
      text { type = "image", data = core.null, mimeType = "image/png" })
  end)

  it("of an image is never a URL that a provider would fetch", function()
    for _, data in ipairs { "https://evil.example/a.png", "data:image/png;base64,AAAA", "http://127.0.0.1/" } do
      assert.is_truthy(text({ type = "image", data = data, mimeType = "image/png" }):find "not shown%]$")
    end
  end)

  it("of audio is a line with its size", function()
    assert.are.equal("[audio, audio/wav, 4 bytes: not shown]",
      text { type = "audio", data = "AAAAAA==", mimeType = "audio/wav" })
  end)

  it("of a link to a resource is one line", function()
    assert.are.equal("a.txt (file:///a.txt, text/plain): The first file.", text { type = "resource_link",
      name = "a.txt", uri = "file:///a.txt", mimeType = "text/plain", description = "The first\r\n\0file." })
    assert.are.equal("resource (no URI)", text { type = "resource_link" })
  end)

  it("of a resource with text is its URI and the text", function()
    assert.are.equal("file:///a b\nline 1\nline 2", text { type = "resource",
      resource = { uri = "file:///a\nb", text = "line 1\nline 2", mimeType = "text/plain" } })
  end)

  it("of a resource with bytes is an image, a document or a line", function()
    local function resource(mime, blob) return { type = "resource", resource = { uri = "u:1", mimeType = mime,
      blob = blob } } end
    assert.are.same({ { type = "image", source = PNG, media_type = "image/png" } },
      blocks { resource("image/png", PNG) })
    assert.are.same({ { type = "document", source = "AAAA", media_type = "application/pdf" } },
      blocks { resource("application/pdf", "AAAA") })
    assert.are.equal("[resource u:1, application/zip, 3 bytes: not shown]", text(resource("application/zip", "AAAA")))
    assert.are.equal("[resource u:1, no type, 0 bytes: not shown]", text(resource()))
    assert.are.equal("[a resource without contents]", text { type = "resource" })
  end)

  it("of an unknown type is a line that names the type", function()
    assert.are.equal('[an item of the unknown type "video x": not shown]', text { type = "video\nx" })
    assert.are.equal('[an item of the unknown type "?": not shown]', text {})
    assert.are.equal("[an item that is no object: not shown]", text "text")
  end)

  it("of an error is text, as providers demand", function()
    assert.are.equal(("[image, image/png, %d bytes: not shown]"):format(108),
      text({ type = "image", data = PNG, mimeType = "image/png" }, { is_error = true }))
  end)
end)

describe("a result", function()
  it("without items is its structured content", function()
    local made = blocks({}, { structured = { b = core.array {}, a = core.null } })
    assert.are.same({ { type = "text", text = '{"a":null,"b":[]}' } }, made)
    assert.are.same({}, content.blocks { content = "text" })
  end)

  it("with both is its items", function()
    assert.are.equal("a", text({ type = "text", text = "a" }, { structured = { b = 1 } }))
  end)

  it("has no empty texts", function() assert.are.same({}, blocks { { type = "text", text = "" } }) end)

  it("has at most 256 items", function()
    local items = {}
    for i = 1, 300 do items[i] = { type = "text", text = tostring(i) } end
    local made = blocks(items)
    assert.are.equal(257, #made)
    assert.are.equal("256", made[256].text)
    assert.are.equal("[44 more items were left out]", made[257].text)
    assert.are.equal(256, #blocks(table.move(items, 1, 256, 1, {})))
  end)

  it("has at most 1 MiB of text, cut at a character", function()
    local MAX = 1 << 20
    local made = blocks { { type = "text", text = ("x"):rep(MAX - 1) .. "é" }, { type = "text", text = "behind" },
      { type = "image", data = PNG, mimeType = "image/png" } }
    assert.are.equal(("x"):rep(MAX - 1), made[1].text)
    assert.are.equal("b", made[2].text)
    assert.are.equal("image", made[3].type)
    assert.are.equal("[7 bytes of text were left out]", made[4].text)
    assert.are.same({ { type = "text", text = ("x"):rep(MAX) } }, blocks { { type = "text", text = ("x"):rep(MAX) } })
    local structured = blocks({}, { structured = { a = ("x"):rep(MAX) } })
    assert.are.equal("[8 bytes of text were left out]", structured[2].text)
  end)
end)
