-- Agents of others at work, with a provider of this machine: each in a folder of its own, which is its home, too.

local core = require "koine.core"
local koine = require "koine"
local program = require "spec.interop.support.program"
local search_path = require "spec.support.search_path"

local agents = {}

local methods = {}
local metatable = { __index = methods }

-- The number of processes that have a text in their environment: of an agent, and of all that it started.
local function count(text)
  local found = 0
  local list <close> = assert(io.popen "ls /proc")
  for pid in list:lines() do
    local there = pid:find "^%d+$" and program.read("/proc/" .. pid .. "/environ"):find(text, 1, true)
    local stat = there and program.read("/proc/" .. pid .. "/stat"):match "^.*%) (%a)"
    if stat and stat ~= "Z" then found = found + 1 end
  end
  return found
end

--- A provider whose prompts CALL-IT make the agent call the tool `name` with `input(directory)`, and the folders.
function agents.new(name, input)
  local self = setmetatable({ home = program.folder(), work = program.folder(), logs = program.folder() }, metatable)
  local here = assert(io.popen "pwd"):read "l"
  local line = ("env LUA_PATH=%s LUA_CPATH=%s %s %s %s %s"):format(program.quote(search_path(package.path)),
    program.quote(search_path(package.cpath)), os.getenv "KOINE_LUA" or "lua5.4",
    program.quote(here .. "/spec/agents/provider.lua"), program.quote(name),
    program.quote(core.encode(input(self.work))))
  self.provider = program.start(self.logs, line, function(log) return log:match "port (%d+)" end)
  self.url = "http://127.0.0.1:" .. self.provider.answer
  return self
end

--- The options of koine.acp.connect for the program `preset` (a name of koine.acp.presets) of the npm packages in the
-- folder `packages` of the run; `given` are further ones.
function methods:options(preset, packages, given)
  local modules = assert(os.getenv "KOINE_INTEROP", "run by: make interop-full") .. "/" .. packages .. "/node_modules"
  local made = { cwd = self.work, args = koine.acp.presets[preset].args,
    command = modules .. "/.bin/" .. koine.acp.presets[preset].command }
  for key, value in next, given do made[key] = value end
  made.env = { HOME = self.home, PATH = os.getenv "KOINE_NODE":match "^(.*)/" .. ":" .. os.getenv "PATH" }
  for key, value in next, given.env or {} do made.env[key] = value end
  return made
end

--- The number of processes that the agent left.
function methods:left() return count("HOME=" .. self.home) end

--- What a file of the working directory has; nil for none.
function methods:file(name)
  local file <close> = io.open(self.work .. "/" .. name)
  return file and file:read "a"
end

--- Ends the provider, and removes the folders.
function methods:close()
  self.provider:stop()
  for _, folder in ipairs { self.home, self.work, self.logs } do os.execute("rm -rf " .. program.quote(folder)) end
end

return agents
