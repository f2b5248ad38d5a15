--- Tools of files of Lua (`-T FILE`), for a model. Such a file is a program of the user's: it runs with all that Lua
-- has.

local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local json = require "koine.cli.json"
local koine = require "koine"

local tool_files = {}

local function wrong(format, ...) failure.fail(failure.WRONG_USE, format, ...) end

-- The call as a person has to see it who decides: with all its arguments.
local function title_of(name)
  return function(arguments) return ("%s %s"):format(name, json.value(arguments)) end
end

-- What a file returns. The error of its own that ends it is the user's: with its place.
local function run(path)
  local chunk, why = load(input.read_code(path), "@" .. path, "t")
  if not chunk then wrong("%s", why) end
  local ran, value = pcall(chunk)
  if ran then return value end
  if koine.errors.is_error(value) then wrong("%s: %s", path, koine.errors.words(value)) end
  wrong("%s", tostring(value))
end

--- The tools of the files (an array of paths): an array. Each file returns a tool of koine.tool, or an array of them.
-- Fails as wrong use for a file that cannot be read, is no Lua, raises, or returns something else.
function tool_files.load(paths)
  local tools = {}
  for _, path in ipairs(paths) do
    local value = run(path)
    local list = koine.tool.is_tool(value) and { value } or value
    if type(list) ~= "table" or #list == 0 then
      wrong("%s: it returns no tool: of koine.tool, or an array of them", path)
    end
    for i, tool in ipairs(list) do
      if not koine.tool.is_tool(tool) then
        wrong("%s: [%d]: tool of koine.tool expected, got a %s", path, i, type(tool))
      end
      tool.title = tool.title or title_of(tool.name)
      tools[#tools + 1] = tool
    end
  end
  return tools
end

return tool_files
