-- arch.lua: the rooms and the arrows between them. docs/architecture.md has the plan; this reads it, the folders, and
-- every include and require. It fails on an arrow that the plan does not list, an arrow that it lists and no file uses,
-- a folder without a line, a line without a folder, a name that leads to no file, and a folder of more than 14 entries.
-- Usage: lua5.4 tools/arch.lua [PLAN]   (from the project's root)

local source = dofile "tools/source.lua"
local find = source.find

local ENTRIES_MAX = 14

local page = arg[1] or "docs/architecture.md"
local problems = 0

local function complain(...)
  problems = problems + 1
  print(string.format(...))
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function exists(path)
  local file <close> = io.open(path)
  return file ~= nil
end

-- The last component of a path, and what is before it.
local function base(path) return path:match "[^/]*$" end
local function parent(path) return path:match "^(.*)/" end

-- The plan ----------------------------------------------------------------------------------------------------------

-- Every block "```KIND WORD" of the page: function(word, lines).
local function blocks(kind, f)
  for word, text in ("\n" .. read(page)):gmatch("\n```" .. kind .. " ?(%S*)\n(.-)\n```") do
    local lines = {}
    for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
    f(word, lines)
  end
end

local plan = {}  -- folder → {room → {room that it may use = true}}
local order = {} -- the folders, as they stand on the page
local used = {}  -- "folder room room" → true

blocks("rooms", function(folder, lines)
  local rooms = {}
  for _, line in ipairs(lines) do
    local name, uses = line:match "^([%w_.*]+):%s*(.-)%s*$"
    if not name then
      complain("%s: not a line of a plan: %s", page, line)
    else
      if rooms[name] then complain("%s: %s: %s has two lines", page, folder, name) end
      local may = {}
      for use in uses:gmatch "%S+" do
        if not rooms[use] then
          complain("%s: %s: %s uses %s, which stands on no line above it", page, folder, name, use)
        end
        may[use] = true
      end
      rooms[name] = may
    end
  end
  plan[folder], order[#order + 1] = rooms, folder
end)

local shelves = {} -- folders that are lists of equals and may be longer; with a slash at the end all below it, too
blocks("shelves", function(_, lines) table.move(lines, 1, #lines, #shelves + 1, shelves) end)

local function is_shelf(folder)
  for _, shelf in ipairs(shelves) do
    local all = shelf:sub(-1) == "/"
    if folder == shelf or (all and (folder .. "/"):sub(1, #shelf) == shelf) then return true end
  end
  return false
end

if #order == 0 then complain("%s: has no plan", page) end
for _, folder in ipairs { "src", "src/core", "src/core/codec", "lua/koine" } do
  if not plan[folder] then complain("%s: has no plan of %s", page, folder) end
end

-- Folders -----------------------------------------------------------------------------------------------------------

-- The line that a room stands on: its own, else "*", that of all rooms without one; nil when there is none.
local function line_of(rooms, name) return rooms[name] and name or rooms["*"] and "*" end

for _, folder in ipairs(order) do
  local rooms, seen = plan[folder], { ["."] = #find(folder .. " -maxdepth 1 -type f") > 0 }
  for _, path in ipairs(find(folder .. " -mindepth 1 -maxdepth 1 -type d")) do
    local line = line_of(rooms, base(path))
    if line then seen[line] = true else complain("%s: stands on no line of %s", path, page) end
  end
  if seen["."] and not rooms["."] then complain("%s: its files stand on no line of %s", folder, page) end
  for name in pairs(rooms) do
    if not seen[name] then complain("%s: %s: there is no room %s", page, folder, name) end
  end
end

local entries = {} -- folder → their number
for _, path in ipairs(find "src lua spec -mindepth 1") do
  entries[parent(path)] = (entries[parent(path)] or 0) + 1
end
for _, folder in ipairs(find "src lua spec -type d") do
  local n = entries[folder] or 0
  if n > ENTRIES_MAX and not is_shelf(folder) then
    complain("%s: %d entries, at most %d: divide it by theme", folder, n, ENTRIES_MAX)
  end
end
for _, folder in ipairs(shelves) do
  if #find(folder .. " -maxdepth 0 -type d 2>/dev/null") == 0 then
    complain("%s: there is no shelf %s", page, folder)
  end
end

-- Tests have the rooms of what they test: "FOLDER: where its rooms come from, or further names".
blocks("tests", function(_, lines)
  for _, line in ipairs(lines) do
    local folder, sources = line:match "^(%S+):%s*(.*)$"
    if not folder then complain("%s: not a line about tests: %s", page, line) end
    local known = {}
    for name in (sources or ""):gmatch "%S+" do
      known[name] = true
      for room in pairs(plan[name] or {}) do known[room] = true end
    end
    for _, path in ipairs(folder and find(folder .. " -mindepth 1 -maxdepth 1 -type d") or {}) do
      if not known[base(path)] then complain("%s: there is no such room to test", path) end
    end
  end
end)

-- Names: a file is not called after its folder, unless it is the main one, and stands beside no folder of its name.
local folders = {}
for _, path in ipairs(find "src lua -type d") do folders[path] = true end
for _, path in ipairs(find "src lua -type f") do
  local name, room = base(path):match "^([^.]*)", base(parent(path))
  if name:find("^" .. room .. "_") then complain("%s: its name repeats the folder's", path) end
  if folders[parent(path) .. "/" .. name] then complain("%s: stands beside the folder of its name", path) end
end

-- Arrows ------------------------------------------------------------------------------------------------------------

-- The room of a path within a folder of the plan: the next component, "." for the folder's own files, nil outside.
local function room_in(folder, path)
  if path:sub(1, #folder + 1) ~= folder .. "/" then return nil end
  return path:sub(#folder + 2):match "^([^/]+)/" or "."
end

local function arrow(from, line, to)
  for _, folder in ipairs(order) do
    local rooms, a, b = plan[folder], room_in(folder, from), room_in(folder, to)
    if a and b and a ~= b then
      local room = line_of(rooms, a)
      if room and not rooms[room][b] then complain("%s:%d: %s: %s may not use %s", from, line, folder, a, b) end
      if room then used[folder .. " " .. room .. " " .. b] = true end
    end
  end
end

-- Includes are spelled from src, or bare within the folder.
local function check_include(path, line, name)
  local to = name:find "/" and "src/" .. name or parent(path) .. "/" .. name
  if name:find("..", 1, true) then
    complain("%s:%d: an include is spelled from src, not %q", path, line, name)
  elseif not exists(to) then
    complain("%s:%d: no such header: %s", path, line, name)
  elseif name:find "/" and parent(to) == parent(path) then
    complain("%s:%d: a header of the same folder: include %q", path, line, base(name))
  else
    arrow(path, line, to)
  end
end

for _, path in ipairs(find "src -type f") do
  if not path:find "%.[ch]$" then complain("%s: neither .c nor .h", path) end
  local code = source.read(path)
  for at, given in code:gmatch "()#%s*include%s*([^\n]*)" do
    local line, name = source.line(code, at), given:match '^"([^"]+)"'
    if name then check_include(path, line, name)
    elseif not given:find "^<" or given:find "^<%s*core/" or given:find "^<%s*binding/" then
      complain("%s:%d: not an include that can be checked: %s", path, line, given)
    end
  end
end

-- The file of a module's name; a name that ends in a dot is completed at run time: any file of that folder.
local function file_of(name)
  local path = "lua/" .. name:gsub("%.", "/")
  if path:sub(-1) == "/" then return find(path .. " -name '*.lua'")[1] end
  for _, file in ipairs { path .. ".lua", path .. "/init.lua" } do
    if exists(file) then return file end
  end
end

-- The C module, and in the directory what is completed from its own list.
local function is_own(path, name)
  return name == "koine.core" or (name == "koine." and path == "lua/koine/init.lua")
end

-- A string behind `require` or `package` is an arrow to the module of that name.
for _, path in ipairs(find "lua/koine -name '*.lua'") do
  for _, given in ipairs(source.requires(source.read(path))) do
    local to = not is_own(path, given.name) and file_of(given.name)
    if to then arrow(path, given.line, to)
    elseif not is_own(path, given.name) then
      complain("%s:%d: no such module: %s", path, given.line, given.name)
    end
  end
end

for _, folder in ipairs(order) do
  for a, may in pairs(plan[folder]) do
    for b in pairs(may) do
      if not used[folder .. " " .. a .. " " .. b] then
        complain("%s: %s: %s: nothing in it uses %s", page, folder, a, b)
      end
    end
  end
end

if problems > 0 then
  print(("arch: %d problem%s"):format(problems, problems == 1 and "" or "s"))
  os.exit(false)
end
print "arch: every arrow points down"
