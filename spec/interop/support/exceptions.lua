--- Items that a strange server is known to fail, each named, with how it fails and why. They run all the same.

local exceptions = {}

local function text_of(err)
  if type(err) ~= "table" then return tostring(err) end
  return tostring(err.message or err)
end

-- Runs a test that has to fail, saying `says`.
local function fails(assert, test, says, why)
  local ok, err = pcall(test)
  assert.is_false(ok, "the exception is not needed any more: " .. why)
  local said = text_of(err)
  assert.is_truthy(said:find(says, 1, true), ("fails otherwise (%s): %s"):format(why, said))
end

--- Wraps busted's `it` for the lists of exceptions ({part of the name, part of the failure, reason}): the new `it`, and
-- a test that fails when an exception met no item.
function exceptions.around(it, assert, lists)
  local all, used = {}, {}
  for _, list in ipairs(lists) do table.move(list, 1, #list, #all + 1, all) end

  local function wrapped(name, test)
    for _, exception in ipairs(all) do
      local part, says, why = table.unpack(exception)
      if name:find(part, 1, true) then
        used[exception] = true
        it(("%s [not here: %s]"):format(name, why), function() fails(assert, test, says, why) end)
        return
      end
    end
    it(name, test)
  end

  return wrapped, function()
    for _, exception in ipairs(all) do assert.is_true(used[exception], "no item has the name: " .. exception[1]) end
  end
end

return exceptions
