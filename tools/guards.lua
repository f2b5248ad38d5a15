-- guards.lua: what only few files may do: start programs, change files, include lua.h or libcurl's headers, know a
-- provider's name. The blocks "permit" of docs/architecture.md say which files and why; a file that does what no
-- permit allows fails, and so does a permit that no file needs.
-- Usage: lua5.4 tools/guards.lua   (from the project's root)

local source = dofile "tools/source.lua"
local find = source.find

local PAGE = "docs/architecture.md"
local problems = 0

local function complain(...)
  problems = problems + 1
  print(string.format(...))
end

local C_FILES = "src -name '*.[ch]'"
local LUA_FILES = "lua/koine bin -type f"

-- What is guarded: patterns in the code of Lua files and of C files; `fine`: what matches but does no harm.
local GUARDS = {
  ["starts a program"] = {
    lua = { "os%.execute", "io%.popen", "core%.process", "uv%.spawn" },
    c = { "%f[%w_]v?fork%s*%(", "posix_spawnp?%s*%(", "%f[%w_]exec[vl]p?e?%s*%(", "%f[%w_]system%s*%(", "popen%s*%(" },
  },
  ["uses koine.process"] = { lua = { "[\"'%[]koine%.system%.process[\"'%]]" } },
  ["changes files"] = {
    lua = { "io%.open%s*%b()", "io%.output", "os%.remove", "os%.rename", "os%.tmpname", "core%.file_write",
      "koine%.files%.write", "core%.file_remove", "core%.file_directory", "core%.file_lock", "lfs%.", "uv%.fs_" },
    c = { "O_CREAT", "O_WRONLY", "O_RDWR", "O_TRUNC", "fopen%s*%(", "%f[%w_]creat%s*%(", "rename%w*%s*%(",
      "unlink%w*%s*%(", "%f[%w_]mkdir%w*%s*%(", "%f[%w_]rmdir%s*%(", "%f[%w_]remove%s*%(", "truncate%s*%(",
      "mkstemp%s*%(", "mkfifo%w*%s*%(", "symlink%w*%s*%(", "%f[%w_]link%w*%s*%(" },
    fine = { '^io%.open%s*%([^,]*%)$', '^io%.open%s*%(.*, "rb?"%)$' }, -- for reading
  },
  ["loads code by name"] = {
    lua = { "%f[%w_]dofile%f[^%w_]", "%f[%w_]loadfile%f[^%w_]", "package%.%l+" },
  },
  -- Its numbers come again in another process: in one that is a fork, in one that called math.randomseed.
  ["uses math.random"] = { lua = { "math%.random" } },
  -- Hosts leave both out for scripts of others.
  ["uses debug"] = { lua = { "%f[%w_]debug%.%l" } },
  ["reads the environment"] = { lua = { "os%.getenv" } },
  ["opens a working directory's files"] = { lua = { "core%.workdir%f[^%w_]" } },
  ["includes lua.h"] = { c = { "<[^>]*lua[%w_]*%.h[p]*%s*>", "<%s*lauxlib%.h%s*>" } },
  ["includes libcurl's headers"] = { c = { "<%s*curl/" } },
}

-- Who may: what is guarded → {{pattern of paths, seen = whether a file needed it}}. A path that ends in a slash stands
-- for all below it.
local permits = {}
for what, text in io.open(PAGE):read "a":gmatch "\n```permit ([^\n]+)\n(.-)\n```" do
  if not GUARDS[what] then complain("%s: nothing is guarded as %q", PAGE, what) end
  permits[what] = {}
  for line in text:gmatch "[^\n]+" do
    local path, why = line:match "^(%S+): (%S.*)$"
    if not why then complain("%s: a permit says PATH: WHY, not %q", PAGE, line)
    else table.insert(permits[what], { path = path }) end
  end
end

local function permitted(what, file)
  for _, permit in ipairs(permits[what] or {}) do
    local path = permit.path
    if path == file or (path:sub(-1) == "/" and file:sub(1, #path) == path) then
      permit.seen = true
      return true
    end
  end
  return false
end

-- function(file, number, code) for every line of the files that find prints.
local function each_line(where, f)
  for _, file in ipairs(find(where)) do
    local n = 0
    for line in (source.read(file) .. "\n"):gmatch "(.-)\n" do
      n = n + 1
      f(file, n, line)
    end
  end
end

-- What in a line is guarded, or nil.
local function guarded(guard, patterns, line)
  for _, pattern in ipairs(patterns) do
    for found in line:gmatch(pattern) do
      local fine = false
      for _, exception in ipairs(guard.fine or {}) do fine = fine or found:find(exception) ~= nil end
      if not fine then return found end
    end
  end
end

for what, guard in pairs(GUARDS) do
  for kind, where in pairs { lua = LUA_FILES, c = C_FILES } do
    each_line(where, function(file, n, line)
      local found = guarded(guard, guard[kind] or {}, line)
      if found and not permitted(what, file) then
        complain("%s:%d: %s (%s): %s has no permit", file, n, what, found, PAGE)
      end
    end)
  end
  for _, permit in ipairs(permits[what] or {}) do
    if not permit.seen then complain("%s: %s: nothing in %s needs this permit", PAGE, what, permit.path) end
  end
end

-- A provider is known to its own row and login alone, beside those who play it in tests: its name is compared nowhere
-- else, and where it is not the name of a wire format too it is neither a string nor a field there.
local OWN, PLAYED = "lua/koine/provider/", "lua/koine/testing/"
local providers = {}
for _, file in ipairs(find(OWN .. "rows -name '*.lua'")) do providers[file:match "([%w_]+)%.lua$"] = true end
providers.compatible = nil -- a word of its own

local wires = {}
for _, folder in ipairs(find "src/core/codec -mindepth 1 -type d") do wires[folder:match "[^/]+$"] = true end

-- Kind of files → patterns that capture a name: `compared`, or merely `named`.
local NAMED = {
  [LUA_FILES] = { compared = { "[=~]=%s*[\"']([%w_]+)[\"']" },
    named = { "[\"']([%w_]+)[\"']", "[%.:]([%w_]+)", "%f[%w_]([%w_]+)%s*=%f[^=]" } },
  [C_FILES] = { compared = { 'str_eq%(.-, "([%w_]+)"%)' }, named = { '"([%w_]+)"' } },
}

local function check_name(file, n, name, how)
  if not providers[name] or file:sub(1, #OWN) == OWN then return end
  if how == "named" and (wires[name] or file:sub(1, #PLAYED) == PLAYED) then return end
  complain("%s:%d: %s the provider %s", file, n, how == "named" and "names" or "compares with", name)
end

for where, patterns in pairs(NAMED) do
  each_line(where, function(file, n, line)
    for how, list in pairs(patterns) do
      for _, pattern in ipairs(list) do
        for name in line:gmatch(pattern) do check_name(file, n, name, how) end
      end
    end
  end)
end

-- Examples use what users have; bin/koine starts the command line and does nothing else.
each_line("examples bin -type f", function(file, n, line)
  local name = line:match "[\"'%[](koine%.[%w_.]+)[\"'%]]"
  if name and not (file == "bin/koine" and (name == "koine.cli" or name == "koine.core")) then
    complain('%s:%d: examples use require "koine" only, bin/koine koine.cli', file, n)
  end
end)

if problems > 0 then
  print(("guards: %d problem%s"):format(problems, problems == 1 and "" or "s"))
  os.exit(false)
end
print "guards: every file does what it may"
