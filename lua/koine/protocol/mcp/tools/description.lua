--- What a model is told of a tool: its description, or its title where there is none, else its name; without control
-- characters, and not too long.

local cut = require("koine.data.text").cut

local description = {}

local MAX = 4096 -- bytes
local CONTROL = "[\0-\8\11\12\14-\31\127]" -- but tab, LF and CR
local HIGH_CONTROL = "\xC2[\x80-\x9F]"

--- The words of a listed tool (a decoded entry of tools/list, with a name) as they came: a string.
function description.words(listed)
  local annotations = type(listed.annotations) == "table" and listed.annotations or {}
  for _, said in ipairs { listed.description or false, listed.title or false, annotations.title or false } do
    if type(said) == "string" and said:find "%S" then return said end
  end
  return listed.name
end

--- The description of a listed tool for a model, a string of at most `max` bytes (nil: 4,096).
function description.of(listed, max)
  local text = description.words(listed):gsub("\r\n?", "\n"):gsub(CONTROL, ""):gsub(HIGH_CONTROL, "")
  return (cut(text, max or MAX))
end

return description
