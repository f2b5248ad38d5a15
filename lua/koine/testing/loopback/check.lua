--- The collector of problems that the strict validators share: known keys, types, JSON Schemas, base64. Pure.
-- Paths are written as the wires write them: messages.0.content.1.text, counted from 0.

local core = require "koine.core"
local json = require "koine.testing.loopback.json"
local strict = require "koine.testing.loopback.strict.openai"

local methods = {}
local Check = { __index = methods, __name = "koine.testing.check" }

local check = {}

--- A new collector; `problems` is its array of lines.
function check.new()
  return setmetatable({ problems = {} }, Check)
end

--- The words of a string as a set.
function check.set(words)
  local t = {}
  for word in words:gmatch("%S+") do
    t[word] = true
  end
  return t
end

--- The keys of an object, sorted.
function check.keys(object)
  local names = {}
  for key in pairs(object) do
    names[#names + 1] = key
  end
  table.sort(names, core.before)
  return names
end

-- Keys that may be null, which differs from leaving them out.
local NULLABLE = check.set "citations container"

--- Notes a problem.
function methods:add(path, text, ...)
  self.problems[#self.problems + 1] = path .. ": " .. text:format(...)
end

--- True when v is an object whose keys are all in `allowed` (a set) and which has every key of `required` (words).
function methods:object(path, v, allowed, required)
  if not json.is_object(v) then
    self:add(path, "an object expected")
    return false
  end
  for _, key in ipairs(check.keys(v)) do
    if allowed and not allowed[key] then
      self:add(path .. "." .. key, "extra inputs are not permitted")
    elseif v[key] == json.null and allowed and not NULLABLE[key] then
      self:add(path .. "." .. key, "null where the key should be left out")
    end
  end
  local whole = true
  for key in (required or ""):gmatch("%S+") do
    if v[key] == nil then
      self:add(path .. "." .. key, "field required")
      whole = false
    end
  end
  return whole
end

--- True when v is a non-empty string; `pattern` and its meaning may narrow it.
function methods:string(path, v, pattern, meaning)
  if type(v) ~= "string" then
    self:add(path, "a string expected")
  elseif v == "" then
    self:add(path, "an empty string is not permitted")
  elseif pattern and not v:find(pattern) then
    self:add(path, "%s expected", meaning)
  else
    return true
  end
  return false
end

--- A string with more than white space in it.
function methods:text(path, v)
  if self:string(path, v) and not v:find("%S") then
    self:add(path, "text content must hold more than white space")
  end
end

--- An integer between min and max; absent is fine.
function methods:integer(path, v, min, max)
  if v ~= nil and (math.type(v) ~= "integer" or v < min or v > (max or math.maxinteger)) then
    self:add(path, "an integer of at least %d expected", min)
  end
end

--- A number between min and max; absent is fine.
function methods:number(path, v, min, max)
  if v ~= nil and (type(v) ~= "number" or v < min or v > max) then
    self:add(path, "a number from %s to %s expected", min, max)
  end
end

--- true or false; absent is fine.
function methods:boolean(path, v)
  if v ~= nil and type(v) ~= "boolean" then
    self:add(path, "a boolean expected")
  end
end

--- True when v is one of the words; absent is fine.
function methods:word(path, v, words)
  if v ~= nil and not (type(v) == "string" and check.set(words)[v]) then
    self:add(path, "one of %s expected", (words:gsub("%s+", ", ")))
    return false
  end
  return v ~= nil
end

--- True when v is an array with at least one element.
function methods:array(path, v)
  if not json.is_array(v) then
    self:add(path, "an array expected")
  elseif #v == 0 then
    self:add(path, "an empty array is not permitted")
  else
    return true
  end
  return false
end

--- A non-empty array of strings, each with more than white space; at most `max`; absent is fine.
function methods:strings(path, v, max)
  if v == nil or not self:array(path, v) then
    return
  end
  if #v > max then
    self:add(path, "at most %d elements expected", max)
  end
  for i, s in ipairs(v) do
    self:text(("%s.%d"):format(path, i - 1), s)
  end
end

--- Standard base64 with padding.
function methods:base64(path, v)
  if self:string(path, v) and (#v % 4 ~= 0 or not v:find("^[A-Za-z0-9+/]+=?=?$")) then
    self:add(path, "base64 expected")
  end
end

local function check_subschemas(self, path, schema)
  for _, key in ipairs { "anyOf", "oneOf", "allOf", "prefixItems" } do
    if schema[key] ~= nil and self:array(path .. "." .. key, schema[key]) then
      for i, sub in ipairs(schema[key]) do
        if type(sub) ~= "boolean" then
          self:schema(("%s.%s.%d"):format(path, key, i - 1), sub)
        end
      end
    end
  end
  for _, key in ipairs { "items", "additionalProperties", "not" } do
    if schema[key] ~= nil and type(schema[key]) ~= "boolean" then
      self:schema(path .. "." .. key, schema[key])
    end
  end
end

--- A JSON Schema: objects where objects belong, arrays where arrays do (the empty ones are the usual mistake).
function methods:schema(path, schema)
  if not json.is_object(schema) then
    return self:add(path, "a JSON Schema object expected")
  end
  for _, key in ipairs { "properties", "$defs", "definitions", "patternProperties" } do
    local group = schema[key]
    if group ~= nil and not json.is_object(group) then
      self:add(path .. "." .. key, "an object expected, not an array")
    elseif group then
      for name, sub in pairs(group) do
        if type(sub) ~= "boolean" then
          self:schema(("%s.%s.%s"):format(path, key, name), sub)
        end
      end
    end
  end
  for _, key in ipairs { "required", "enum" } do
    if schema[key] ~= nil and not json.is_array(schema[key]) then
      self:add(path .. "." .. key, "an array expected")
    end
  end
  check_subschemas(self, path, schema)
end

--- A tool's schema: one whose type is "object".
function methods:tool_schema(path, schema)
  self:schema(path, schema)
  if json.is_object(schema) and schema.type ~= "object" then
    self:add(path .. ".type", "\"object\" expected")
  end
end

--- A schema that was asked for as strict, as OpenAI judges it; `what` and `name`: its owner ("function", "add").
-- True when all is well. The problem has no path: OpenAI's words name the place.
function methods:strict(what, name, schema)
  local problem = strict.problem(("%s '%s'"):format(what, tostring(name)), schema)
  self.problems[#self.problems + 1] = problem
  return problem == nil
end

--- A function tool of OpenAI's wires: its name, which is added to the set `names`, its parameters and `strict`. False
-- where `strict` does not allow its schema.
function methods:openai_function(path, f, names)
  if self:string(path .. ".name", f.name, "^[%w_-]+$", "a name of the form ^[a-zA-Z0-9_-]{1,64}$")
    and #f.name > 64 then
    self:add(path .. ".name", "at most 64 characters expected")
  end
  if names[f.name] then
    self:add(path .. ".name", "tool names must be unique: %s", tostring(f.name))
  end
  names[f.name] = true
  if f.parameters ~= nil then
    self:tool_schema(path .. ".parameters", f.parameters)
  end
  self:boolean(path .. ".strict", f.strict)
  return f.strict ~= true or self:strict("function", f.name, f.parameters)
end

--- The options of OpenAI's wires that stand beside tools alone.
function methods:openai_choice(body)
  for _, key in ipairs { "tool_choice", "parallel_tool_calls" } do
    if body[key] ~= nil and body.tools == nil then
      self:add(key, "only allowed when `tools` are specified")
    end
  end
  self:boolean("parallel_tool_calls", body.parallel_tool_calls)
end

--- The settings that all wires of OpenAI's have: `metadata`, whose values are strings, and `stream_options`, a table
-- with these keys (a set), beside a stream alone. True when there are stream options to look into.
function methods:openai_settings(body, option_keys)
  if body.metadata ~= nil and self:object("metadata", body.metadata) then
    for key, value in pairs(body.metadata) do
      if type(value) ~= "string" then
        self:add("metadata." .. key, "a string expected")
      end
    end
  end
  if body.stream_options == nil or not self:object("stream_options", body.stream_options, option_keys) then
    return false
  end
  if body.stream ~= true then
    self:add("stream_options", "only allowed when `stream` is true")
  end
  return true
end

--- The request's bytes: UTF-8, JSON without lone surrogates, an object. Returns the decoded object or nil.
function methods:body(request)
  local kind = request.headers["content-type"] or ""
  if not kind:lower():find("^application/json") then
    self:add("content-type", "application/json expected, got %q", kind)
  end
  if not utf8.len(request.body) then
    self:add("body", "not valid UTF-8")
  end
  local escapes = request.body:gsub("\\\\", "")
  escapes = escapes:gsub("\\u[dD][89abAB]%x%x\\u[dD][c-fC-F]%x%x", "")
  if escapes:find("\\u[dD][89a-fA-F]%x%x") then
    self:add("body", "a lone surrogate in a string")
  end
  local body, err = json.decode(request.body)
  if body == nil then
    self:add("body", "not valid JSON: %s", tostring(type(err) == "table" and err.message or err))
  elseif not json.is_object(body) then
    self:add("body", "an object expected")
  else
    return body
  end
end

return check
