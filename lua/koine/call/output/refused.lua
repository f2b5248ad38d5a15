--- Schemas that a provider refused to hold the model to, though it takes all that is in them: it says so only when it
-- is asked. An adapter remembers the last of them in its private table, by a digest of the schema that went out and of
-- the strict tools beside it, which count with it; so the provider is not asked the same again.

local core = require "koine.core"
local dialects = require "koine.data.schema.rewrite.dialects"

local refused = {}

local MOST <const> = 64 -- schemas that an adapter remembers

local function digest(schema, beside)
  local parts = { core.write_schema(schema) }
  for i, other in ipairs(beside) do parts[i + 1] = core.write_schema(other) end
  return core.sha256(table.concat(parts, "\n"))
end

--- Whether an error says that a schema is too complex. `facts` are the quirks of row and model.
function refused.says(err, facts)
  if err.kind ~= "invalid_request" then return false end
  local message = err.message:lower()
  for _, words in ipairs(dialects[facts.schema_dialect or "plain"].too_complex or {}) do
    if message:find(words, 1, true) then return true end
  end
  return false
end

--- Remembers a schema, as it went out, and those of the strict tools beside it (array).
function refused.note(state, schema, beside)
  local memory = state.refused_schemas or { last = 0 }
  state.refused_schemas = memory
  memory.last = memory.last % MOST + 1
  memory[memory.last] = digest(schema, beside)
end

--- Whether the schema is one of those.
function refused.has(state, schema, beside)
  local memory = state.refused_schemas
  if not memory then return false end
  local wanted = digest(schema, beside)
  for _, one in ipairs(memory) do
    if one == wanted then return true end
  end
  return false
end

return refused
