-- Base64 of bytes: the vectors of RFC 4648, section 10, and all bytes at every remainder.

local koine = require "koine"

describe("koine.base64", function()
  it("is what RFC 4648 says", function()
    local texts = { [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foob = "Zm9vYg==", fooba = "Zm9vYmE=",
      foobar = "Zm9vYmFy", ["\xFB\xEF\xFF"] = "++//", ["\0"] = "AA==" }
    for bytes, text in next, texts do assert.are.equal(text, koine.base64(bytes)) end
  end)

  it("is what others decode", function()
    local mime, bytes = require "mime", {}
    for i = 0, 255 do bytes[i + 1] = string.char(i) end
    local all = table.concat(bytes)
    for n = 253, 256 do assert.are.equal(all:sub(1, n), (mime.unb64(koine.base64(all:sub(1, n))))) end
  end)

  it("raises for what is no string", function()
    local ok, err = pcall(koine.base64)
    assert.is_false(ok)
    assert.are.equal("bytes", err.field)
  end)
end)
