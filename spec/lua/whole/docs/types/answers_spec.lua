-- The types for editors against the code: the fields of the loopback provider's answers.

local answers = require "koine.testing.loopback.script.answers"
local typed = require "spec.lua.whole.docs.types.typed"

-- A local of the file that a function is in, or one that it uses.
local function upvalue(f, name)
  for i = 1, 100 do
    local found, value = debug.getupvalue(f, i)
    if found == name then return value end
  end
end

describe("types of scripted answers", function()
  it("have the fields that a script may have", function()
    local known = upvalue(upvalue(answers.check, "check_answer"), "ANSWER")
    typed.assert_same(known, typed.fields_of "koine.ScriptedAnswer", "fields of an answer")
  end)
end)
