--- Where Vertex AI answers: base URLs made of a location and a project. A base URL may have {host}, {location} and
-- {project} in it, the row's as well as the caller's. {host} is that of the location.

local core = require "koine.core"
local errors = require "koine.data.errors"
local getenv = require "koine.data.host.getenv"

local addresses = {}

local PROJECT, LOCATION = "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"
local EXPECTED = {
  project = 'id of a Google Cloud project, as in "my-project-1"',
  location = '"global", "us", "eu" or a region, as in "europe-west4"',
}
local VARIABLES = { project = PROJECT, location = LOCATION }
local PATTERNS = { project = "^%w[%w.:-]*$", location = "^[%w-]+$" }

-- The host of a location.
local function host_of(location)
  if location == "global" then return "aiplatform.googleapis.com" end
  if location == "us" or location == "eu" then return ("aiplatform.%s.rep.googleapis.com"):format(location) end
  return location .. "-aiplatform.googleapis.com"
end

-- The variables that may hold a value, those of the row first.
local function variables_of(row, name)
  return { row.variables and row.variables[name] or VARIABLES[name], VARIABLES[name] }
end

-- The option of that name, else the value of the first of its variables that is set; nil where neither is there. Raises
-- an ArgumentError for an unfit one.
local function setting(settings, row, name)
  local value = settings[name]
  for _, variable in ipairs(variables_of(row, name)) do
    if value == nil or value == "" then value = getenv(variable) end
  end
  if value == nil or value == "" then return nil end
  if not value:find(PATTERNS[name]) then errors.argument(name, EXPECTED[name], value) end
  return value
end

-- The row's base URL for a model; `express`: with a key and without a project.
local function of_row(row, model, express)
  for _, place in ipairs(row.places or {}) do
    if model:find(place.model) then return express and place.express_base_url or place.base_url end
  end
  return express and row.express_base_url or row.base_url
end

-- Raises an ArgumentError where the caller's base URL has a part that the model's name has, too. Does not show the URL,
-- which may hold a password.
local function check_own(url, row, model)
  for _, place in ipairs(row.places or {}) do
    if model:find(place.model) then
      if ((url:match "^[^?]*") .. "/"):find(place.part, 1, true) then
        core.raise_argument("base_url", ('a URL without "%s" for the model %q, as in "%s"'):format(place.part, model,
          place.base_url), "one with it")
      end
      return
    end
  end
end

-- Replaces {NAME} in a base URL. Raises an ArgumentError where a value is missing.
local function filled(url, values, row)
  return (url:gsub("{(%w+)}", function(name)
    local asked = name == "host" and "location" or name
    local value = values[asked]
    if not EXPECTED[asked] then return nil end
    if not value then
      core.raise_argument(asked, ("%s, here or in %s"):format(EXPECTED[asked], variables_of(row, asked)[1]), "nothing")
    end
    return name == "host" and host_of(value) or value
  end))
end

--- Puts the base URL and the project (nil where none is known) into the state. A model's name that says its project and
-- location is asked for there. The caller's base URL is the whole one for every model. Raises an ArgumentError for a
-- project or location that is unfit, needed and missing, or given beside a key, with which there is neither, and for a
-- base URL that has what the model's name has.
function addresses.setup(state)
  local settings, row, model = state.settings, state.row, state.model
  local express = settings.key ~= nil and row.express_base_url ~= nil and not settings.base_url
  for _, name in ipairs { "project", "location" } do
    if express and settings[name] ~= nil then
      core.raise_argument(name, "nothing beside the option key, which is for express mode", "a " .. name)
    end
  end
  local values = { project = setting(settings, row, "project"), location = setting(settings, row, "location") }
  state.project = values.project
  local own = { model:match "^projects/([^/]+)/locations/([^/]+)/" }
  if own[1] and own[2]:find(PATTERNS.location) then values.location = own[2] end
  if settings.base_url then check_own(settings.base_url, row, model) end
  state.base_url = filled(settings.base_url or of_row(row, model, express), values, row)
end

return addresses
