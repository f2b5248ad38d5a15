-- Cassettes beside chats: servers of MCP at a URL.

local kit = require "spec.lua.testing.cassette.kit"
local mcp_kit = require "spec.lua.protocol.mcp.transport.http_kit"
local transport = require "koine.protocol.mcp.transport.http"

describe("an MCP server at a URL", function()
  before_each(kit.begin)
  after_each(kit.restore)

  it("is recorded and played, answers and event streams, without its token", function()
    local tape = kit.open { mode = "record" }
    local url
    mcp_kit.run(function(request)
      if request.message.method == "plain" then return mcp_kit.json(request, { n = 1 }) end
      return mcp_kit.stream(mcp_kit.record { method = "notifications/message", params = { level = "info" } },
        mcp_kit.result(request, { n = 2 }))
    end, function(opened)
      url = opened.options.url
      assert.are.equal(1, assert(opened:request("plain", { a = "x" }, {})).n)
      assert.are.equal(2, assert(opened:request("streamed", {}, {})).n)
    end, { era = "modern", transport = tape, token = "token-0123456789" })
    assert(tape:finish())
    assert.is_nil(kit.text():find("token-0123456789", 1, true))
    tape = kit.open { mode = "replay" }
    local told = {}
    local opened <close> = transport.open({ url = url, transport = tape },
      { notifications = { ["notifications/message"] = function(params) told[#told + 1] = params.level end } })
    opened:set_version("modern", mcp_kit.MODERN)
    assert.are.equal(1, assert(opened:request("plain", { a = "x" }, {})).n)
    assert.are.equal(2, assert(opened:request("streamed", {}, {})).n)
    assert.are.same({ "info" }, told)
    local _, err = opened:request("plain", { a = "y" }, {})
    assert.is_truthy(tostring(err):find("where ", 1, true), tostring(err))
  end)
end)
