-- Which addresses a login asks.

local address = require "koine.protocol.mcp.login.address"
local raised = require "spec.lua.protocol.mcp.kit".raises
local koine = require "koine"

local PUBLIC, LOCAL = address.parse "https://example.com/mcp", address.parse "http://localhost:3000/mcp"

describe("addresses of a login", function()
  it("are URLs without a user or a fragment", function()
    local parts = address.parse "HTTPS://Example.COM./a/b?c=d"
    assert.are.same({ "https", "example.com", "443", "https://example.com.", "/a/b", "?c=d" },
      { parts.scheme, parts.host, parts.port, parts.origin, parts.path, parts.query })
    assert.are.equal("::1", address.parse("http://[::1]:80/").host)
    for _, url in ipairs { "", "example.com", "ftp://example.com", "https://", "https://u@example.com", "https://a b",
        "https://example.com/#x", "https://example.com/\n", "https://example.com\\@evil", "https://ä.com" } do
      assert.is_nil(address.parse(url), url)
    end
    assert.is_nil(address.parse("https://a.com/" .. ("x"):rep(5000)))
    assert.is_nil(address.parse(nil))
  end)

  it("are https, or on this machine", function()
    for _, url in ipairs { "https://example.com", "http://localhost:1", "http://127.1.2.3", "http://[::1]" } do
      assert.is_nil(address.problem(url), url)
    end
    for _, url in ipairs { "http://example.com", "http://10.0.0.1", "http://localhost.com", "http://127.0.0.1.com",
        "http://127.1", "http://0177.0.0.1", "http://2130706433" } do
      assert.is_truthy(address.problem(url), url)
    end
  end)

  it("are not private where the server is public", function()
    for _, host in ipairs { "localhost", "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.0.1", "192.168.1.1",
        "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "[::1]", "[fd00::1]", "[fe80::1]", "[::ffff:10.0.0.1]",
        "intranet", "printer.local", "a.internal", "2130706433", "0x7f.0.0.1", "127.1", "010.0.0.1", "1.2.3.4.5" } do
      assert.is_truthy(address.problem("https://" .. host .. "/x", PUBLIC), host)
      assert.is_nil(address.problem("https://" .. host .. "/x", LOCAL), host)
    end
    for _, host in ipairs { "auth.example.org", "8.8.8.8", "172.32.0.1", "100.128.0.1", "[2001:db8::1]" } do
      assert.is_nil(address.problem("https://" .. host, PUBLIC), host)
    end
  end)

  it("of servers are judged when the login is made", function()
    local err = raised("url", function() koine.mcp.login { url = "http://example.com/mcp" } end)
    assert.is_nil((err.message:find("example.com", 1, true)))
    assert.is_truthy(koine.mcp.login { url = "https://example.com/mcp" })
  end)
end)
