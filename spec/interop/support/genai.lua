--- @google/genai, Google's own client, as the judge of a server: a Node program (genai.mjs) carries out steps with it.

local core = require "koine.core"
local program = require "spec.interop.support.program"

local genai = {}

local HERE = "spec/interop/support/genai.mjs"

--- Carries out steps (see genai.mjs) against the server at `url`. `options`: `modules`, the folder with its
-- node_modules, and `node`, the interpreter. Returns what it read of each step's answer; raises when the program fails.
function genai.run(url, options, steps)
  local folder = program.folder()
  program.write(folder .. "/steps", core.encode(core.array(steps)))
  local command = ("%s %s %s %s <%s/steps 2>%s/log"):format(program.quote(options.node), HERE, program.quote(url),
    program.quote(options.modules), folder, folder)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  local ok, log = pipe:close(), program.read(folder .. "/log")
  os.execute("rm -rf " .. program.quote(folder))
  assert(ok, log)
  return assert(core.decode(text))
end

return genai
