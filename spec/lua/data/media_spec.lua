-- Images and documents of files: which kind the bytes are, and the blocks that koine.image.file and koine.document.file
-- make of them.

local cjson = require "cjson"
local folder = require "spec.support.folder"
local koine = require "koine"
local raised = require "spec.support.raised"

local PNG, PDF = "\x89PNG\r\n\x1A\n\0\1", "%PDF-1.4\n\0\1"
local ZIP, OLE = "PK\3\4\20\0", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0"
local WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

describe("koine.files.media_type", function()
  local type_of = koine.files.media_type

  it("tells images and PDFs by their beginning, whatever the name says", function()
    local cases = { ["image/png"] = PNG, ["image/jpeg"] = "\xFF\xD8\xFF\xE0\0", ["image/gif"] = "GIF89a\1\0",
      ["image/webp"] = "RIFF\1\0\0\0WEBPVP8 ", ["image/bmp"] = "BM\1\2\3\4\0\0\0\0", ["image/tiff"] = "II*\0\8",
      ["image/heic"] = "\0\0\0\24ftypheic\0", ["image/heif"] = "\0\0\0\24ftypmif1\0",
      ["image/avif"] = "\0\0\0\28ftypavif\0", ["application/pdf"] = PDF }
    for expected, bytes in pairs(cases) do
      for _, name in ipairs { "a.txt", "a.docx", "a", "" } do assert.are.equal(expected, type_of(bytes, name)) end
      assert.are.equal(expected, type_of(bytes))
    end
    assert.are.equal("image/gif", type_of "GIF87a")
    assert.are.equal("image/tiff", type_of "MM\0*")
  end)

  it("tells kinds of text and office documents by the name", function()
    local cases = { ["a.csv"] = "text/csv", ["a.md"] = "text/markdown", ["A.HTML"] = "text/html",
      ["a.htm"] = "text/html", ["a.xml"] = "text/xml",
      ["a.json"] = "text/plain", ["a.lua"] = "text/plain", ["README"] = "text/plain",
      ["a.png"] = "text/plain", ["a.pdf"] = "text/plain", ["b.md/a"] = "text/plain" }
    for name, expected in pairs(cases) do assert.are.equal(expected, type_of("BMW and others, é\n", name), name) end
    assert.are.equal("text/plain", type_of "II and I")
    assert.are.same({ WORD, "application/msword" }, { type_of(ZIP, "a.docx"), type_of(OLE, "A.DOC") })
  end)

  it("is nil for what is neither", function()
    for _, bytes in ipairs { "", "a\0b", "\xFF\xFE", ZIP, OLE, "caf\xE9" } do assert.is_nil(type_of(bytes, "a.txt")) end
    assert.is_nil(type_of(ZIP, "a.zip"))
    assert.are.equal("bytes", raised.as("ArgumentError", type_of, 5).field)
    assert.are.equal("name", raised.as("ArgumentError", type_of, "", 5).field)
  end)
end)

