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

describe("text.is_credential", function()
  it("looks at the name, in any case, and at the value", function()
    for _, name in ipairs { "API_KEY", "Authorization", "x-token", "PGPASS", "MY_SECRETS", "credentials" } do
      assert.is_true(text.is_credential(name, "short"), name)
    end
    assert.is_true(text.is_credential("PLAIN", "abcdef0123456789"))
    assert.is_false(text.is_credential("LANG", "en_US.UTF-8"))
  end)
end)

describe("text.percent", function()
  it("escapes every byte but the unreserved ones, and those that are to be kept", function()
    assert.are.equal("aZ09._~-", text.percent "aZ09._~-")
    assert.are.equal("%00%20%25%2F%C3%A4%FF", text.percent "\0 %/ä\xFF")
    assert.are.equal("a/b%3F", text.percent("a/b?", "/"))
  end)
end)

describe("text.shown_path", function()
  it("shows paths", function()
    for _, path in ipairs { "a.json", "/srv/keys/0123456789abcdef0123.json", "./key 2.json", "~/x", "key" } do
      assert.are.equal(path, text.shown_path(path))
    end
  end)

  it("shows neither the contents of a file nor a credential", function()
    for _, other in ipairs { "", "  ", '{"type": "x"}', " [1]", "a\nb", "-----BEGIN KEY-----", "/" .. ("x"):rep(300),
      "ghp_0123456789abcdef0123456789", "AKIAIOSFODNN7EXAMPLE", "sk-ant-api03-abcdefghij0123456789" } do
      assert.is_nil(text.shown_path(other), other)
    end
  end)
end)

describe("text.may_be_secret", function()
  it("does not take the ids of models for keys", function()
    for _, id in ipairs { "claude-sonnet-4-5-20250929", "accounts/fireworks/models/llama-v3p1-405b-instruct",
      "qwen3:4b", "ft:gpt-4o-mini-2024-07-18:org::AbCdEf12", "anthropic.claude-3-5-sonnet-20241022-v2:0",
      "antidisestablishmentarianism", "12345678901234567890" } do
      assert.is_false(text.may_be_secret(id), id)
    end
  end)
end)

describe("text.redact", function()
  it("hides each of any number of credentials", function()
    local secrets, whole = {}, {}
    for i = 1, 50 do
      secrets[i] = ("credential-%02d"):format(i)
      whole[i] = secrets[i] .. "."
    end
    assert.equal(("[redacted]."):rep(50), text.redact(table.concat(whole), secrets))
    secrets[#secrets + 1] = "credential-01-of-many"
    assert.equal("[redacted].", text.redact("credential-01-of-many.", secrets))
    assert.equal("credential", text.redact("credential", {}))
  end)
end)

describe("text.is_word", function()
  it("leaves out blank lines and stack traces, of Lua and of Node", function()
    for _, line in ipairs { "no key", "  no key: set it", "Error: at the end", "\tno key", "Node.js is too old" } do
      assert.is_true(text.is_word(line), line)
    end
    for _, line in ipairs { "", " \t", "stack traceback:", "\t[C]: in ?", "\t[C]: in function 'error'",
      "\tserver.lua:3: in main chunk", "\t...\t(skipping 190 levels)", "    at main (/srv/a.js:1:7)",
      "Node.js v18.19.0" } do
      assert.is_false(text.is_word(line), line)
    end
  end)
end)
