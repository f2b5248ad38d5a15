--- Modes and options of a session, as the editor shows and sets them. A mode is told twice: as an option, and as
-- `modes` for editors that know no options.

local core = require "koine.core"
local errors = require "koine.data.errors"
local failure = require "koine.protocol.acp.serve.failure"

local settings = {}

local MODE = "mode" -- the id and the category of the option that is the mode

--- The values of a new session: {mode = id or nil, options = {id = value}}. `kept` holds those of a session that was
-- saved, as far as they are still offered.
function settings.initial(given, kept)
  local values = { mode = given.modes[1] and given.modes[1].id, options = {} }
  for _, option in ipairs(given.options) do values.options[option.id] = option.value end
  for id, value in next, kept and kept.options or {} do settings.set(given, values, id, value) end
  if kept and kept.mode then settings.set(given, values, MODE, kept.mode) end
  return values
end

local function select_of(id, name, description, category, value, choices)
  local list = core.array {}
  for i, choice in ipairs(choices) do
    list[i] = { value = choice.value or choice.id, name = choice.name, description = choice.description }
  end
  return { id = id, name = name, description = description, category = category, type = "select",
    currentValue = value, options = list }
end

-- Whether the editor shows options that are true or false.
local function knows_booleans(capabilities)
  local session = capabilities.session
  local shown = type(session) == "table" and session.configOptions
  return type(shown) == "table" and type(shown.boolean) == "table"
end

--- All options of a session: an array of SessionConfigOption; nil when there are none.
function settings.list(given, values, capabilities)
  local list = core.array {}
  if #given.modes > 0 then list[1] = select_of(MODE, "Mode", nil, MODE, values.mode, given.modes) end
  for _, option in ipairs(given.options) do
    local value = values.options[option.id]
    if option.choices then
      list[#list + 1] = select_of(option.id, option.name, option.description, option.category, value, option.choices)
    elseif knows_booleans(capabilities) then
      list[#list + 1] = { id = option.id, name = option.name, description = option.description,
        category = option.category, type = "boolean", currentValue = value }
    end
  end
  return #list > 0 and list or nil
end

--- The SessionModeState of a session; nil when there are no modes.
function settings.modes(given, values)
  if #given.modes == 0 then return nil end
  local list = core.array {}
  for i, mode in ipairs(given.modes) do
    list[i] = { id = mode.id, name = mode.name, description = mode.description }
  end
  return { currentModeId = values.mode, availableModes = list }
end

-- nil and the error for a value that is none of these.
local function none_of(id, value, choices)
  local names = {}
  for i, choice in ipairs(choices) do names[i] = choice.value or choice.id end
  return failure.params("%s: one of %s expected, got %s", id, table.concat(names, ", "), errors.describe(value))
end

local function is_in(value, choices)
  for _, choice in ipairs(choices) do
    if value == (choice.value or choice.id) then return true end
  end
  return false
end

--- Sets one: true where it changed, false where it was that already; nil, err for an unknown option or value.
function settings.set(given, values, id, value)
  if id == MODE and #given.modes > 0 then
    if not is_in(value, given.modes) then return none_of(id, value, given.modes) end
    local changed = values.mode ~= value
    values.mode = value
    return changed
  end
  for _, option in ipairs(given.options) do
    if option.id == id then
      if option.choices and not is_in(value, option.choices) then return none_of(id, value, option.choices) end
      if not option.choices and type(value) ~= "boolean" then
        return failure.params("%s: true or false expected", id)
      end
      local changed = values.options[id] ~= value
      values.options[id] = value
      return changed
    end
  end
  return failure.params("no such option: %s", errors.describe(id))
end

--- Whether the option of that id is the mode.
function settings.is_mode(id) return id == MODE end

return settings
