-- circles.lua: no files of src, and none of lua, call each other in a circle, so that each can be read with what stands
-- below it alone. A C file calls another one when it names a function or a constant that the other defines, or an
-- inline function or a macro that does. A Lua file calls those that it requires, wherever in it; where the name is
-- completed at run time, every module of that folder. The block "circles" of docs/architecture.md names the folders
-- that still have circles inside, and why; one that has none any more fails as well.
-- Usage: lua5.4 tools/circles.lua [PLAN [FOLDER [LUA_FOLDER]]]   (from the project's root)

local source = dofile "tools/source.lua"
local find = source.find

local PAGE, FOLDER, LUA_FOLDER = arg[1] or "docs/architecture.md", arg[2] or "src", arg[3] or arg[2] or "lua"
local problems = 0

local function complain(...)
  problems = problems + 1
  print(string.format(...))
end

local function parent(path) return path:match "^(.*)/" end

-- What is defined ---------------------------------------------------------------------------------------------------

-- The code of a file without strings and without the names of types, all members behind a dot, and with a newline
-- before it.
local function code_of(path)
  local text = "\n" .. source.read(path):gsub("\\[^\n]", ""):gsub("'[^\n]?'", "0"):gsub('"[^"\n]*"', '""')
  text = text:gsub("%->", ".")
  for _, tag in ipairs { "struct", "enum", "union" } do text = text:gsub("%f[%w_]" .. tag .. "%s+[%w_]+", tag) end
  return text
end

-- Every function of a file: f(name, what stands before it on its line, body).
local function functions(code, f)
  for before, name, body in code:gmatch "\n(%a[%w_ %*]-)([%a_][%w_]*)%b()%s*(%b{})" do f(name, before, body) end
end

local home = {}   -- public name → the file that defines it
local hidden = {} -- file → {name of a static function = true}
local expands = {} -- inline function or macro → the code that stands for it

local paths, code = find(FOLDER .. " -name '*.c'"), {}
for _, path in ipairs(paths) do
  local text = code_of(path)
  code[path], hidden[path] = text, {}
  functions(text, function(name, before)
    if before:find "^static%s" then hidden[path][name] = true else home[name] = path end
  end)
  for before, name in text:gmatch "\n(%a[%w_ %*]*[ %*])([%a_][%w_]*)[%[%]%w_]* =" do
    if not before:find "^static%s" then home[name] = path end
  end
end

for _, path in ipairs(find(FOLDER .. " -name '*.h'")) do
  local text = code_of(path)
  functions(text, function(name, before, body)
    if before:find "^static%s+inline%s" then expands[name] = body end
  end)
  for name, body in text:gsub("\\\n", " "):gmatch "\n#%s*define%s+([%a_][%w_]*)([^\n]*)" do expands[name] = body end
end

-- What C files call ---------------------------------------------------------------------------------------------------

-- Notes in `calls` what files this code calls, with one of the names that say so.
local function note(calls, path, text, seen)
  for dot, name in text:gmatch "(%.?)%s*%f[%w_]([%a_][%w_]*)" do
    if dot == "" and not seen[name] and not hidden[path][name] then
      seen[name] = true
      if home[name] and home[name] ~= path then calls[home[name]] = calls[home[name]] or name end
      if expands[name] then note(calls, path, expands[name], seen) end
    end
  end
end

local calls = {} -- file → {file that it calls = a name of it}
for _, path in ipairs(paths) do
  calls[path] = {}
  note(calls[path], path, code[path], {})
end

-- What Lua files require --------------------------------------------------------------------------------------------

-- The directory's own list completes this name; the rooms' plan has its arrows.
local DIRECTORY = LUA_FOLDER .. "/koine/init.lua"

local lua_paths, module_of = find(LUA_FOLDER .. " -name '*.lua'"), {} -- file → the name that it is required by
for _, path in ipairs(lua_paths) do
  module_of[path] = path:sub(#LUA_FOLDER + 2):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
end

-- Whether a file is the module of a name, or one of those that a name with a dot at its end may be completed to.
local function is_named(path, name)
  local module = module_of[path]
  if name:sub(-1) ~= "." then return module == name end
  return module:sub(1, #name) == name and not module:find(".", #name + 1, true)
end

for _, path in ipairs(lua_paths) do
  paths[#paths + 1], calls[path] = path, {}
  for _, given in ipairs(source.requires(source.read(path))) do
    for _, to in ipairs((path ~= DIRECTORY or given.name ~= "koine.") and lua_paths or {}) do
      if to ~= path and is_named(to, given.name) then calls[path][to] = given.name end
    end
  end
end

-- Circles -----------------------------------------------------------------------------------------------------------

-- The files that can be reached from `from` by calls, each with the file that it was reached from.
local function reach(from)
  local came, queue = {}, { from }
  for _, path in ipairs(queue) do
    for _, to in ipairs(paths) do
      if calls[path][to] and not came[to] then
        came[to] = path
        queue[#queue + 1] = to
      end
    end
  end
  return came
end

-- The shortest circle through a file, as a sentence.
local function circle(path, came)
  local said, at = {}, path
  repeat
    local caller = came[at]
    table.insert(said, 1, ("%s calls %s of %s"):format(caller, calls[caller][at], at))
    at = caller
  until at == path
  return table.concat(said, ", ")
end

-- Folders whose circles are known → whether one was found.
local known = {}
for text in io.open(PAGE):read("a"):gmatch "\n```circles\n(.-)\n```" do
  for line in text:gmatch "[^\n]+" do
    local path, why = line:match "^(%S+): (%S.*)$"
    if why then known[path] = false else complain("%s: a known circle says FOLDER: WHY, not %q", PAGE, line) end
  end
end

local told = {} -- files that stand in a circle already shown
for _, path in ipairs(paths) do
  local came = reach(path)
  if came[path] and not told[path] then
    local inside = true
    for _, other in ipairs(paths) do
      if came[other] and reach(other)[path] then
        told[other] = true
        inside = inside and parent(other) == parent(path)
      end
    end
    if inside and known[parent(path)] ~= nil then known[parent(path)] = true
    else complain("a circle: %s", circle(path, came)) end
  end
end

for path, seen in pairs(known) do
  if not seen then complain("%s: there is no circle in %s any more", PAGE, path) end
end

if problems > 0 then
  print(("circles: %d problem%s"):format(problems, problems == 1 and "" or "s"))
  os.exit(false)
end
print "circles: every file can be read with what stands below it"
