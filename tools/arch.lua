-- arch.lua: the arrows between rooms. Reads every include and require, compares them with ALLOWED, and fails on any
-- other.
-- Usage: lua5.4 tools/arch.lua   (from the project's root)

-- What a room may include or require; a room is a file, or a group named below. Arrows point only down.
local CORE = {
  mem = "", err = "", event = "mem err", clock = "mem",
  json = "mem err event", sse = "mem err", fs = "mem err", tree = "mem err", pollset = "mem err",
  process = "pollset clock mem err",
  head = "clock json mem", redact = "json mem",
  normalise = "json mem err", think = "mem", leaked = "json mem err",
  codec = "think leaked json event normalise mem err",
  message = "codec normalise json event mem err",
  exchange = "sse message codec head redact clock json event mem err",
  http = "pollset clock head mem err", call = "exchange http clock",
}

-- Files that belong to a room whose name they begin with: codec_anthropic_parse.c lives in codec, json_read.c in json.
local GROUPS = { "codec", "json", "normalise", "http", "message", "exchange", "leaked", "tree", "process" }
local ALIAS = { codecs = "codec", check = "normalise" }

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
    elseif sys and sys:match("^l?ua") and sys ~= "math.h" then
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
  { "wait", "options", "rows", "retry", "records", "credentials", "pricing", "exchange", "rate_limiter", "auth",
    "schema" },
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

if problems > 0 then
  print(("arch: %d problem%s"):format(problems, problems == 1 and "" or "s"))
  os.exit(false)
end
print("arch: every arrow points down")
