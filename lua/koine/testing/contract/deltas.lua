--- Checks the deltas of a stream: their grammar, and that they agree with the Response.

local core = require "koine.core"
local records = require "koine.data.records"
local vocabulary = require "koine.data.vocabulary"

-- Asserts the grammar of deltas: block*, block := start delta* end; text and thinking never interleave. Returns the
-- text of all text deltas, and per call in order of its start {id, name, json}.
local function read_deltas(assert, deltas)
  local open, text, calls, by_id = nil, {}, {}, {}
  for i, delta in ipairs(deltas) do
    local at = ("delta %d (%s)"):format(i, delta.type)
    local form = vocabulary.deltas[delta.type]
    assert.is_not_nil(form, at .. ": of no type that there is")
    local kind, step = form.block, form.step
    for _, field in ipairs(form.fields) do
      assert.is_true(#(delta[field] or "") > 0, ("%s: %s is empty"):format(at, field))
    end
    if kind == "tool_use" then
      local call = by_id[delta.tool_call_id]
      if step == "start" then
        assert.is_nil(call, at .. ": a second start")
        assert.is_nil(open, at .. ": inside a block of text or thinking")
        call = { id = delta.tool_call_id, name = delta.tool_name, json = "" }
        calls[#calls + 1], by_id[call.id] = call, call
      else
        assert.is_not_nil(call, at .. ": before its start")
        assert.is_nil(call.over, at .. ": after its end")
        call.over = step == "end" or nil
      end
      if step == "delta" then call.json = call.json .. delta.argument_delta end
    elseif step == "start" then
      assert.is_nil(open, at .. ": inside another block")
      open = kind
    else
      assert.are.equal(open, kind, at .. ": of a block that is not open")
      if step == "end" then open = nil
      elseif kind == "text" then text[#text + 1] = delta.text end
    end
  end
  assert.is_nil(open, "a block is left open")
  for _, call in ipairs(calls) do assert.is_true(call.over, "the call " .. call.id .. " is left open") end
  return table.concat(text), calls
end

--- Asserts that deltas follow the grammar and tell the same as the Response.
return function(kit, deltas, response)
  local assert = kit.assert
  local text, calls = read_deltas(assert, deltas)
  assert.are.equal(response:text(), text, "the deltas' text: response:text()")
  assert.are.equal(#response.tool_calls, #calls, "the deltas' calls: as many as response.tool_calls")
  for i, call in ipairs(calls) do
    local block = response.tool_calls[i]
    assert.are.equal(block.id, call.id, "delta.tool_call_id")
    assert.are.equal(block.name, call.name, "delta.tool_name")
    local arguments = core.decode(call.json == "" and "{}" or call.json)
    assert.is_true(records.equal(block.arguments, arguments), "arguments: " .. call.json)
  end
end
