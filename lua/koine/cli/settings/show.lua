--- The commands that show the user's settings and templates.

local json = require "koine.cli.json"
local koine = require "koine"
local paths = require "koine.cli.settings.paths"
local settings = require "koine.cli.settings"
local template = require "koine.cli.settings.template"
local terminal = require "koine.cli.terminal"

local show = {}

local function names_of(of)
  local names = {}
  for name in pairs(of) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local SECRET = { "key", "token", "secret", "credential", "password", "auth", "header", "proxy" } -- in names of options

-- Whether the value of an option of this name may be a secret; max_tokens is a number.
local function is_secret(name)
  name = tostring(name):lower():gsub("_tokens$", "")
  for _, part in ipairs(SECRET) do
    if name:find(part, 1, true) then return true end
  end
  return false
end

-- What is no table, as JSON can have it and, with a `name`, as it may be seen: addresses without user and query.
local function scalar(name, value)
  local kind = type(value)
  if kind == "string" and name and (name == "base_url" or value:find "^%a[%w+.-]*://") then
    return paths.public_url(value)
  end
  if kind == "number" and value - value ~= 0 then return tostring(value) end -- infinite, or no number
  return kind == "function" and "(function)" or value
end

-- Whether a table has members, and all of them are those of an array.
local function is_list(value)
  local count = 0
  for _ in pairs(value) do count = count + 1 end
  return count > 0 and count == #value
end

-- A copy of a value, as JSON can have it. With the `name` of its field (nil: none) secrets are redacted.
local function shown_value(name, value)
  if name and is_secret(name) then return "[redacted]" end
  if type(value) ~= "table" then return scalar(name, value) end
  local list = is_list(value)
  local copy = list and koine.array {} or {}
  for member, inner in pairs(value) do
    copy[list and member or tostring(member)] = shown_value(name and member, inner)
  end
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

local function write(label, value) terminal.out(("%-11s %s\n"):format(label, value)) end

--- The command `config`: the exit code.
function show.config(args)
  local given, providers = settings.get(), {}
  for name, options in pairs(given.providers) do providers[name] = shown(options) end
  if args.json then
    terminal.out(json.value({ path = settings.path(), exists = given.there or false, model = given.model,
      log = given.log, aliases = given.aliases, providers = providers, templates = template.folder(),
      history = paths.state() and paths.state() .. "/history" }) .. "\n")
    return 0
  end
  write("file", (settings.path() or "no home") .. (given.there and "" or " (not there)"))
  write("templates", template.folder() or "no home")
  write("model", given.model or "-")
  write("log", given.log or "-")
  for _, name in ipairs(names_of(given.aliases)) do write("alias", name .. " = " .. given.aliases[name]) end
  for _, name in ipairs(names_of(providers)) do write("provider", name .. " = " .. json.value(providers[name])) end
  return 0
end

-- The first line of a text.
local function first_line(text) return (text or ""):match "[^\n]*" end

local function list()
  local names = template.names()
  for _, name in ipairs(names) do
    local ok, one = pcall(template.read, name)
    local about = ok and first_line(one.description or one.prompt or one.system) or one.message
    terminal.out(("%-20s %s\n"):format(name, about))
  end
  if #names == 0 then terminal.say("no templates in %s", template.folder() or "a home") end
end

--- The command `templates`: the exit code.
function show.templates(args)
  if not args.name then
    list()
    return 0
  end
  local one = template.read(args.name)
  local parameters = {}
  for i, name in ipairs(one:variables()) do parameters[i] = "-p " .. name .. "=…" end
  write("file", one.path)
  if parameters[1] then write("takes", table.concat(parameters, " ")) end
  for _, field in ipairs { "description", "model", "system", "prompt" } do
    if one[field] then write(field, one[field]) end
  end
  if one.options then write("options", json.value(shown_value("options", one.options))) end
  for _, field in ipairs { "defaults", "schema" } do
    if one[field] then write(field, type(one[field]) == "table" and json.value(shown_value(nil, one[field]))
      or one[field]) end
  end
  return 0
end

return show
