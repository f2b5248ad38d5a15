local text = require "koine.data.text"

describe("text.cut", function()
  it("keeps a text that fits", function()
    for _, fits in ipairs { "", "abc", "äöü" } do
      local kept, was_cut = text.cut(fits, #fits)
      assert.are.same({ fits, false }, { kept, was_cut })
    end
  end)

  it("cuts before a character that does not fit whole", function()
    for _, character in ipairs { "a", "ä", "€", "😀" } do
      local whole = character:rep(3)
      for max = 0, #whole - 1 do
        local kept, was_cut = text.cut(whole, max)
        assert.are.equal(character:rep(max // #character), kept)
        assert.is_true(was_cut)
      end
    end
  end)

  it("keeps the bytes of what is no UTF-8", function()
    local tails = ("\x80"):rep(10)
    assert.are.equal(tails:sub(1, 7), (text.cut(tails, 7)))
    assert.are.equal(tails:sub(1, 2), (text.cut(tails, 2)))
    assert.are.equal("", (text.cut(tails, 0)))
  end)
end)
