--- Reports what is installed, what commands of tools can read of this program, which keys are set, which servers
-- answer.

local adapters = require "koine.cli.adapters"
local failure = require "koine.cli.failure"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

local doctor = {}

local TIMEOUT = 10 -- seconds that a provider has to answer

-- Says what a command can read of its host, which is its supervisor's parent: "environment", "memory", "unknown".
local LOOK = [[
read -r stat </proc/$PPID/stat || { echo unknown; exit; }
set -- ${stat##*) }
[ -z "$(tr -d '\0' </proc/$2/environ | head -c 1)" ] || echo environment
! (exec 3</proc/$2/mem) || echo memory
]]

-- Returns words for the parts of Koine that a command which it starts can read. It is tried, not guessed: that depends
-- on the user, the system and its capabilities.
local function exposure()
  local run = koine.process.run({ "sh", "-c", LOOK }, { env = { PATH = os.getenv "PATH" }, timeout = TIMEOUT })
  if not run or run.code ~= 0 or run.stdout:find "unknown" then return "not known what they can read here" end
  local found = run.stdout:gsub("\n(.)", " and %1"):gsub("\n", "")
  if found == "" then return "they cannot read this program's environment or memory" end
  return ("they can read this program's %s, and the keys in it"):format(found)
end

-- The state of a provider: words, and whether all is well. A server on this machine may be absent.
local function examine(args, provider)
  local is_local = adapters.is_local(provider)
  local there = is_local or adapters.has_credentials(provider)
  if args.offline or not there then return there and "not asked" or "no credentials", true end
  local list, err = koine.try(function() return adapters.adapter_of(args, provider.name .. "/any"):list_models() end)
  if list then return ("answers, %d models"):format(#list), true end
  if is_local and err:is "ConnectionError" then return "no server there: " .. failure.words(err), true end
  return failure.words(err), err.class == "NotImplementedError"
end

-- The format of a provider's line: columns as wide as the longest name and the longest variable.
local function columns()
  local name, variable = 0, 0
  for _, provider in ipairs(adapters.PROVIDERS) do
    name = math.max(name, #provider.name)
    for _, one in ipairs(provider.env) do variable = math.max(variable, #one) end
  end
  return ("%%-%ds %%-%ds %%-7s %%s\n"):format(name, variable)
end

--- The command `doctor`: the exit code, FAILED where a provider with credentials does not answer.
function doctor.command(args)
  terminal.out(("%s, koine %s, libcurl %s\n"):format(_VERSION, koine.version, koine.libcurl))
  for _, name in ipairs { "argparse", "cjson", "luv" } do
    local _, module = pcall(require, name)
    local version = type(module) == "table" and (module._VERSION or module.version_string or module.version)
    terminal.out(("%s %s\n"):format(name, type(version) == "function" and version() or version or "is missing"))
  end
  terminal.out(("commands of tools: %s\n"):format(exposure()))
  args.given = { { "timeout", TIMEOUT }, { "retry", false }, table.unpack(args.given) }
  local code, format = 0, columns()
  for _, provider in ipairs(adapters.PROVIDERS) do
    local words, well = examine(args, provider)
    local set = adapters.variable(provider)
    local key = set and "set" or adapters.key_command(provider) and "command" or "not set"
    terminal.out(format:format(provider.name, set or provider.env[1], key, words))
    if not well then code = failure.FAILED end
  end
  return code
end

return doctor