describe("a block of a file", function()
  local directory

  before_each(function() directory = folder.new() end)
  after_each(function() folder.remove(directory) end)

  local function file(name, bytes)
    local path = directory .. "/" .. name
    assert(koine.files.write(path, bytes))
    return path
  end

  -- Nothing, and an error of this code and kind whose message has the path and the words.
  local function fails(code, kind, path, words, made, err)
    assert.is_nil(made)
    assert.are.same({ code, kind }, { err.code, err.kind })
    assert.are.equal(path .. ": " .. words, err.message)
  end

  it("is that of the constructor", function()
    assert.are.equal(koine.image { source = koine.base64(PNG), media_type = "image/png" },
      (koine.image.file(file("a.txt", PNG))))
    assert.are.equal(koine.document { source = koine.base64(PDF), media_type = "application/pdf", title = "b" },
      (koine.document.file(file("b", PDF))))
    assert.are.equal(koine.document { source = koine.base64 "# Hi", media_type = "text/markdown", title = "c.md" },
      (koine.document.file(file("c.md", "# Hi"))))
    assert.are.equal(koine.image { source = "https://example.org/a.png" },
      koine.image { source = "https://example.org/a.png" })
  end)

  it("has the fields that are given", function()
    local made = koine.document.file(file("a.txt", "Text."), { title = "T", context = "C",
      citations = { enabled = true } })
    assert.are.same({ "T", "C", { enabled = true } }, { made.title, made.context, made.citations })
    made = koine.image.file(file("a.xyz", "unknown"), { media_type = "image/x-new" })
    assert.are.equal("image/x-new", made.media_type)
    made = koine.document.file(file("a.bin", "\0\xFF"), { media_type = "application/x-new" })
    assert.are.equal("application/x-new", made.media_type)
  end)

  it("is none of a file that is not there, not regular, empty or too large, and waits for none", function()
    assert(os.execute("mkfifo '" .. directory .. "/pipe'"))
    local full = file("full.png", PNG .. ("x"):rep(100))
    for _, make in ipairs { koine.image.file, koine.document.file } do
      fails("absent", "other", directory .. "/none.png", "No such file or directory", make(directory .. "/none.png"))
      fails(nil, "other", directory, "Is a directory", make(directory))
      fails(nil, "other", directory .. "/pipe", "it is no regular file", make(directory .. "/pipe"))
      fails("empty", "other", directory .. "/empty", "it is empty", make(file("empty", "")))
      fails(nil, "limit", full, "larger than 109 bytes", make(full, { max = 109 }))
    end
    assert.is_truthy(koine.image.file(full, { max = 110 }))
  end)

  it("is none of a file of another kind, and the error says which", function()
    local image = "no image (PNG, JPEG, GIF, WebP, HEIC, HEIF, AVIF, BMP, TIFF)"
    local path = file("a.png", "Hello.")
    fails("media_type", "other", path, image .. ", but text/plain: koine.document.file takes it",
      koine.image.file(path))
    path = file("b.png", PDF)
    fails("media_type", "other", path, image .. ", but application/pdf: koine.document.file takes it",
      koine.image.file(path))
    path = file("c.png", "\0\1\2")
    fails("media_type", "other", path, image, koine.image.file(path))
    fails("media_type", "other", path, "neither a PDF, text in UTF-8 nor an office document",
      koine.document.file(path))
    path = file("d.pdf", PNG)
    fails("media_type", "other", path, "no document, but image/png: koine.image.file takes it",
      koine.document.file(path))
  end)

  it("raises for wrong use before it looks for the file", function()
    local none = directory .. "/none"
    for _, case in ipairs { { "path" }, { "path", "" }, { "path", "a\0b" }, { "options", none, 5 },
      { "max", none, { max = 0 } }, { "max", none, { max = "5" } }, { "source", none, { source = "AAAA" } } } do
      for _, make in ipairs { koine.image.file, koine.document.file } do
        assert.are.equal(case[1], raised.as("ArgumentError", make, table.unpack(case, 2)).field)
      end
    end
    for field, value in pairs { ["document.title"] = { title = 5 }, ["document.citations"] = { citations = true },
      ["document.media_type"] = { media_type = "a\nb" } } do
      assert.are.equal(field, raised.as("ArgumentError", koine.document.file, none, value).field)
    end
    assert.are.equal("title", raised.as("ArgumentError", koine.image.file, none, { title = "T" }).field)
  end)

  it("goes to providers", function()
    local server <close> = assert(koine.testing.start())
    assert(server:script "echo")
    local content = { assert(koine.image.file(file("a", PNG))), assert(koine.document.file(file("b.pdf", PDF))),
      assert(koine.document.file(file("c.csv", "a,b\n1,2\n"))), koine.text { text = "What is in these?" } }
    local claude = koine.anthropic { model = "m", base_url = server.url, key = "k" }
    local gpt = koine.openai { model = "m", base_url = server.url, key = "k" }
    local gemini = koine.gemini { model = "m", base_url = server.url .. "/v1beta", key = "k" }
    for _, adapter in ipairs { claude, gpt, gemini } do
      assert.are.equal("You said: What is in these?",
        assert(adapter:chat { { role = "user", content = content } }):text())
    end
    local requests = assert(server:requests())
    for _, request in ipairs(requests) do assert.are.same({}, request.problems) end
    local sent = cjson.decode(requests[1].body).messages[1].content
    assert.are.same({ "image/png", koine.base64(PNG), "b.pdf", "a,b\n1,2\n" },
      { sent[1].source.media_type, sent[1].source.data, sent[2].title, sent[3].source.data })
  end)
end)

describe("the constructors beside", function()
  it("refuse a source that is neither base64 nor a URL", function()
    for name, make in pairs { image = koine.image, document = koine.document } do
      for _, source in ipairs { "photo.png", "/tmp/a.pdf", PNG, "not base64!", "data:image/png;base64,!!" } do
        local err = raised.as("ArgumentError", make, { source = source, media_type = "image/png" })
        assert.are.equal(name .. ".source", err.field)
        assert.are.equal("base64 data, as koine.base64(bytes) gives, or a URL "
          .. "(koine.image.file and koine.document.file read files)", err.expected)
      end
    end
  end)
end)
