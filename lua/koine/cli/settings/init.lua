--- The user's settings: what `config.lua` in the folder of settings says. The file is read when it is first asked for.
--
--   return {
--     model = "fast",                                        -- of -m
--     aliases = { fast = "groq/llama-3.1-8b-instant" },
--     log = "~/talks.db",                                    -- of --log
--     providers = { openai = { key = { command = { "pass", "openai" } }, timeout = 60 } },
--   }

local data_file = require "koine.cli.settings.data_file"
local koine = require "koine"
local paths = require "koine.cli.settings.paths"

local settings = {}

local kept

--- The path of the file, which may not be there; nil without a home.
function settings.path()
  local folder = paths.config()
  return folder and folder .. "/config.lua"
end

-- What a field of strings by name holds wrongly; nil if all is well.
local function strings(value, field)
  if type(value) ~= "table" then return "table of names and models" end
  for name, model in pairs(value) do
    if type(name) ~= "string" or name:find "[/%s]" then return "names without blanks and slashes" end
    local called = field .. "." .. name
    if type(model) ~= "string" then data_file.refuse(settings.path(), called, "PROVIDER/MODEL expected") end
  end
end

-- What is wrong with a key's place; nil if all is well. The file itself shall hold no keys.
local function key(value)
  local command = type(value) == "table" and value.command
  local fine = type(command) == "table" and #command > 0
  for _, word in ipairs(fine and command or {}) do fine = fine and type(word) == "string" end
  for name in pairs(fine and value or {}) do fine = fine and name == "command" end
  return not fine and "{ command = { PROGRAM, ARGUMENT, … } }, which prints the key," or nil
end

-- What is wrong with the table of providers; nil if all is well. Options of adapters are judged where they are used.
local function providers(value, field)
  if type(value) ~= "table" then return "table of providers" end
  local names = {}
  for i, provider in ipairs(koine.providers()) do names[i] = provider.name end
  local known = {}
  for _, name in ipairs(names) do known[name] = true end
  for name, options in pairs(value) do
    local called = field .. "." .. tostring(name)
    if not known[name] then data_file.unknown(settings.path(), called, "provider", names) end
    if type(options) ~= "table" then data_file.refuse(settings.path(), called, "table of options expected") end
    local expected = options.key ~= nil and key(options.key)
    if expected then data_file.refuse(settings.path(), called .. ".key", "%s expected", expected) end
    if options.model ~= nil then
      data_file.refuse(settings.path(), called .. ".model", "the field model of the file chooses it, and -m")
    end
  end
end

local FIELDS = { model = "string", log = "string", aliases = strings, providers = providers }

--- The settings: {there = whether there is a file, model, log, aliases, providers}, the last two in any case; the same
-- table each time. Fails as wrong use for a file that
-- cannot be read or is wrong; names file, line and field.
function settings.get()
  if kept then return kept end
  local path, given = settings.path(), {}
  local there = path ~= nil and data_file.is_there(path)
  if there then
    given = data_file.read(path)
    data_file.check(path, given, FIELDS)
  end
  kept = { there = there, model = given.model, log = given.log and paths.expand(given.log),
    aliases = given.aliases or {}, providers = given.providers or {} }
  return kept
end

return settings
