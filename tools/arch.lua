-- arch.lua: the arrows between rooms, and who may start programs and write files. Reads every include and require,
-- compares them with what is allowed, and fails on any other.
-- Usage: lua5.4 tools/arch.lua   (from the project's root)

-- What a room may include or require; a room is a file, or a group named below. Arrows point only down.
local CORE = {
  mem = "", err = "", limits = "", header = "mem", event = "json mem err", clock = "mem", io = "mem",
  json = "mem err", sse = "mem err", fs = "io mem err", tree = "io mem err", pollset = "mem err",
  process = "pollset io clock mem err",
  head = "header clock json mem", redact = "json mem",
  normalise = "json mem err", think = "mem", leaked = "json mem err",
  codec = "think leaked json event normalise limits mem err",
  message = "normalise json event limits mem err",
  exchange = "sse message codec head header redact clock json event mem err",
  http = "pollset clock header mem err", call = "exchange http clock",
}

-- Files that belong to a room whose name they begin with: codec_anthropic_parse.c lives in codec, json_read.c in json.
local GROUPS = { "codec", "json", "normalise", "http", "message", "exchange", "leaked", "tree", "process" }
local ALIAS = { codecs = "codec" }

local problems = 0

local function complain(file, line, what)
  problems = problems + 1
  print(("%s:%d: %s"):format(file, line, what))
end

local function files(pattern)
  local list = {}
  local pipe = assert(io.popen("ls " .. pattern .. " 2>/dev/null"))
  for name in pipe:lines() do list[#list + 1] = name end
  pipe:close()
  return list
end

local function lines(file)
  local n, f = 0, assert(io.open(file))
  return function()
    n = n + 1
    local l = f:read("l")
    if not l then f:close() return nil end
    return n, l
  end
end

local function room(name)
  if CORE[name] then return name end
  if ALIAS[name] then return ALIAS[name] end
  for _, g in ipairs(GROUPS) do
    if name:match("^" .. g .. "_") then return g end
  end
  return nil
end

local function allowed(from, to)
  if from == to then return true end
  local list = CORE[from]
  return type(list) == "string" and (" " .. list .. " "):find(" " .. to .. " ", 1, true) ~= nil
end

-- The core: no lua.h, libcurl only in http, arrows as listed.
for _, file in ipairs(files("src/core/*.c src/core/*.h")) do
  local base = file:match("([%w_]+)%.[ch]$")
  local from = room(base)
  if not from then complain(file, 1, "belongs to no room: name it in tools/arch.lua") end
  for n, l in lines(file) do
    local inc = l:match('^%s*#%s*include%s+"([^"]+)"')
    local sys = l:match("^%s*#%s*include%s+<([^>]+)>")
    if inc then
      local to = room(inc:match("([%w_]+)%.h$") or "")
      if not to then complain(file, n, "includes " .. inc .. ", which is no room of the core")
      elseif from and not allowed(from, to) then complain(file, n, from .. " may not include " .. to) end
    elseif sys and (sys:match("^lua") or sys == "lauxlib.h") then
      complain(file, n, "the core includes no lua.h")
    elseif sys and sys:match("^curl/") and from ~= "http" then
      complain(file, n, "libcurl belongs to http")
    end
  end
end

-- The door: the core below it, nothing of a provider.
local PROVIDERS = {}
for _, file in ipairs(files("lua/koine/providers/*.lua")) do
  PROVIDERS[file:match("([%w_]+)%.lua$")] = true
end
PROVIDERS.compatible = nil

for _, file in ipairs(files("src/lua/*.c src/lua/*.h")) do
  for n, l in lines(file) do
    local inc = l:match('^%s*#%s*include%s+"([^"]+)"')
    if inc and inc ~= "door.h" and not inc:match("^core/[%w_]+%.h$") then
      complain(file, n, "the door includes door.h and core/*.h only")
    end
  end
end

-- No provider's name is compared anywhere but in its own row (comments are free to mention them).
for _, file in ipairs(files("src/core/*.c src/lua/*.c lua/koine/*.lua")) do
  for n, l in lines(file) do
    for name in l:gmatch('[=~]=%s*"([%w_]+)"') do
      if PROVIDERS[name] then complain(file, n, "compares with the provider's name " .. name) end
    end
    for name in l:gmatch('str_eq%(.-, "([%w_]+)"%)') do
      if PROVIDERS[name] then complain(file, n, "compares with the provider's name " .. name) end
    end
  end
end

-- Lua: layers from the bottom; a module may require those of lower layers and, where listed, its neighbours.
local LAYER = {
  { "version", "providers" },
  { "errors" },
  { "check" },
  { "wait", "options", "rows", "retry", "records", "credentials", "pricing", "exchange", "rate_limiter", "auth",
    "schema", "base64" },
  { "attempt", "stream", "loop", "process" },
  { "models", "hosts", "tool", "artifacts" },
  { "adapter", "base" },
  { "conversation", "playbook", "testing", "contract", "fallback", "turn" },
  { "agent", "executor" },
  { "session", "dispatcher" },
  { "init" },
}
local layer_of = {}
for i, names in ipairs(LAYER) do
  for _, name in ipairs(names) do layer_of[name] = i end
end

local function lua_room(file)
  local path = file:match("^lua/koine/(.*)%.lua$")
  return path:match("^([%w_]+)/") or path
end

for _, file in ipairs(files("lua/koine/*.lua lua/koine/*/*.lua lua/koine/*/*/*.lua")) do
  local from = lua_room(file)
  local level = layer_of[from]
  if not level then complain(file, 1, "belongs to no layer: name it in tools/arch.lua") end
  for n, l in lines(file) do
    for name in l:gmatch('require%s*%(?%s*"koine%.([%w_]+)') do
      local to = layer_of[name]
      if name ~= "core" and name ~= from and level and (not to or to > level) then
        complain(file, n, ("%s (layer %d) may not require koine.%s (layer %s)"):format(from, level, name, to or "?"))
      end
    end
  end
end
for _, file in ipairs(files("examples/*.lua examples/*/*.lua bin/koine")) do
  for n, l in lines(file) do
    if l:find '"koine%.[%w_.]+"' then complain(file, n, 'examples and bin use require "koine" only') end
  end
end

-- Programs and files: who starts the ones and changes the others, and why. Tools of models do both behind the executor
-- only.
local GUARDS = {
  { what = "starts a program", lua = { "os%.execute", "io%.popen", "core%.process", "uv%.spawn" },
    c = { "fork%s*%(", "posix_spawnp?%s*%(", "%f[%w_]exec[vl]p?e?%s*%(", "%f[%w_]system%s*%(", "popen%s*%(" },
    files = {
      ["lua/koine/system/process.lua"] = "the one way to run a program from Lua",
      ["lua/koine/testing/init.lua"] = "starts the loopback provider",
      ["bin/koine"] = "asks test(1) whether its descriptors are terminals",
      ["src/core/process/supervisor.c"] = "forks the supervisor and executes the program",
    } },
  { what = "requires koine.process", lua = { 'require "koine%.process"' },
    files = {
      ["lua/koine/system/artifacts/git.lua"] = "git, with arguments of Koine's own",
      ["lua/koine/system/executor/bash.lua"] = "the tool bash",
      ["lua/koine/session/cli/init.lua"] = "programs that are agents, chosen by the user",
    } },
  { what = "changes files", lua = { "io%.open%b()", "io%.output", "os%.remove", "os%.rename", "os%.tmpname",
      "core%.file_write", "core%.file_directory", "core%.file_lock", "lfs%.", "uv%.fs_" },
    allowed = { '^io%.open%([^,]*%)$', '^io%.open%(.*, "rb?"%)$' },
    c = { "O_CREAT", "O_WRONLY", "O_RDWR", "O_TRUNC", "fopen%s*%(", "%f[%w_]creat%s*%(", "rename%w*%s*%(",
      "unlink%w*%s*%(", "%f[%w_]mkdir%w*%s*%(", "%f[%w_]rmdir%s*%(", "%f[%w_]remove%s*%(", "truncate%s*%(",
      "mkstemp%s*%(", "mkfifo%w*%s*%(", "symlink%w*%s*%(", "%f[%w_]link%w*%s*%(" },
    files = {
      ["lua/koine/system/artifacts/git.lua"] = "an index of its own, in the system's temporary folder",
      ["lua/koine/provider/auth/copilot/github_token.lua"] = "keeps the login's token",
      ["lua/koine/store/rate_limiter.lua"] = "the state that processes share",
      ["lua/koine/testing/init.lua"] = "the fifo to the loopback provider",
      ["bin/koine"] = "saves a conversation where the user said",
      ["src/core/files/private_file.c"] = "private files, replaced in one step",
      ["src/core/files/workdir.c"] = "files below an executor's working directory",
      ["src/core/files/workdir_walk.c"] = "directories on the way to them",
      ["src/core/process/plan.c"] = "a program's standard input, as a file without a name",
    } },
  { what = "opens an executor's file tree", lua = { "core%.tree%(" },
    files = { ["lua/koine/system/executor/init.lua"] = "the boundary behind which tools touch files" } },
}

-- The line without its comment.
local function code(l)
  if l:find "^%s*/?%*" or l:find "^%s*//" then return "" end
  return (l:gsub("%-%-.*$", ""):gsub("/%*.*$", ""))
end

-- What in a line the guard is for, or nil.
local function guarded(guard, patterns, l)
  for _, pattern in ipairs(patterns or {}) do
    for found in code(l):gmatch(pattern) do
      local fine = false
      for _, exception in ipairs(guard.allowed or {}) do fine = fine or found:find(exception) ~= nil end
      if not fine then return found end
    end
  end
end

for _, guard in ipairs(GUARDS) do
  local seen = {}
  for kind, where in pairs { lua = "lua/koine/*.lua lua/koine/*/*.lua lua/koine/*/*/*.lua bin/koine",
    c = "src/*/*.c src/*/*.h" } do
    for _, file in ipairs(files(where)) do
      for n, l in lines(file) do
        local found = guarded(guard, guard[kind], l)
        if found then
          seen[file] = true
          if not guard.files[file] then
            complain(file, n, ("%s (%s): say why in tools/arch.lua, or go through who may"):format(guard.what, found))
          end
        end
      end
    end
  end
  for file in pairs(guard.files) do
    if not seen[file] then complain("tools/arch.lua", 1, ("%s no longer %s"):format(file, guard.what)) end
  end
end

if problems > 0 then
  print(("arch: %d problem%s"):format(problems, problems == 1 and "" or "s"))
  os.exit(false)
end
print("arch: every arrow points down")
