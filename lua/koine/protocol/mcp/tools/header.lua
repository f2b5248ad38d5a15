--- The headers of a call that a tool asks for: a property of its inputSchema with `x-mcp-header: NAME` is repeated in
-- the header Mcp-Param-NAME. Only the modern protocol over HTTP knows them; elsewhere the keyword says nothing. A tool
-- that breaks a rule of theirs cannot be called there at all. How a value is written is the transport's.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"

local header = {}

local KEY, PREFIX = "x-mcp-header", "Mcp-Param-"
local TOKEN = "^[!#$%%&'*+.^_`|~0-9A-Za-z-]+$" -- of RFC 9110
local TYPES = { string = true, integer = true, boolean = true }

-- Keywords with one schema or an array of them, and with an object of them: no way to a header leads through these.
local ELSEWHERE = { "items", "prefixItems", "additionalItems", "contains", "additionalProperties", "propertyNames",
  "unevaluatedItems", "unevaluatedProperties", "oneOf", "anyOf", "allOf", "not", "if", "then", "else" }
local NAMED_ELSEWHERE = { "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions" }

-- The place of a property in words, for a warning.
local function place(path) return #path == 0 and "the whole schema" or table.concat(path, ".") end

-- Why a schema with the keyword cannot have it, or nil. `plan` has what was found so far.
local function fault(s, path, plan)
  local named = s[KEY]
  if #path == 0 or path.elsewhere then return "is allowed only on properties of properties" end
  if type(named) ~= "string" or not named:find(TOKEN) then
    return ("is no name of a header: %s"):format(errors.describe(named))
  end
  if not TYPES[s.type] then return "is allowed only on type string, integer or boolean" end
  if plan.seen[named:lower()] then return ("repeats the header %s"):format(named) end
end

local function below(path, key, elsewhere)
  local made = table.move(path, 1, #path, 1, {})
  made[#made + 1], made.elsewhere = key, path.elsewhere or elsewhere
  return made
end

local scan

-- Scans the schemas in the members of a table, in a fixed order.
local function scan_members(members, path, plan, elsewhere)
  if type(members) ~= "table" then return nil end
  for _, key in ipairs(check.names(members)) do
    local member = members[key]
    local why = type(member) == "table" and scan(member, below(path, tostring(key), elsewhere), plan)
    if why then return why end
  end
end

local function scan_elsewhere(s, path, plan)
  for _, key in ipairs(ELSEWHERE) do
    local part = s[key]
    local why
    if type(part) == "table" then
      if getmetatable(part) == core.array_mt then why = scan_members(part, path, plan, true)
      else why = scan(part, below(path, key, true), plan) end
    end
    if why then return why end
  end
  for _, key in ipairs(NAMED_ELSEWHERE) do
    local why = scan_members(s[key], path, plan, true)
    if why then return why end
  end
end

-- Enters the headers of a schema and of those in it into a plan: nil, or why it cannot be.
function scan(s, path, plan)
  if type(s) ~= "table" then return nil end
  if s[KEY] ~= nil then
    local why = fault(s, path, plan)
    if why then return ("%s of %s %s"):format(KEY, place(path), why) end
    plan.seen[s[KEY]:lower()] = true
    plan[#plan + 1] = { name = PREFIX .. s[KEY], path = path }
  end
  return scan_members(s.properties, path, plan) or scan_elsewhere(s, path, plan)
end

--- The headers that a tool with this inputSchema (a decoded table that schema.check accepts) asks for: an array for
-- `values`, empty for none; or nil and why the tool is not allowed, in words.
function header.plan(schema)
  local plan = { seen = {} }
  local why = scan(schema, {}, plan)
  if why then return nil, why end
  return plan
end

-- The value at a path of the arguments, where it is one that a header can say.
local function value_at(arguments, path)
  local value = arguments
  for _, key in ipairs(path) do
    if type(value) ~= "table" then return nil end
    value = value[key]
  end
  if type(value) == "number" then return math.tointeger(value) end
  if type(value) == "string" or type(value) == "boolean" then return value end
end

--- The headers of a call with these arguments (a table): {name = string, integer or boolean}, for the transport to
-- write. What is absent, null, or of another type has none.
function header.values(plan, arguments)
  local made = {}
  for _, entry in ipairs(plan) do made[entry.name] = value_at(arguments, entry.path) end
  return made
end

return header
