--- The memory of what one server handed out, so that the strict checkers can judge what comes back. Pure.

local issued = {}

--- An empty memory. `endpoints`: by wire. Its tables: `thinking`: {text, model} by signature; `redacted`: model by
-- data; `opaque`: a table for each wire; `encrypted`, `items`, `stored`: those of Responses; `containers`: model by id.
-- Its flags: `strict`: the server handed out signatures, so that no other is right; `open`: it played a recording,
-- whose signatures it does not know.
function issued.new(endpoints)
  local memory = { thinking = {}, redacted = {}, opaque = {}, encrypted = {}, items = {}, stored = {}, containers = {},
                   strict = false, open = false }
  for wire in pairs(endpoints) do
    memory.opaque[wire] = {}
  end
  return memory
end

--- Remembers the signatures and redacted data that a plan hands out for `model` (as requested).
function issued.remember(memory, plan, model)
  for _, block in ipairs(plan.blocks) do
    if block.type == "thinking" then
      memory.thinking[block.signature] = { text = block.text, model = model }
      memory.strict = not memory.open
    elseif block.type == "redacted_thinking" then
      memory.redacted[block.data] = model
      memory.strict = not memory.open
    end
  end
end

return issued
