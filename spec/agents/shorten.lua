-- What a recording keeps of an agent's message: its shape, and the words by which a client understands it. What the
-- agent's program says to people is left out: descriptions, names of what has an id, long texts; and long lists of
-- choices are cut.

local CHOICES, WORDS = 3, 30 -- kept of lists, and bytes of texts

local LISTS = { availableCommands = true, availableModels = true, choices = true, options = true }
local SAID = { description = true, hint = true, label = true }

-- Whether a list is the options of a question for permission, which are what it is about.
local function is_question(list) return type(list[1]) == "table" and list[1].optionId ~= nil end

-- The id of a choice, a mode, an option or a login; nil for other objects.
local function id_of(object)
  for _, name in ipairs { "optionId", "modelId", "value", "id" } do
    if type(object[name]) == "string" then return object[name] end
  end
end

local function text_of(text, name)
  if SAID[name] then return name end
  return #text > WORDS and text:find " " and ("a text of %d bytes"):format(#text) or text
end

--- A copy of a decoded message. `name` is the member that it is, nil for a whole one. What was shortened stays the same
-- when it is shortened again.
local function shorten(value, name)
  if type(value) == "string" then return text_of(value, name) end
  if type(value) ~= "table" then return value end
  local made = setmetatable({}, getmetatable(value))
  local cut = LISTS[name] and not is_question(value)
  for key, member in next, value do
    if not (cut and math.type(key) and key > CHOICES) then made[key] = shorten(member, key) end
  end
  if type(made.name) == "string" then made.name = id_of(value) or made.name end
  if name == "availableCommands" then
    for i, command in ipairs(made) do command.name = "command-" .. i end
  end
  return made
end

return shorten
