--- Templates: files in the folder `templates` beside the settings that say how to ask. NAME.txt is the text of a
-- question; NAME.lua returns a table with a `prompt` and what else is to be set. `$input` in a text stands for what the
-- user says, `$name` or `${name}` for the value of `-p name=value`, `$$` for a dollar.

local data_file = require "koine.cli.settings.data_file"
local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local koine = require "koine"
local paths = require "koine.cli.settings.paths"

local template = {}

local methods = {}
local metatable = { __index = methods }

local function fields_by_string(value) return type(value) ~= "table" and "table" or nil end

local FIELDS = { description = "string", prompt = "string", system = "string", model = "string", extract = "boolean",
  schema = function(value)
    return type(value) ~= "string" and type(value) ~= "table" and "schema in short, or a table of JSON Schema," or nil
  end,
  options = fields_by_string, defaults = fields_by_string }

local ENDINGS = { lua = true, txt = true }

--- The folder of templates, which may not be there; nil without a home.
function template.folder()
  local folder = paths.config()
  return folder and folder .. "/templates"
end

--- The names of the templates in the folder, sorted: an array.
function template.names()
  local folder, names, seen = template.folder(), {}, {}
  local listed = folder and koine.process.run { "ls", "-1", "--", folder }
  for name, ending in (listed and listed.stdout or ""):gmatch "([^\n]+)%.(%l+)\n" do
    if ENDINGS[ending] and not seen[name] then names[#names + 1], seen[name] = name, true end
  end
  table.sort(names)
  return names
end

-- The path of a template: that of a word with a slash or an ending is the word itself.
local function path_of(word)
  if word:find "/" or word:find "%.lua$" or word:find "%.txt$" then return word end
  local folder = template.folder()
  for _, ending in ipairs { ".lua", ".txt" } do
    local path = folder and folder .. "/" .. word .. ending
    if path and data_file.is_there(path) then return path end
  end
  local names = template.names()
  failure.fail(failure.WRONG_USE, "-t: there is no template %s%s", word, names[1] and data_file.hint(word, names)
    or folder and (" (%s/%s.txt or .lua)"):format(folder, word) or "")
end

--- The template that a word names, in the folder or by a path with a slash or an ending. Fails as wrong use where there
-- is none, or where it is wrong.
function template.read(word)
  local path = path_of(word)
  if not path:find "%.lua$" then
    return setmetatable({ path = path, prompt = input.read_text(path):match "^(.-)%s*$" }, metatable)
  end
  local self = setmetatable(data_file.read(path), metatable)
  data_file.check(path, self, FIELDS)
  self.path = path
  return self
end

-- Calls f(name) for each variable of a text, and returns the text with what f returned; "$" alone stays.
local function replace(text, f)
  return (text:gsub("%$([%$%a_{]?)([%w_]*)(}?)", function(first, rest, brace)
    if first == "$" then return "$" .. rest .. brace end
    if first == "{" then return rest ~= "" and brace ~= "" and f(rest) or nil end
    return first ~= "" and f(first .. rest) .. brace or nil
  end))
end

-- The names of the variables of a text, as keys.
local function used_in(text)
  local used = {}
  replace(text, function(name)
    used[name] = true
    return ""
  end)
  return used
end

--- The names of the variables of a template that -p sets, all but `input`, sorted: an array.
function methods:variables()
  local names = {}
  for name in pairs(used_in((self.prompt or "") .. "\n" .. (self.system or ""))) do
    if name ~= "input" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- Fails for a parameter that the template does not know.
local function check_parameters(self, given)
  local names, known = self:variables(), {}
  for _, name in ipairs(names) do known[name] = true end
  for name in pairs(given) do
    if not known[name] then
      failure.fail(failure.WRONG_USE, "-p %s: unknown parameter of %s%s", name, self.path,
        data_file.hint(name, names))
    end
  end
end

--- Sets the parameters, a table {name = value}. Fails as wrong use for unknown ones.
function methods:set(given)
  check_parameters(self, given)
  self.values = setmetatable(given, { __index = self.defaults })
end

local function filled(self, text, said)
  return replace(text, function(name)
    if name == "input" then return said end
    local value = self.values[name]
    if value ~= nil then return tostring(value) end
    failure.fail(failure.WRONG_USE, "%s: a value of $%s is required (-p %s=…)", self.path, name, name)
  end)
end

--- The question for what the user said ("" for nothing): the prompt with its variables, and what was said behind it
-- where the prompt has no $input. Fails as wrong use for a variable without a value.
function methods:question(said)
  if not self.prompt then return said end
  if used_in(self.prompt).input then
    if not said:find "%S" then failure.fail(failure.WRONG_USE, "%s: a text is required ($input)", self.path) end
    return filled(self, self.prompt, said)
  end
  local text = filled(self, self.prompt, said)
  return said:find "%S" and text .. "\n" .. said or text
end

--- The system prompt with its variables; nil for none.
function methods:system_prompt() return self.system and filled(self, self.system, "") end

-- Sets what shapes the answer of `ask`, unless the command line does.
local function shape(self, args)
  if args.schema or args.extract then return end
  args.schema = self.schema
  args.extract = self.extract and not args.schema and not args.json and not args.stream
end

-- The options of the template that the command line does not give.
local function options_of(self, args)
  local options = {}
  for name, value in pairs(self.options or {}) do options[name] = value end
  for _, option in ipairs(args.given) do options[option[1]] = nil end
  return options
end

--- The options of calls that a template sets, as it applied to `args`, with `more` ones: a new table. They are no
-- options of the adapter: a template says how to ask, but neither whom nor with which key.
function template.options(args, more)
  local options = {}
  for _, from in ipairs { args.options or {}, more } do
    for name, value in pairs(from) do options[name] = value end
  end
  return options
end

--- The template of -t, nil without one, with the parameters of -p. Sets the model, system prompt, options, schema and
-- extract of `args` where the command line does not. Fails as wrong use for a bad template, and for -p without one.
function template.apply(args)
  if not args.template then
    if args.param[1] then failure.fail(failure.WRONG_USE, "-p: a template is required (-t NAME)") end
    return nil
  end
  local self, values = template.read(args.template), {}
  for _, one in ipairs(args.param) do values[one[1]] = one[2] end
  self:set(values)
  args.model, args.system = args.model or self.model, args.system or self:system_prompt()
  args.options = options_of(self, args)
  if args.command == "ask" then shape(self, args) end
  return self
end

return template
