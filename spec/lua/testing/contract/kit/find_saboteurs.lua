--- Adds a test for each adapter that is wrong on purpose: the contract must find it.
-- `it` is busted's; a saboteur is {name, numbers of the items that must fail (none: all must pass), function that
-- spoils an adapter}; failures(spoil) returns {[number] = message} and how many items ran: `least` or more.

local luassert = require "luassert"

return function(it, saboteurs, failures, least)
  for _, saboteur in ipairs(saboteurs) do
    local name, numbers, spoil = table.unpack(saboteur)
    it("finds: " .. name, function()
      local failed, count = failures(spoil)
      luassert.is_true(count >= least, count .. " items")
      if #numbers == 0 then luassert.are.same({}, failed) end
      for _, number in ipairs(numbers) do
        luassert.is_not_nil(failed[number], ("item %d did not fail"):format(number))
      end
    end)
  end
end
