--- Programs for Node.js in this folder, which have libraries of others judge a server or a value: each reads JSON and
-- writes JSON.

local core = require "koine.core"
local program = require "spec.interop.support.program"

local node = {}

local HERE = "spec/interop/support/"
local INTERPRETER = os.getenv "KOINE_NODE" or "node"

--- Runs the program `name` (clients/genai.mjs) with the npm packages of the folder `packages` in that of the run.
-- `first` (nil: none) comes before that folder as an argument. Returns what it makes of `input`; raises when it fails.
function node.run(name, packages, input, first)
  local modules = assert(os.getenv "KOINE_INTEROP", "run by: make interop") .. "/" .. packages
  local folder = program.folder()
  program.write(folder .. "/input", core.encode(input))
  local command = ("%s %s%s %s %s <%s/input 2>%s/log"):format(program.quote(INTERPRETER), HERE, name,
    program.quote(first or ""), program.quote(modules), folder, folder)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  local ok, log = pipe:close(), program.read(folder .. "/log")
  os.execute("rm -rf " .. program.quote(folder))
  assert(ok, log)
  return assert(core.decode(text))
end

return node
