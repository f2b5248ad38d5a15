-- docs-check.lua: whatever is called from elsewhere is explained where it stands. A function of a table that a Lua file
-- returns, and a method, have a `---` comment that says what comes back; a C function that Lua sees has a comment that
-- begins with its name and arguments as Lua has them; a function of a C header has a comment; every file says what
-- lives in it; a field of a record stands on a page; llms.txt is short and names only what exists. Prints `file:line:
-- what is missing` and exits 1. Whether pages and code agree is for spec/lua/whole/docs/docs_spec.lua, which
-- `make docs-check` runs after this.
-- Run from the project's root, with the module on LUA_CPATH.

local problems, checked = {}, 0

local function complain(path, line, ...)
  problems[#problems + 1] = ("%s:%d: "):format(path, line) .. string.format(...)
end

-- The paths that find prints for these arguments, sorted.
local function files(where)
  local list = {}
  local pipe <close> = assert(io.popen("find " .. where .. " | LC_ALL=C sort"))
  for name in pipe:lines() do list[#list + 1] = name end
  return list
end

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function lines_of(path)
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line end
  return lines
end

-- Lua ---------------------------------------------------------------------------------------------------------------

-- The comment that ends just above line i, "" when there is none.
local function comment_above(lines, i)
  local first = i
  while (lines[first - 1] or ""):find "^%s*%-%-" do first = first - 1 end
  return table.concat(lines, "\n", first, i - 1)
end

-- Whether something comes back from the function that begins in line i, or from one inside it.
local function returns(lines, i)
  if not lines[i]:find "%f[%w]function%f[%W]" then return false end -- a value
  local last, indent = i, lines[i]:match "^%s*"
  if not lines[i]:find "%f[%w]end%f[%W]" then
    repeat last = last + 1 until last >= #lines or lines[last]:find("^" .. indent .. "end")
  end
  return table.concat(lines, "\n", i, last):gsub("return[%s;]+end", ""):find "%f[%w]return%s+[^%s;]" ~= nil
end

-- Words for what comes back. A comment that opens with a name ("The tool of that …") needs none; one that opens with a
-- verb ("Closes …") says what is done.
local RESULT = { "[Rr]eturns?%f[%W]", "[Rr]aises%f[%W]", "%f[%w]nil%f[%W]", "[Tt]rue%f[%W]", "[Ff]alse%f[%W]", ": " }

local function tells_result(comment)
  local opening = comment:match "^[-%s]*(%a*)"
  if opening == "Makes" or opening == "This" or not opening:find "%ls$" then return true end
  for _, word in ipairs(RESULT) do
    if comment:find(word) then return true end
  end
  return false
end

local seen = {}

-- The function `name` of line i of a file, once.
local function check_function(path, lines, i, name)
  local at = path .. ":" .. i
  if seen[at] then return end
  seen[at], checked = true, checked + 1
  local comment = comment_above(lines, i)
  if not comment:find "%-%-%-%s*%S" then
    complain(path, i, "%s has no --- comment", name)
  elseif returns(lines, i) and not tells_result(comment) then
    complain(path, i, "%s: the comment does not say what comes back", name)
  end
end

-- Whether a table of the file is seen outside of it: it is returned, or holds methods.
local function is_public(lines, holder)
  if holder:find "methods$" or holder:find "_mt$" then return true end
  for i = #lines, 1, -1 do
    local returned = lines[i]:match "^return (.*)"
    if returned then return returned:find("%f[%w_]" .. holder .. "%f[^%w_]") ~= nil end
  end
  return false
end

local function check_lua(path)
  local lines = lines_of(path)
  if not lines[1]:find "^%-%-" then complain(path, 1, "the file does not say what lives in it") end
  for i, line in ipairs(lines) do
    local holder, name = line:match "^function ([%w_]+)[.:](%a[%w_]*)%s*%("
    if not holder then holder, name = line:match "^([%w_]+)%.(%a[%w_]*) = " end
    if holder and is_public(lines, holder) then check_function(path, lines, i, holder .. "." .. name) end
  end
end

-- What the modules that users have really hold, wherever it was written: functions, and what is called like one.
local function check_exports()
  local koine, texts = require "koine", {}
  local function check(name, f)
    local info = debug.getinfo(f, "Su")
    local path = info.source:match "^@%./(lua/koine.*)"
    if not path then return end -- C has its own check
    texts[path] = texts[path] or lines_of(path)
    local lines, i = texts[path], info.linedefined
    local begins = lines[i]:match "^%l+ ?%l*"
    if begins == "local function" or begins == "function " or begins == "return function" then
      return check_function(path, lines, i, name)
    end
    for n = 1, lines[i]:find("__call = ", 1, true) and info.nups or 0 do -- what is behind the call
      local _, inner = debug.getupvalue(f, n)
      if type(inner) == "function" then check(name, inner) end
    end -- any other was made by a function, and is explained where it was given its name
  end
  local function walk(name, value, depth)
    if type(value) == "function" then return check(name, value) end
    if type(value) ~= "table" or depth > 3 then return end
    local call = (getmetatable(value) or {}).__call
    if call then check(name, call) end
    for key, member in next, value do
      if type(key) == "string" and not key:find "^_" then walk(name .. "." .. key, member, depth + 1) end
    end
  end
  for name in read "lua/koine/init.lua":gmatch "%a[%w_]*" do
    if koine[name] ~= nil then walk("koine." .. name, koine[name], 1) end
  end
end

-- C -----------------------------------------------------------------------------------------------------------------

-- The first line of the paragraph that line i is in.
local function paragraph(lines, i)
  while i > 1 and lines[i - 1]:find "%S" do i = i - 1 end
  return i
end

-- Functions that Lua sees: those in a list of names. `__gc` and its like do what Lua's manual says.
local function check_binding(path)
  local lines, defined = lines_of(path), {}
  for i, line in ipairs(lines) do
    local f = line:match "^static int ([%w_]+)%(lua_State %*L%) {"
    if f then defined[f] = i end
    local name, value = line:match '^%s*{ "(%a[%w_]*)", ([%w_]+) }'
    if not name then
      value = line:match "lua_pushcfunction%(L, ([%w_]+)%)"
      name = value and lines[i + 1]:match 'lua_setfield%(L, %-?%d, "(%a[%w_]*)"%)'
    end
    local at = name and defined[value]
    if at then
      checked = checked + 1
      local comment = table.concat(lines, "\n", paragraph(lines, at), at - 1)
      if not comment:find("%f[%w_]" .. name .. "[({]") then
        complain(path, at, "%s: the comment does not begin with %s(…)", value, name)
      end
    end
  end
end

-- Functions of a header: a comment above, or behind, or above others of the same paragraph.
local function check_header(path)
  local lines = lines_of(path)
  for i, line in ipairs(lines) do
    local name = line:match "^[%a][%w_ ]*[%s%*]%*?([%l_][%w_]*)%("
    if name and not line:find "^typedef" then
      checked = checked + 1
      local around = table.concat(lines, "\n", paragraph(lines, i), i)
      if not around:find("/*", 1, true) then complain(path, i, "%s has no comment", name) end
    end
  end
end

-- Pages -------------------------------------------------------------------------------------------------------------

-- Fields of records stand on some page.
local function check_records()
  local pages = {}
  for i, path in ipairs(files "docs -maxdepth 1 -name '*.md'") do pages[i] = read(path) end
  pages = " " .. table.concat(pages, "\n")
  for i, line in ipairs(lines_of "lua/koine/data/records/init.lua") do
    for name in line:gmatch '%f[%l][ro][ep]%l+%("([%l_]+)",' do -- required("name", …), optional(…)
      if not pages:find("[^%w_]" .. name .. "%f[^%w_]") then
        complain("lua/koine/data/records/init.lua", i, "the field %s is on no page", name)
      end
    end
  end
end

-- llms.txt is short, and names only what exists.
local function check_short()
  local koine, lines = require "koine", lines_of "llms.txt"
  if #lines > 150 then complain("llms.txt", #lines, "more than 150 lines") end
  for i, line in ipairs(lines) do
    for target in line:gmatch "%]%(([^)#]+)" do
      local there <close> = io.open(target)
      if not there then complain("llms.txt", i, "there is no %s", target) end
    end
    for name in line:gmatch "%f[%w]koine%.([%l_][%l_%d]*)" do
      if koine[name] == nil then complain("llms.txt", i, "there is no koine.%s", name) end
    end
  end
end

for _, path in ipairs(files "lua/koine -name '*.lua'") do check_lua(path) end
check_exports()
check_records()
check_short()
for _, path in ipairs(files "src/binding -name '*.c'") do check_binding(path) end
for _, path in ipairs(files "src -name '*.h'") do check_header(path) end
for _, path in ipairs(files "src -name '*.[ch]'") do
  local head = table.concat(lines_of(path), "\n", 1, 2)
  if not head:find(path:match "[^/]*$", 1, true) then
    complain(path, 1, "the file does not say what lives in it")
  end
end

for _, problem in ipairs(problems) do print(problem) end
if #problems > 0 then os.exit(false) end
print(("docs-check: %d names are explained"):format(checked))
