--- Schemas as providers take them for constrained decoding. The caller's schema is never changed, and what the model
-- answers is to be judged with it; what goes out is the rewritten copy.
--
--   local r, refusal = rewrite(given, "openai_strict")
--
-- Keywords that a dialect (dialects.lua) lacks are told to the model in the description, `{minLength: 3}`. A schema
-- that cannot be rewritten without another meaning is refused.

local core = require "koine.core"
local dialects = require "koine.data.schema.rewrite.dialects"
local gather = require "koine.data.schema.rewrite.gather"
local limits = require "koine.data.schema.rewrite.limits"
local node = require "koine.data.schema.rewrite.node"
local plain = require "koine.data.schema.rewrite.plain"

-- {path, keyword, message}
local Refusal = {}

local function refuse(_, path, keyword, message)
  message = message or keyword == "" and "schemas nested too deeply" or keyword .. " cannot be sent"
  error(setmetatable({ path = path, keyword = keyword, message = ("%s: %s"):format(path, message) }, Refusal), 0)
end

-- Whether a schema without $ref is one of objects alone.
local function is_object(s)
  if s.type ~= "object" and (s.type ~= nil or not s.properties) then return false end
  return not (s.anyOf or s.oneOf or s.enum or s.const ~= nil)
end

-- The root without $ref, and without allOf where the dialect has none: the root has to say itself what it is.
local function gathered(c, root, path)
  if type(root) ~= "table" then return root end
  local opened = {}
  local made = gather.one(c, root, path, true, c.dialect.all_of == "merge", opened)
  for _, target in ipairs(opened) do c.open[target] = nil end
  return made
end

-- Puts the schemas that references name beside the root.
local function put_defs(c, made)
  if next(c.defs) then made["$defs"] = c.defs end
  return made
end

-- The same where the schema goes out as it is: nil for a root that cannot say itself what it is; nothing is refused.
local function gathered_if_plain(c, root, path)
  local ok, made = pcall(gathered, c, root, path)
  if not ok and getmetatable(made) ~= Refusal then error(made, 0) end
  return ok and made or nil
end

local function rewritten(c, root, path)
  local as_it_is = c.dialect == dialects.plain
  local whole = (as_it_is and gathered_if_plain or gathered)(c, root, path)
  if type(whole) == "table" and is_object(whole) then
    whole.type = "object"
    c.open[root] = true
    return as_it_is and plain.copy(whole) or put_defs(c, node(c, whole, path))
  end
  c.wrapped = true
  if as_it_is then return plain.wrap(root) end
  local value = node(c, root, path)
  return put_defs(c, { type = "object", properties = { value = value }, required = core.array { "value" },
    additionalProperties = false })
end

--- The schema `root` (a JSON Schema that schema.check takes, with `path` before what lies in it; default "schema") in a
-- dialect, one of those in dialects.lua by name: a new table
--   schema    the copy that goes out; its order of properties is as the caller's
--   lost      array of the paths at which something is told in the description, or left out
--   nullable  array of the paths of optional properties that the copy requires, or null in their place: an answer's
--             null there is no value (nulls.lua)
--   wrapped   true where the root is no object: the copy is one with the single property `value`
--   counts    what the limits speak of (limits.lua)
-- or nil and a refusal {path, keyword, message}: the copy would have another meaning, or is beyond the limits. Where
-- these are a whole request's, `beside`, an array of the schemas of its strict tools (nil: none), counts with it.
return function(root, dialect, path, beside)
  path = path or "schema"
  local c = { root = root, dialect = dialects[dialect], lost = {}, nullable = {}, names = {}, defs = {}, open = {},
    levels = 0, inlined = 0, refuse = refuse }
  local ok, made = pcall(rewritten, c, root, path)
  if not ok and getmetatable(made) == Refusal then return nil, made end
  if not ok then error(made, 0) end
  local most = c.dialect.limits
  local counts = limits.count(made, most.of_request and beside)
  local keyword, message = limits.beyond(counts, most)
  if keyword then return nil, { path = path, keyword = keyword, message = ("%s: %s"):format(path, message) } end
  return { schema = made, lost = c.lost, nullable = c.nullable, wrapped = c.wrapped, counts = counts }
end
