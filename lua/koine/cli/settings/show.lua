--- The command that shows the user's settings.

local json = require "koine.cli.json"
local koine = require "koine"
local settings = require "koine.cli.settings"
local terminal = require "koine.cli.terminal"

local show = {}

local function names_of(of)
  local names = {}
  for name in pairs(of) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local SECRET = { "key", "token", "secret", "credential", "password", "auth", "header" } -- in names of options

-- A value of a field as it may be seen.
local function shown_value(name, value)
  for _, part in ipairs(SECRET) do
    if tostring(name):lower():find(part, 1, true) then return "[redacted]" end
  end
  if type(value) ~= "table" then return value end
  local copy = #value > 0 and koine.array {} or {}
  for member, inner in pairs(value) do copy[member] = shown_value(member, inner) end
  return copy
end

-- The options of a provider as they may be seen. A key is not there; its command may hold a secret in its arguments.
local function shown(options)
  local copy = {}
  for name, value in pairs(options) do copy[name] = shown_value(name, value) end
  local command = options.key and options.key.command
  if command then copy.key = { command = koine.array { command[1], #command > 1 and "…" or nil } } end
  return copy
end

local function write(label, value) terminal.out(("%-10s %s\n"):format(label, value)) end

--- The command `config`: the exit code.
function show.config(args)
  local given, providers = settings.get(), {}
  for name, options in pairs(given.providers) do providers[name] = shown(options) end
  if args.json then
    terminal.out(json.value({ path = settings.path(), exists = given.there or false, model = given.model,
      log = given.log, aliases = given.aliases, providers = providers }) .. "\n")
    return 0
  end
  write("file", (settings.path() or "no home") .. (given.there and "" or " (not there)"))
  write("model", given.model or "-")
  write("log", given.log or "-")
  for _, name in ipairs(names_of(given.aliases)) do write("alias", name .. " = " .. given.aliases[name]) end
  for _, name in ipairs(names_of(providers)) do write("provider", name .. " = " .. json.value(providers[name])) end
  return 0
end

return show
