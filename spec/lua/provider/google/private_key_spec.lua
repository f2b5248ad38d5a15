-- The private keys of service accounts: what is one, and what is not.

local koine = require "koine"
local pkey = require "openssl.pkey"
local private_key = require "koine.provider.auth.google.private_key"

describe("a service account", function()
  it("takes a key however its lines are broken, and none that was cut or changed", function()
    local pem = pkey.new({ type = "RSA", bits = 2048 }):toPEM "private"
    local head, body, foot = pem:match "^(%-.-%-\n)(.-)(%-.-)$"
    local der = private_key(pem)
    assert.is_string(der)
    assert.is_true(der == private_key(head .. body:gsub("%s", "") .. "\n" .. foot))
    assert.is_true(der == private_key((pem:gsub("\n", "\r\n"))))
    for i = 1, 37 do -- all before the first number
      local changed = der:sub(1, i - 1) .. string.char(der:byte(i) ~ 0x10) .. der:sub(i + 1)
      assert.is_true(private_key(head .. koine.base64(changed) .. "\n" .. foot) == nil, "byte " .. i)
    end
    for i = 0, #der - 1, 7 do
      assert.is_true(private_key(head .. koine.base64(der:sub(1, i)) .. "\n" .. foot) == nil, i .. " bytes")
    end
    assert.is_true(der == private_key("\n " .. pem .. "\r\n\n"))
    for _, other in ipairs { "x" .. pem, pem .. "x", head .. foot, pem .. pem, head, foot,
      (pem:gsub("-%-%-%-%-\n", "-----", 1)), head:sub(1, -2) .. foot, "", "\n" } do
      assert.is_nil(private_key(other))
    end
  end)

  it("says at once of a file of nothing but lines that it holds none", function()
    local began = os.clock()
    for _, space in ipairs { "\n", " ", "\r\n" } do
      local lines = space:rep(60000)
      for _, text in ipairs { lines .. "x", "-----BEGIN PRIVATE KEY-----" .. lines .. "!",
        "-----BEGIN PRIVATE KEY-----\nAA" .. lines .. "-----END PRIVATE KEY-----" .. lines .. "x" } do
        assert.is_nil(private_key(text))
      end
    end
    assert.is_true(os.clock() - began < 1, "CPU seconds: " .. os.clock() - began)
  end)
end)
