--- Options of a session: models, modes, levels of thinking and whatever else an agent lets its client choose. Three
-- forms of the wire become one: configOptions; where there are none, `modes`, and `models` of older agents.
-- An option is {id, name, category, type = "select" | "boolean", value, choices = array of {value, name}}.

local core = require "koine.core"
local errors = require "koine.data.errors"
local read = require "koine.protocol.acp.client.read"

local settings = {}

-- The names of options that users know, and their categories on the wire.
local CATEGORIES = { model = "model", mode = "mode", thinking = "thought_level" }

-- Adds the choices of a list, which may be in groups.
local function add_choices(choices, list)
  for _, one in ipairs(list) do
    if read.text(read.at(one, "value")) then
      choices[#choices + 1] = { value = one.value, name = read.text(one.name) or one.value }
    elseif read.at(one, "options") ~= nil then
      add_choices(choices, read.list(one.options))
    end
  end
  return choices
end

-- The options of configOptions.
local function of_config(list)
  local made = core.array {}
  for _, one in ipairs(list) do
    local id = read.text(read.at(one, "id"))
    if id then
      made[#made + 1] = { id = id, name = read.text(one.name) or id, category = read.text(one.category),
        type = one.type == "boolean" and "boolean" or "select", value = read.any(one.currentValue),
        choices = add_choices(core.array {}, read.list(one.options)), form = "config" }
    end
  end
  return made
end

-- An option of the old form; nil where the agent has none. `key` is what ids of its choices are called.
local function of_state(name, state, current, list, key)
  state = read.object(state)
  if not state then return nil end
  local choices = core.array {}
  for _, one in ipairs(read.list(state[list])) do
    local value = read.text(read.at(one, key))
    if value then choices[#choices + 1] = { value = value, name = read.text(one.name) or value } end
  end
  return { id = name, name = name, category = name, type = "select", value = read.text(state[current]),
    choices = choices, form = name }
end

--- The options that the answer to session/new, load or resume tells; nil where it tells none.
function settings.of_reply(reply)
  local list = read.list(reply.configOptions)
  if #list > 0 then return of_config(list) end
  local made = core.array {}
  made[1] = of_state("mode", reply.modes, "currentModeId", "availableModes", "id")
  made[#made + 1] = of_state("model", reply.models, "currentModelId", "availableModels", "modelId")
  return #made > 0 and made or nil
end

--- The options that config_option_update, or the answer to session/set_config_option, tells; nil for none.
function settings.of_update(update)
  if read.any(update.configOptions) == nil then return nil end
  return of_config(read.list(update.configOptions))
end

--- The option of that id or category ("model", "mode", "thinking"), or nil.
function settings.find(options, name)
  for _, option in ipairs(options) do
    if option.id == name then return option end
  end
  local category = CATEGORIES[name] or name
  for _, option in ipairs(options) do
    if option.category == category then return option end
  end
end

local function unfit(message)
  return errors.new { kind = "invalid_request", code = "option", retryable = false, message = message }
end

local function joined(list, field)
  local words = {}
  for i, one in ipairs(list) do words[i] = one[field] end
  return #words > 0 and table.concat(words, ", ") or "none"
end

--- The option and value that the user means: option, value; or nil, err that names what there is. A value may be given
-- by its name.
function settings.resolve(options, name, value)
  local option = settings.find(options, name)
  if not option then
    return nil, unfit(("the agent has no option %s; it has: %s"):format(name, joined(options, "id")))
  end
  if option.type == "boolean" then
    if type(value) == "boolean" then return option, value end
    return nil, unfit(("%s: true or false expected"):format(option.id))
  end
  for _, field in ipairs { "value", "name" } do
    for _, choice in ipairs(option.choices) do
      if choice[field] == value then return option, choice.value end
    end
  end
  return nil, unfit(("%s: unknown value %s; one of: %s"):format(option.id, errors.describe(value),
    joined(option.choices, "value")))
end

local calls = {}

function calls.config(id, option, value)
  return "session/set_config_option", { sessionId = id, configId = option.id, value = value,
    type = option.type == "boolean" and "boolean" or nil }
end

function calls.mode(id, _, value) return "session/set_mode", { sessionId = id, modeId = value } end
function calls.model(id, _, value) return "session/set_model", { sessionId = id, modelId = value } end

--- Method and params of the request that sets an option of the session `id`.
function settings.call(id, option, value) return calls[option.form](id, option, value) end

return settings
