-- Which calls are asked for, and what annotations are worth.

local approval = require "koine.protocol.mcp.tools.approval"

local READ = { readOnlyHint = true, destructiveHint = false, idempotentHint = true, openWorldHint = false }

describe("hints", function()
  it("are what a trusted server says", function() assert.are.same(READ, approval.hints(READ, true)) end)

  it("have defaults that expect the worst", function()
    local worst = { readOnlyHint = false, destructiveHint = true, idempotentHint = false, openWorldHint = true }
    assert.are.same(worst, approval.hints(nil, true))
    assert.are.same(worst, approval.hints(READ, false))
    assert.are.same(worst, approval.hints({ readOnlyHint = "true", destructiveHint = 0 }, true))
    assert.are.same(worst, approval.hints("text", true))
  end)
end)

describe("approval", function()
  local function needed(setting, annotations, trusted)
    return approval.needed(setting, { mcp = { annotations = annotations } }, trusted)
  end

  it("is asked for no call, or for all", function()
    assert.is_false(needed("none", nil, false))
    assert.is_true(needed("all", READ, true))
  end)

  it("is asked for writes: all but what a trusted server marks as reading", function()
    assert.is_false(needed("writes", READ, true))
    assert.is_true(needed("writes", READ, false))
    assert.is_true(needed("writes", {}, true))
    assert.is_true(needed("writes", nil, true))
  end)

  it("is what a function says of the tool and the arguments", function()
    local tool = { mcp = {} }
    local f = approval.needed(function(one, args) return one == tool and args.path == "/" end, tool, true)
    assert.is_true(f { path = "/" })
    assert.is_false(f { path = "/tmp" })
  end)
end)
