-- types.lua: reads the editor types below types/koine, for the checks and the reference that are made of them.
--
-- The files are LuaLS definitions in a narrow form: a block of `---` lines, and behind it nothing, an assignment of
-- `{}` (a class with a place), or an empty function. A field, an argument and a result have a line each.

local find = dofile "tools/source.lua".find

local types = {}

-- Where a type that begins at `i` ends: at the first space outside of brackets and quotes that is none within it.
local function type_end(text, i)
  local depth, at = 0, i
  while at <= #text do
    local c = text:sub(at, at)
    if c == '"' then at = text:find('"', at + 1, true) or #text
    elseif c:find "[%({%[<]" then depth = depth + 1
    elseif c:find "[%)}%]>]" then depth = depth - 1
    elseif c == " " and depth == 0 then
      -- Goes on behind "fun(…):" and behind the comma between a function's results.
      local before = text:sub(i, at - 1)
      if not (before:find "[:,]$" and before:find "fun%b()") then return at - 1 end
    end
    at = at + 1
  end
  return #text
end

-- Takes a type off the beginning of a text: the type, and the rest.
local function take_type(text)
  local last = type_end(text, 1)
  return text:sub(1, last), (text:sub(last + 1):gsub("^%s+", ""))
end

local tags = {}

function tags.class(block, rest)
  local name, parents, text = rest:match "^([%w_.]+):?%s*([%w_., ]*)(.*)$"
  block.class = { name = name, parents = {}, fields = {}, overloads = {}, text = block.text .. text }
  for parent in parents:gmatch "[%w_.]+" do table.insert(block.class.parents, parent) end
  block.text = ""
end

function tags.field(block, rest)
  local name, tail = rest:match "^(%[[^%]]+%])%s+(.*)$"
  if not name then name, tail = rest:match "^([%w_]+%??)%s+(.*)$" end
  local field = { name = name:gsub("%?$", ""), optional = name:find "%?$" ~= nil, key = name:find "^%[" ~= nil }
  field.type, field.text = take_type(tail)
  if block.text ~= "" then field.text = block.text .. (field.text ~= "" and " " .. field.text or "") end
  block.text = ""
  table.insert(block.class.fields, field)
end

function tags.alias(block, rest)
  local name, tail = rest:match "^([%w_.]+)%s*(.*)$"
  block.alias = { name = name, members = {}, text = block.text }
  if tail ~= "" then
    local member, text = take_type(tail)
    block.alias.members[1] = { type = member, text = "" }
    if text ~= "" then block.alias.text = text end
  end
  block.text = ""
end

function tags.param(block, rest)
  local name, tail = rest:match "^([%w_.]+%??)%s+(.*)$"
  local param = { name = name:gsub("%?$", ""), optional = name:find "%?$" ~= nil }
  param.type, param.text = take_type(tail)
  table.insert(block.params, param)
end

tags["return"] = function(block, rest)
  local result = {}
  result.type, rest = take_type(rest)
  result.name, result.text = rest:match "^(%S*)%s*(.*)$"
  table.insert(block.returns, result)
end

function tags.overload(block, rest)
  table.insert(block.class and block.class.overloads or block.overloads, rest)
end

function tags.generic() end
function tags.operator() end
function tags.meta(block) block.is_meta = true end

local function new_block(line)
  return { line = line, text = "", params = {}, returns = {}, overloads = {} }
end

local function add_text(block, text) block.text = block.text .. (block.text ~= "" and "\n" or "") .. text end

-- Enters a block and the line of code behind it (nil: none) into the file's items.
local function finish(file, block, code, holders)
  if block.alias then table.insert(file.items, { kind = "alias", line = block.line, alias = block.alias }) end
  if block.class then
    local holder = code and (code:match "^local ([%w_]+) = {}$" or code:match "^([%w_.]+) = {}$")
    if holder then holders[holder] = block.class.name end
    if block.class.name ~= "koine" or #block.class.fields > 0 then
      block.class.place = code and code:match "^([%w_.]+) = {}$"
      table.insert(file.items, { kind = "class", line = block.line, class = block.class })
    end
    return
  end
  local holder, colon, name, arguments
  if code then holder, colon, name, arguments = code:match "^function ([%w_.]+)([.:])([%w_]+)%((.-)%) end$" end
  if name then
    table.insert(file.items, { kind = "function", line = block.line, holder = holders[holder] or holder, name = name,
      is_method = colon == ":", arguments = arguments, text = block.text, params = block.params,
      returns = block.returns, overloads = block.overloads })
  elseif not block.alias and code and not code:find "^return " then
    file.problems[#file.problems + 1] = ("%s:%d: what is this? %s"):format(file.path, block.line, code)
  end
end

--- Reads one file: {path, title, items, problems}. An item is {kind = "class" | "alias" | "function", line, …}.
function types.read(path)
  local file, holders, number = { path = path, items = {}, problems = {} }, {}, 0
  local block
  for line in io.lines(path) do
    number = number + 1
    local text = line:match "^%-%-%-(.*)$"
    if number == 2 then file.title = line:match "^%-%- (.*)$" end
    if text then
      block = block or new_block(number)
      local tag, rest = text:match "^@(%a+)%s*(.*)$"
      local member = text:match "^|%s*(.*)$"
      if member then
        local type, said = take_type(member)
        table.insert(block.alias.members, { type = type, text = (said:gsub("^# ", "")) })
      elseif tag and tags[tag] then tags[tag](block, rest)
      elseif tag then file.problems[#file.problems + 1] = ("%s:%d: unknown tag @%s"):format(path, number, tag)
      else add_text(block, text) end
    elseif block then
      if not block.is_meta then finish(file, block, line ~= "" and line or nil, holders) end
      block = nil
    elseif line:find "^function " then
      finish(file, new_block(number), line, holders)
    elseif line ~= "" and not line:find "^%-%-" and not line:find "^return " and line ~= "local koine = {}" then
      file.problems[#file.problems + 1] = ("%s:%d: what is this? %s"):format(path, number, line)
    end
  end
  if block then finish(file, block, nil, holders) end
  return file
end

--- Reads all files: an array of them, and all that they define: {classes, aliases = items by name, functions = items by
-- "HOLDER.NAME", problems = array of texts}.
function types.all()
  local files, all = {}, { classes = {}, aliases = {}, functions = {}, problems = {} }
  for i, path in ipairs(find "types/koine -name '*.lua'") do
    local file = types.read(path)
    files[i] = file
    table.move(file.problems, 1, #file.problems, #all.problems + 1, all.problems)
    for _, item in ipairs(file.items) do
      item.path = path
      local into = item.kind == "class" and all.classes or item.kind == "alias" and all.aliases or all.functions
      local name = item.kind == "function" and item.holder .. "." .. item.name or item[item.kind].name
      if into[name] then
        all.problems[#all.problems + 1] = ("%s:%d: %s is defined twice"):format(path, item.line, name)
      end
      into[name] = item
    end
  end
  return files, all
end

--- The names of classes and aliases in a type.
function types.names(text)
  local names = {}
  for name in text:gsub('"[^"]*"', ""):gmatch "%f[%w_]koine[%w_.]*" do names[#names + 1] = name end
  return names
end

return types
