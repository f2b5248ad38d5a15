--- What the judges of strict schemas share: sets of words, names in order, types. Pure.

local core = require "koine.core"
local json = require "koine.testing.loopback.json"

local words = {}

--- The words of a string as a set.
function words.set(text)
  local t = {}
  for word in text:gmatch "%S+" do
    t[word] = true
  end
  return t
end

--- The keys of an object, sorted; none of any other value.
function words.sorted(t)
  local names = {}
  for name in pairs(json.is_object(t) and t or {}) do
    names[#names + 1] = name
  end
  table.sort(names, core.before)
  return names
end

--- True when a schema's `type` is, or holds, the word.
function words.is(schema, word)
  if type(schema.type) ~= "table" then
    return schema.type == word
  end
  for _, one in ipairs(schema.type) do
    if one == word then
      return true
    end
  end
  return false
end

--- What a local reference of the document `root` leads to, and the last step of its path; nil where it leads nowhere.
function words.target(root, reference)
  if type(reference) ~= "string" or reference:sub(1, 1) ~= "#" then
    return nil
  end
  local at, name = root, "#"
  for step in reference:sub(2):gmatch "[^/]+" do
    name = step:gsub("~1", "/"):gsub("~0", "~")
    at = type(at) == "table" and (at[name] or at[(tonumber(name) or -1) + 1])
  end
  return json.is_object(at) and at or nil, name
end

return words
