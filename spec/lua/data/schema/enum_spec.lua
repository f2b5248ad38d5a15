-- Enums of many values, as of products or places: they are looked up.

local core = require "koine.core"
local schema = require "koine.data.schema"

describe("an enum of many values", function()
  local list = { 1, 2.5, true, core.null, { a = 1 } }
  for i = #list + 1, 3000 do list[i] = "v" .. i end
  local many = { type = "array", items = { enum = list } }

  it("has the values that one of few has", function()
    for _, value in ipairs { 1, 1.0, 2.5, true, core.null, { a = 1 }, "v3000" } do
      assert.is_true((schema.validate(many, { value })))
    end
    for _, value in ipairs { "1", 2, false, { a = 2 }, "v3001", 0 / 0 } do
      assert.is_nil((schema.validate(many, { value })))
    end
  end)

  it("is looked up, not gone through", function()
    local values, steps = {}, 0
    for i = 1, 3000 do values[i] = "v3000" end
    debug.sethook(function() steps = steps + 1 end, "", 1000)
    local fits = schema.validate(many, values)
    debug.sethook()
    assert.is_true(fits)
    assert.is_true(steps < 3000, steps)
  end)
end)
