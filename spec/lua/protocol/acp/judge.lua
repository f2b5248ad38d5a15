-- Judges what an agent writes by the protocol's JSON schema (schema.json): its messages fit, and have no members that
-- the schema names nowhere. `make interop` judges more strictly, by another validator.

local core = require "koine.core"
local koine = require "koine"

local judge = {}

local FREE = { _meta = true, rawInput = true, rawOutput = true } -- members whose values are anything

local document = core.decode(assert(koine.files.read "spec/lua/protocol/acp/schema.json"))
local params, results, known = {}, {}, {}

for name, def in next, document["$defs"] do
  local kind = name:find "Response$" and results or params
  if def["x-method"] then kind[def["x-method"]] = name end
end

-- Enters the names of all properties.
local function learn(part)
  for key, value in next, type(part) == "table" and part or {} do
    if key == "properties" then
      for name in next, value do known[name] = true end
    end
    learn(value)
  end
end

learn(document)

-- A member that the schema names nowhere; nil for none.
local function stray(value)
  for key, member in next, type(value) == "table" and value or {} do
    if type(key) == "string" and not known[key] then return key end
    local found = not FREE[key] and stray(member)
    if found then return found end
  end
end

--- Why a message of an agent (decoded) does not fit, in words; nil where it does. `method` is what an answer is to.
function judge.problem(message, method)
  local name, value = results[method], message.result
  if message.method then name, value = params[message.method], message.params end
  if message.error then name, value = "Error", message.error end
  if message.jsonrpc ~= "2.0" or not name then return "no schema: " .. core.encode(message) end
  local ok, why = koine.schema.validate({ ["$defs"] = document["$defs"], ["$ref"] = "#/$defs/" .. name }, value)
  if not ok then return ("%s: %s"):format(why, core.encode(message)) end
  local member = stray(value)
  return member and ("the member %s: %s"):format(member, core.encode(message))
end

return judge
