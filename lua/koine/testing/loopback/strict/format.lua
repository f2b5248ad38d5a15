--- The form that an answer is to have, as OpenAI's two wires ask for it: a name, a schema, whether it is strict. Each
-- function adds what is wrong to the collector `c`, in OpenAI's words where a refusal is known. Pure.

local json = require "koine.testing.loopback.json"

local format = {}

local function check_name(c, path, name)
  if name == nil then
    c.problems[#c.problems + 1] = ("Missing required parameter: '%s'."):format(path)
  elseif type(name) ~= "string" or not name:find "^[%w_-]+$" then
    c.problems[#c.problems + 1] = ("Invalid '%s': string does not match pattern. Expected a string that matches the "
      .. "pattern '^[a-zA-Z0-9_-]+$'."):format(path)
  elseif #name > 64 then
    c.problems[#c.problems + 1] = ("Invalid '%s': string too long. Expected a string with maximum length 64, but got "
      .. "a string with length %d instead."):format(path, #name)
  end
end

--- Checks the named schema `asked` at `path`. Returns the code of the error where OpenAI has one for it. A schema alone
-- is the form of providers that know no names.
function format.check(c, path, asked, alone)
  if not alone then
    check_name(c, path .. ".name", asked.name)
  end
  if asked.description ~= nil then
    c:string(path .. ".description", asked.description)
  end
  c:boolean(path .. ".strict", asked.strict)
  c:tool_schema(path .. ".schema", asked.schema)
  if asked.strict == true and not c:strict("response_format", asked.name, asked.schema) then
    return "invalid_json_schema"
  end
end

-- True where a string in the value has the word JSON.
local function says_json(value)
  if type(value) == "string" then
    return value:lower():find("json", 1, true) ~= nil
  end
  for _, member in pairs(type(value) == "table" and value or {}) do
    if says_json(member) then
      return true
    end
  end
  return false
end

--- Checks that the messages (of either wire) have the word JSON, without which any object cannot be asked for; `words`
-- is the refusal.
function format.check_word(c, messages, words)
  for _, message in ipairs(json.is_array(messages) and messages or { messages }) do
    if says_json(json.is_object(message) and (message.content or message.output) or message) then
      return
    end
  end
  c.problems[#c.problems + 1] = words
end

return format
